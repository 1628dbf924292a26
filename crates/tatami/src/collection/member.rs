//! The manifest entry of one file.

use serde_json::{Map, Value, json};
use tesselle_codec::varint;
use tesselle_core::{Cursor, Error, Result, hex, json_bytes};

use crate::meta::schema::{read_bytes, write_bytes};
use crate::meta::types::LogicalType;
use crate::meta::zone::{Zone, to_scalar};
use crate::open::File;

/// The bounds of one column over a whole file, as scalars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberZone {
    /// The column's name.
    pub column: String,
    /// The number of its type.
    pub type_id: u8,
    /// Smallest present value.
    pub min: Vec<u8>,
    /// Largest present value.
    pub max: Vec<u8>,
}

/// One file of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Path relative to the collection's folder, separated by `/`.
    pub path: String,
    /// The uuid that identifies it in the manifest.
    pub uuid: [u8; 16],
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The column it is sorted by; empty if none.
    pub sort_column: String,
    /// The number of that column's type; 0 if none.
    pub sort_type: u8,
    /// Smallest key scalar; empty if none.
    pub key_min: Vec<u8>,
    /// Largest key scalar; empty if none.
    pub key_max: Vec<u8>,
    /// Bounds of its columns, in schema order.
    pub zones: Vec<MemberZone>,
    /// Storage tier; free to use.
    pub tier: u8,
    /// Origin of its rows; free to use.
    pub crawls: Vec<String>,
    /// Milliseconds since the epoch; 0 if unknown.
    pub created_ms: u64,
    /// The checksum of its footer.
    pub footer_crc: u32,
}

impl Member {
    /// Summarizes a file for the manifest.
    pub(crate) fn of(file: &File, path: &str) -> Self {
        let footer = file.footer();
        let key = footer.schema.sort_key().and_then(|k| footer.schema.fields.get(k));
        let bounds = key.and_then(|field| {
            Zone::merge_all(field.logical, footer.groups.iter().map(|g| g.bounds.as_ref()))
        });
        let zones = footer.schema.fields.iter().enumerate().filter_map(|(column, field)| {
            let chunks = footer.groups.iter().map(|g| g.chunk(column).and_then(|c| c.zone.as_ref()));
            let zone = Zone::merge_all(field.logical, chunks)?;
            Some(MemberZone {
                column: field.display_name(),
                type_id: field.logical.id(),
                min: zone.min,
                max: zone.max,
            })
        });
        let footer_crc = file.trailer().footer_crc;
        let (key_min, key_max) = bounds.map_or_else(Default::default, |zone| (zone.min, zone.max));
        Self {
            path: path.to_owned(),
            uuid: if file.header().uuid == [0; 16] {
                derived_uuid(path, footer_crc)
            } else {
                file.header().uuid
            },
            rows: file.rows(),
            bytes: file.size(),
            sort_column: key.map(super::super::meta::schema::Field::display_name).unwrap_or_default(),
            sort_type: key.map_or(0, |f| f.logical.id()),
            key_min,
            key_max,
            zones: zones.collect(),
            tier: 0,
            crawls: Vec::new(),
            created_ms: 0,
            footer_crc,
        }
    }

    /// The bounds of a column.
    pub(crate) fn zone(&self, column: &str) -> Option<(LogicalType, Zone)> {
        let zone = self.zones.iter().find(|z| z.column == column)?;
        Some((LogicalType::from_id(zone.type_id)?, Zone { min: zone.min.clone(), max: zone.max.clone() }))
    }

    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let path = string(cursor)?;
        let uuid = cursor.array()?;
        let (rows, bytes) = (cursor.uvarint()?, cursor.uvarint()?);
        let (sort_column, sort_type) = (string(cursor)?, cursor.u8()?);
        let (key_min, key_max) = (read_bytes(cursor)?.to_vec(), read_bytes(cursor)?.to_vec());
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 4)?;
        let zones = (0..n).map(|_| {
            Ok(MemberZone {
                column: string(cursor)?,
                type_id: cursor.u8()?,
                min: read_bytes(cursor)?.to_vec(),
                max: read_bytes(cursor)?.to_vec(),
            })
        });
        let zones = zones.collect::<Result<_>>()?;
        let tier = cursor.u8()?;
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 1)?;
        let crawls = (0..n).map(|_| string(cursor)).collect::<Result<_>>()?;
        let (created_ms, footer_crc) = (cursor.uvarint()?, cursor.u32_le()?);
        Ok(Self {
            path,
            uuid,
            rows,
            bytes,
            sort_column,
            sort_type,
            key_min,
            key_max,
            zones,
            tier,
            crawls,
            created_ms,
            footer_crc,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_bytes(self.path.as_bytes(), out);
        out.extend_from_slice(&self.uuid);
        varint::write(self.rows, out);
        varint::write(self.bytes, out);
        write_bytes(self.sort_column.as_bytes(), out);
        out.push(self.sort_type);
        write_bytes(&self.key_min, out);
        write_bytes(&self.key_max, out);
        varint::write(self.zones.len() as u64, out);
        for zone in &self.zones {
            write_bytes(zone.column.as_bytes(), out);
            out.push(zone.type_id);
            write_bytes(&zone.min, out);
            write_bytes(&zone.max, out);
        }
        out.push(self.tier);
        varint::write(self.crawls.len() as u64, out);
        self.crawls.iter().for_each(|crawl| write_bytes(crawl.as_bytes(), out));
        varint::write(self.created_ms, out);
        out.extend_from_slice(&self.footer_crc.to_le_bytes());
    }

    /// The object of `info --json`.
    pub(super) fn to_json(&self) -> Value {
        let zones: Vec<Value> = self
            .zones
            .iter()
            .map(|z| json!({ "column": z.column, "type": z.type_id, "min": hex(&z.min), "max": hex(&z.max) }))
            .collect();
        let bounds = self.zones.iter().map(|z| (z.column.clone(), bounds_json(z.type_id, &z.min, &z.max)));
        let bounds: Map<String, Value> = bounds.collect();
        json!({
            "path": self.path, "uuid": hex(&self.uuid), "rows": self.rows, "bytes": self.bytes, "tier": self.tier,
            "sort_column": self.sort_column, "key_min": hex(&self.key_min), "key_max": hex(&self.key_max),
            "keys": self.keys(), "footer_crc": self.footer_crc, "zones": zones, "bounds": bounds,
            "created_ms": self.created_ms,
            "crawls": self.crawls.iter().map(|c| json_bytes(c.as_bytes())).collect::<Vec<_>>(),
        })
    }

    /// Smallest and largest key as values; null without a sort key.
    fn keys(&self) -> Value {
        if self.sort_column.is_empty() {
            return Value::Null;
        }
        bounds_json(self.sort_type, &self.key_min, &self.key_max)
    }

    /// Refuses a path outside the collection's folder.
    pub(super) fn check_path(&self) -> Result<()> {
        check_path(&self.path)
    }
}

/// Stored bounds as values; null if their type is not known.
fn bounds_json(type_id: u8, min: &[u8], max: &[u8]) -> Value {
    let value = |bytes: &[u8]| LogicalType::from_id(type_id).and_then(|logical| to_scalar(logical, bytes));
    match (value(min), value(max)) {
        (Some(min), Some(max)) => json!([min.to_json(), max.to_json()]),
        _ => Value::Null,
    }
}

/// Refuses a member path that is absolute, empty or contains `..`.
pub(super) fn check_path(path: &str) -> Result<()> {
    let climbs = path.split('/').any(|part| part == ".." || part == "." || part.is_empty());
    if climbs || path.contains('\\') {
        return Err(Error::corrupt(format!("member path '{path}' leads outside the collection's folder"))
            .class("bad_manifest"));
    }
    Ok(())
}

fn string(cursor: &mut Cursor<'_>) -> Result<String> {
    Ok(String::from_utf8_lossy(read_bytes(cursor)?).into_owned())
}

/// The uuid of a file that has none: two hashes of its path and footer.
fn derived_uuid(path: &str, footer_crc: u32) -> [u8; 16] {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    let first = path.bytes().fold(14_695_981_039_346_656_037, step);
    let second = footer_crc.to_le_bytes().into_iter().fold(first, step);
    let mut out = [0; 16];
    let bytes = first.to_le_bytes().into_iter().chain(second.to_le_bytes());
    out.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    out
}
