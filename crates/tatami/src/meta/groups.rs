//! The row-group section: offset, contents and indexes of each column chunk.

use tesselle_codec::varint;
use tesselle_core::{Cursor, Result};

use super::record::RECORD_LEN;
use super::schema::{read_bytes, write_bytes};
use super::zone::Zone;

const GROUP_BOUNDS: u8 = 1;
const CHUNK_ZONE: u8 = 1;
const CHUNK_BLOOM: u8 = 2;
const CHUNK_PAGE_INDEX: u8 = 4;

/// All pages of one column in one row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) column: u64,
    /// Offset of the first page header; the others follow without gaps.
    pub(crate) offset: u64,
    /// Stored payload bytes, without headers.
    pub(crate) compressed: u64,
    /// Payload bytes before compression.
    pub(crate) uncompressed: u64,
    /// Rows, nulls included.
    pub(crate) values: u64,
    pub(crate) nulls: u64,
    pub(crate) pages: u64,
    /// Encoding of the first page; each page header has its own.
    pub(crate) encoding: u8,
    pub(crate) codec: u8,
    pub(crate) zone: Option<Zone>,
    /// 1-based index into the list of bloom filters.
    pub(crate) bloom: Option<u64>,
    pub(crate) page_index: Option<u64>,
}

impl Chunk {
    /// Bytes of all pages including headers, as the footer states them.
    pub(crate) fn stored_len(&self) -> u64 {
        self.compressed.saturating_add(self.pages.saturating_mul(RECORD_LEN))
    }

    fn parse(cursor: &mut Cursor<'_>, has_indexes: bool) -> Result<Self> {
        let mut chunk = Self {
            column: cursor.uvarint()?,
            offset: cursor.uvarint()?,
            compressed: cursor.uvarint()?,
            uncompressed: cursor.uvarint()?,
            values: cursor.uvarint()?,
            nulls: cursor.uvarint()?,
            pages: cursor.uvarint()?,
            encoding: cursor.u8()?,
            codec: cursor.u8()?,
            zone: None,
            bloom: None,
            page_index: None,
        };
        let flags = cursor.u8()?;
        if has_indexes {
            if flags & CHUNK_ZONE != 0 {
                chunk.zone = Some(Zone::parse(cursor)?);
            }
            if flags & CHUNK_BLOOM != 0 {
                chunk.bloom = Some(cursor.uvarint()?);
            }
            if flags & CHUNK_PAGE_INDEX != 0 {
                chunk.page_index = Some(cursor.uvarint()?);
            }
        }
        Ok(chunk)
    }

    fn write(&self, has_indexes: bool, out: &mut Vec<u8>) {
        let numbers = [
            self.column,
            self.offset,
            self.compressed,
            self.uncompressed,
            self.values,
            self.nulls,
            self.pages,
        ];
        for n in numbers {
            varint::write(n, out);
        }
        let flags = (u8::from(self.zone.is_some()) * CHUNK_ZONE)
            | (u8::from(self.bloom.is_some()) * CHUNK_BLOOM)
            | (u8::from(self.page_index.is_some()) * CHUNK_PAGE_INDEX);
        if !has_indexes {
            out.extend([self.encoding, self.codec, 0]);
            return;
        }
        out.extend([self.encoding, self.codec, flags]);
        if let Some(zone) = &self.zone {
            zone.write(out);
        }
        for number in [self.bloom, self.page_index].into_iter().flatten() {
            varint::write(number, out);
        }
    }
}

/// A horizontal slice of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowGroup {
    pub(crate) first_row: u64,
    pub(crate) rows: u64,
    /// File bytes of the group, record headers and page index included.
    pub(crate) bytes: u64,
    /// Smallest and largest sort key.
    pub(crate) bounds: Option<Zone>,
    pub(crate) chunks: Vec<Chunk>,
}

impl RowGroup {
    /// The chunk of a column, if the group has one.
    pub(crate) fn chunk(&self, column: usize) -> Option<&Chunk> {
        // Writers list the chunks in schema order: try the direct position before searching.
        let direct = self.chunks.get(column).filter(|c| c.column == column as u64);
        direct.or_else(|| self.chunks.iter().find(|c| c.column == column as u64))
    }

    /// Parses the section. Format 1.0 has no group flags, and chunk flags without meaning.
    pub(crate) fn parse_all(cursor: &mut Cursor<'_>, minor: u16) -> Result<Vec<Self>> {
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 4)?;
        (0..n).map(|_| Self::parse(cursor, minor > 0)).collect()
    }

    fn parse(cursor: &mut Cursor<'_>, has_indexes: bool) -> Result<Self> {
        let (first_row, rows, bytes) = (cursor.uvarint()?, cursor.uvarint()?, cursor.uvarint()?);
        let bounds =
            if has_indexes && cursor.u8()? & GROUP_BOUNDS != 0 { Some(Zone::parse(cursor)?) } else { None };
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 10)?;
        let chunks = (0..n).map(|_| Chunk::parse(cursor, has_indexes)).collect::<Result<_>>()?;
        Ok(Self { first_row, rows, bytes, bounds, chunks })
    }

    /// Appends the section body.
    pub(crate) fn write_all(groups: &[Self], minor: u16, out: &mut Vec<u8>) {
        varint::write(groups.len() as u64, out);
        for group in groups {
            for n in [group.first_row, group.rows, group.bytes] {
                varint::write(n, out);
            }
            if minor > 0 {
                out.push(if group.bounds.is_some() { GROUP_BOUNDS } else { 0 });
                if let Some(bounds) = &group.bounds {
                    bounds.write(out);
                }
            }
            varint::write(group.chunks.len() as u64, out);
            group.chunks.iter().for_each(|chunk| chunk.write(minor > 0, out));
        }
    }
}

impl Zone {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        Ok(Self { min: read_bytes(cursor)?.to_vec(), max: read_bytes(cursor)?.to_vec() })
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(&self.min, out);
        write_bytes(&self.max, out);
    }
}
