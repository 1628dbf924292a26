//! The page header: sizes, and statistics if the version has them.

use tesselle_core::{Cursor, Result};

use super::primitive::Primitives as _;
use super::{ChunkHeader, PutPrimitives, Statistics, Version, primitive::len32};

/// A page header. `compressed_size` bytes of page data follow it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageHeader {
    /// Bytes before compression; 0 for a page without values.
    pub uncompressed_size: u32,
    /// Stored bytes.
    pub compressed_size: u32,
    /// Statistics of the points; absent in one-page chunks from version 3 on.
    pub statistics: Option<Statistics>,
}

impl PageHeader {
    /// Reads the header of a page of `chunk`.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, chunk: &ChunkHeader, version: Version) -> Result<Self> {
        let (uncompressed_size, compressed_size) = if version.is_compact() {
            let uncompressed = cursor.uvar()?;
            if uncompressed == 0 {
                return Ok(Self { uncompressed_size: 0, compressed_size: 0, statistics: None });
            }
            (uncompressed, cursor.uvar()?)
        } else {
            (cursor.len32()? as u32, cursor.len32()? as u32)
        };
        let statistics = match version {
            Version::V08 | Version::V1 => Some(Statistics::parse_page(cursor, chunk.data_type)?),
            _ if chunk.has_page_statistics(version) => {
                Some(Statistics::parse(cursor, chunk.data_type, version)?)
            }
            _ => None,
        };
        Ok(Self { uncompressed_size, compressed_size, statistics })
    }

    /// Writes what [`PageHeader::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>, chunk: &ChunkHeader, version: Version) -> Result<()> {
        if version.is_compact() {
            out.put_uvar(self.uncompressed_size);
            if self.uncompressed_size == 0 {
                return Ok(());
            }
            out.put_uvar(self.compressed_size);
        } else {
            out.put_i32(len32(self.uncompressed_size as usize)?);
            out.put_i32(len32(self.compressed_size as usize)?);
        }
        match &self.statistics {
            Some(stats) if version.is_flat() => stats.write_page(out, chunk.data_type),
            Some(stats) if chunk.has_page_statistics(version) => stats.write(out, chunk.data_type, version),
            _ => Ok(()),
        }
    }
}
