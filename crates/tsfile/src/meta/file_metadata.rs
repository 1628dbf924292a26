//! `TsFileMetaData`, the block at the end of a complete file, which locates everything else.

use tesselle_core::{Cursor, Error, Result};

use super::index_node::{IndexNode, Level};
use super::primitive::Primitives as _;
use super::schema::{MeasurementSchema, TableSchema};
use super::{BloomFilter, PutPrimitives, Version, primitive::len32};

/// The number 0.8 writes between its schemas and the created-by flag.
const CURRENT_VERSION_08: i32 = 3;

/// The metadata block of any version; parts that a version lacks are empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct FileMetadata {
    /// 0.8 and 000001: location of the metadata of each device.
    pub devices: Vec<DeviceLocation>,
    /// 0.8 and 000001: schema of each measurement name.
    pub measurements: Vec<MeasurementSchema>,
    /// 0.8 and 000001: keys of the map of measurements that differ from the names of their schemas, with
    /// those names.
    pub misnamed: Vec<(String, String)>,
    /// 0.8 and 000001: free-form string of the writer.
    pub created_by: Option<String>,
    /// 000001 and 000002: number of all chunks, and of those that a merge dropped from the metadata.
    pub chunk_counts: Option<(u32, u32)>,
    /// 000002: position and version of the version records.
    pub versions: Vec<(u64, i64)>,
    /// 000002 and later: the index trees. Before version 4 there is one, under the empty name.
    pub roots: Vec<(String, IndexNode)>,
    /// Version 4: tables.
    pub tables: Vec<TableSchema>,
    /// 000002 and later: position of the separator.
    pub meta_offset: Option<u64>,
    /// The bloom filter over all series.
    pub bloom: Option<BloomFilter>,
    /// Version 4: properties of the file.
    pub properties: Vec<(String, Option<String>)>,
}

/// Whether a property of version 4 is about encryption: every file has those.
pub(crate) fn is_about_encryption(key: &str) -> bool {
    matches!(key, "encryptLevel" | "encryptType" | "encryptKey")
}

/// The location of the metadata of a device in 0.8 and 000001.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceLocation {
    /// The device.
    pub device: String,
    /// Offset of its metadata.
    pub offset: u64,
    /// Bytes of its metadata.
    pub len: u64,
    /// Smallest start time of a chunk.
    pub start_time: i64,
    /// Largest end time of a chunk.
    pub end_time: i64,
}

impl FileMetadata {
    /// Reads the metadata block, which fills the cursor.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        match version {
            Version::V08 | Version::V1 => Self::parse_flat(cursor, version),
            Version::V2 => Self::parse_v2(cursor),
            Version::V3 => Self::parse_v3(cursor),
            Version::V4 => Self::parse_v4(cursor),
        }
    }

    fn parse_flat(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        let mut meta = Self::default();
        let n = cursor.len32()?;
        for _ in 0..cursor.count(n, 32)? {
            let device = cursor.string()?.to_string();
            let (offset, len) = (cursor.offset64()?, cursor.len32()?);
            let (start_time, end_time) = (cursor.i64_be()?, cursor.i64_be()?);
            meta.devices.push(DeviceLocation { device, offset, len, start_time, end_time });
        }
        let n = cursor.len32()?;
        for _ in 0..cursor.count(n, 18)? {
            let (key, schema) = MeasurementSchema::parse_entry(cursor)?;
            if key != schema.name {
                meta.misnamed.push((key, schema.name.clone()));
            }
            meta.measurements.push(schema);
        }
        if version == Version::V08 {
            cursor.i32_be()?;
        }
        if cursor.u8()? != 0 {
            meta.created_by = Some(cursor.string()?.to_string());
        }
        if version == Version::V1 {
            meta.chunk_counts = Some((cursor.len32()? as u32, cursor.len32()? as u32));
            meta.bloom = BloomFilter::parse(cursor, version)?;
        }
        cursor.expect_end()?;
        Ok(meta)
    }

    fn parse_v2(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut meta = Self::default();
        meta.roots.extend(parse_root(cursor, Version::V2)?);
        meta.chunk_counts = Some((cursor.len32()? as u32, cursor.len32()? as u32));
        let n = cursor.len32()?;
        for _ in 0..cursor.count(n, 16)? {
            meta.versions.push((cursor.offset64()?, cursor.i64_be()?));
        }
        meta.meta_offset = Some(cursor.offset64()?);
        meta.bloom = BloomFilter::parse(cursor, Version::V2)?;
        cursor.expect_end()?;
        Ok(meta)
    }

    fn parse_v3(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut meta = Self::default();
        meta.roots.extend(parse_root(cursor, Version::V3)?);
        meta.meta_offset = Some(cursor.offset64()?);
        meta.bloom = BloomFilter::parse(cursor, Version::V3)?;
        cursor.expect_end()?;
        Ok(meta)
    }

    fn parse_v4(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut meta = Self::default();
        let n = cursor.uvar()?;
        for _ in 0..cursor.count(u64::from(n), 11)? {
            let name = cursor.vstr()?.to_string();
            meta.roots.push((name, IndexNode::parse(cursor, Level::Device, Version::V4)?));
        }
        let n = cursor.uvar()?;
        for _ in 0..cursor.count(u64::from(n), 2)? {
            meta.tables.push(TableSchema::parse(cursor)?);
        }
        meta.meta_offset = Some(cursor.offset64()?);
        meta.bloom = BloomFilter::parse(cursor, Version::V4)?;
        if !cursor.is_empty() {
            let n = u64::try_from(cursor.svar()?).unwrap_or_default();
            for _ in 0..cursor.count(n, 2)? {
                let key = cursor.vstr()?.to_string();
                meta.properties.push((key, cursor.vstr_or_null()?.map(str::to_string)));
            }
        }
        cursor.expect_end()?;
        Ok(meta)
    }

    /// Writes what [`FileMetadata::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        match version {
            Version::V08 | Version::V1 => self.write_flat(out, version),
            Version::V2 => {
                self.write_root(out, version)?;
                let (total, invalid) = self.chunk_counts.unwrap_or_default();
                out.put_i32(len32(total as usize)?);
                out.put_i32(len32(invalid as usize)?);
                out.put_i32(len32(self.versions.len())?);
                for (position, number) in &self.versions {
                    out.put_i64(position.cast_signed());
                    out.put_i64(*number);
                }
                out.put_i64(self.offset()?.cast_signed());
                self.bloom.iter().try_for_each(|bloom| bloom.write(out))
            }
            Version::V3 => {
                self.write_root(out, version)?;
                out.put_i64(self.offset()?.cast_signed());
                self.bloom.iter().try_for_each(|bloom| bloom.write(out))
            }
            Version::V4 => self.write_v4(out),
        }
    }

    /// Where the metadata starts, in the versions that state it.
    fn offset(&self) -> Result<u64> {
        self.meta_offset.ok_or_else(|| Error::internal("the metadata of a file has no offset"))
    }

    fn write_root(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        if let Some((_, root)) = self.roots.first() {
            return root.write(out, Level::Device, version);
        }
        out.put_i32(0);
        Ok(())
    }

    fn write_flat(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        out.put_i32(len32(self.devices.len())?);
        for device in &self.devices {
            out.put_string(&device.device)?;
            out.put_i64(device.offset.cast_signed());
            out.put_i32(len32(usize::try_from(device.len).unwrap_or(usize::MAX))?);
            out.put_i64(device.start_time);
            out.put_i64(device.end_time);
        }
        out.put_i32(len32(self.measurements.len())?);
        self.measurements.iter().try_for_each(|m| m.write_entry(out))?;
        if version == Version::V08 {
            out.put_i32(CURRENT_VERSION_08);
        }
        out.push(u8::from(self.created_by.is_some()));
        if let Some(value) = &self.created_by {
            out.put_string(value)?;
        }
        if version == Version::V1 {
            let (total, invalid) = self.chunk_counts.unwrap_or_default();
            out.put_i32(len32(total as usize)?);
            out.put_i32(len32(invalid as usize)?);
            self.bloom.iter().try_for_each(|bloom| bloom.write(out))?;
        }
        Ok(())
    }

    fn write_v4(&self, out: &mut Vec<u8>) -> Result<()> {
        out.put_uvar(len32(self.roots.len())?.cast_unsigned());
        for (name, root) in &self.roots {
            out.put_vstr(Some(name))?;
            root.write(out, Level::Device, Version::V4)?;
        }
        out.put_uvar(len32(self.tables.len())?.cast_unsigned());
        self.tables.iter().try_for_each(|table| table.write(out))?;
        out.put_i64(self.offset()?.cast_signed());
        match &self.bloom {
            Some(bloom) => bloom.write(out)?,
            None => out.put_uvar(0),
        }
        out.put_svar(len32(self.properties.len())?);
        for (key, value) in &self.properties {
            out.put_vstr(Some(key))?;
            out.put_vstr(value.as_deref())?;
        }
        Ok(())
    }
}

/// The root of versions 000002 and 3. The root of a file without data is a node without entries; a single
/// `i32` 0 is accepted as one, too: the bytes where the offset of a node would end are zeros.
fn parse_root(cursor: &mut Cursor<'_>, version: Version) -> Result<Option<(String, IndexNode)>> {
    let zeros = if version.is_compact() { 1 + 8 } else { 4 + 8 };
    if cursor.rest().get(..zeros).is_some_and(|bytes| bytes.iter().all(|b| *b == 0)) {
        cursor.i32_be()?;
        return Ok(None);
    }
    IndexNode::parse(cursor, Level::Device, version).map(|root| Some((String::new(), root)))
}
