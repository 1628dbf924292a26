//! The page index of the sort key: first row, offset and bounds of every page of one row group.

use tesselle_codec::varint;
use tesselle_core::{Cursor, Result};

use super::reclass;
use super::schema::{read_bytes, write_bytes};
use super::zone::Zone;

/// One page of the sort key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageEntry {
    /// First row within the row group.
    pub(crate) first_row: u64,
    /// Offset of the page header.
    pub(crate) offset: u64,
    pub(crate) zone: Option<Zone>,
}

/// Parses the payload of the record at `offset`.
pub(crate) fn parse(payload: &[u8], offset: u64) -> Result<Vec<PageEntry>> {
    read(&mut Cursor::new(payload, offset, "page index")).map_err(|e| reclass(&e, "bad_page_index"))
}

fn read(cursor: &mut Cursor<'_>) -> Result<Vec<PageEntry>> {
    let n = cursor.uvarint()?;
    let n = cursor.count(n, 3)?;
    let entries = (0..n).map(|_| {
        let (first_row, offset) = (cursor.uvarint()?, cursor.uvarint()?);
        let zone = if cursor.u8()? == 1 {
            Some(Zone { min: read_bytes(cursor)?.to_vec(), max: read_bytes(cursor)?.to_vec() })
        } else {
            None
        };
        Ok(PageEntry { first_row, offset, zone })
    });
    entries.collect()
}

/// The payload.
pub(crate) fn to_bytes(entries: &[PageEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    varint::write(entries.len() as u64, &mut out);
    for entry in entries {
        varint::write(entry.first_row, &mut out);
        varint::write(entry.offset, &mut out);
        out.push(u8::from(entry.zone.is_some()));
        if let Some(zone) = &entry.zone {
            write_bytes(&zone.min, &mut out);
            write_bytes(&zone.max, &mut out);
        }
    }
    out
}
