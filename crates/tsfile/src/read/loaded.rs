//! Chunks as listed in a plan, and as loaded by a task.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::{Context as _, Cursor, Error, Result};

use super::page::{self, Page};
use crate::meta::{ChunkHeader, DataType, Statistics, Version};

/// A chunk to read.
#[derive(Debug, Clone)]
pub(crate) struct ChunkRef {
    /// The index of its file in the archive.
    pub(crate) file: usize,
    /// Offset of its header.
    pub(crate) offset: u64,
    /// Offset of the matching time chunk, for a column of an aligned device.
    pub(crate) time_chunk: Option<u64>,
    /// Statistics of the chunk.
    pub(crate) statistics: Arc<Statistics>,
    /// Lower bound of the times.
    pub(crate) lo: i64,
    /// Upper bound of the times.
    pub(crate) hi: i64,
    /// Of two points at the same time the one with the higher rank wins: file, version, position.
    pub(crate) rank: (usize, i64, u64),
    /// Deleted times, disjoint and ascending.
    pub(crate) deleted: Arc<[(i64, i64)]>,
}

impl ChunkRef {
    /// Whether deletions remove all points.
    pub(crate) fn is_deleted(&self) -> bool {
        self.deleted.iter().any(|(from, to)| *from <= self.lo && self.hi <= *to)
    }
}

/// A chunk with its fetched bytes.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Its header.
    pub(crate) header: ChunkHeader,
    /// Its pages, in file order.
    pub(crate) pages: Vec<Page>,
    /// Whether the bytes of its pages are still to be fetched.
    pub(crate) headers_only: bool,
    /// Whether pages that are not needed follow.
    pub(crate) cut: bool,
}

/// The properties of a file that decoding needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileFacts {
    pub(crate) version: Version,
    pub(crate) data_end: u64,
}

/// The byte range of the header of a chunk with this series name.
pub(crate) fn header_range(chunk: &ChunkRef, name: &str, file: FileFacts) -> Range<u64> {
    let end = chunk.offset.saturating_add(ChunkHeader::max_size(name.len(), file.version));
    chunk.offset..end.min(file.data_end)
}

/// Parses the header of a chunk and locates the bytes of its pages.
pub(crate) fn parse_header(
    chunk: &ChunkRef,
    (name, data_type): (&str, DataType),
    file: FileFacts,
    bytes: &Bytes,
) -> Result<(ChunkHeader, Range<u64>)> {
    let mut cursor = Cursor::new(bytes, chunk.offset, "chunk header");
    let header = ChunkHeader::parse(&mut cursor, file.version).at_offset(chunk.offset)?;
    if header.measurement != name || header.data_type != data_type {
        let message = format!(
            "the metadata lists a chunk of '{}' ({}) as '{}' ({})",
            header.measurement.escape_debug(),
            header.data_type.name(),
            name.escape_debug(),
            data_type.name()
        );
        return Err(Error::corrupt(message).class("bad_chunk").offset(chunk.offset));
    }
    let start = cursor.offset();
    let end = start.checked_add(header.data_size).filter(|end| *end <= file.data_end);
    let end = end.ok_or_else(|| {
        let message = format!(
            "a chunk of {} bytes extends past the end of the data at {}",
            header.data_size, file.data_end
        );
        Error::corrupt(message).class("bad_length").offset(chunk.offset)
    })?;
    Ok((header, start..end))
}

impl Loaded {
    /// Splits the fetched bytes of a chunk into pages.
    pub(crate) fn try_new(header: ChunkHeader, version: Version, bytes: &Bytes, offset: u64) -> Result<Self> {
        let pages = page::split(&header, version, bytes, offset)?;
        Ok(Self { header, pages, headers_only: false, cut: false })
    }

    /// The statistics of page `i`: its own, or those of the chunk if it is the only page.
    pub(crate) fn page_statistics<'a>(&'a self, i: usize, chunk: &'a ChunkRef) -> Option<&'a Statistics> {
        let own = self.pages.get(i).and_then(|page| page.header.statistics.as_ref());
        own.or_else(|| (self.pages.len() == 1).then_some(&*chunk.statistics))
    }
}
