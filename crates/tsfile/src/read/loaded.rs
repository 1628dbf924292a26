//! Chunks as a plan names them, and as a task holds them once their bytes are there.

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
    /// Offset of the time chunk beside it, for a column of an aligned device.
    pub(crate) time_chunk: Option<u64>,
    /// What it holds.
    pub(crate) statistics: Arc<Statistics>,
    /// No point lies before this time.
    pub(crate) lo: i64,
    /// No point lies after this time.
    pub(crate) hi: i64,
    /// Of two points at one time, the one of the higher rank counts: file, version, position.
    pub(crate) rank: (usize, i64, u64),
    /// Times that are deleted, disjoint and ascending.
    pub(crate) deleted: Arc<[(i64, i64)]>,
}

impl ChunkRef {
    /// Whether no point is left after deletions.
    pub(crate) fn is_deleted(&self) -> bool {
        self.deleted.iter().any(|(from, to)| *from <= self.lo && self.hi <= *to)
    }
}

/// A chunk whose bytes have been fetched.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Its header.
    pub(crate) header: ChunkHeader,
    /// Its pages, in file order.
    pub(crate) pages: Vec<Page>,
    /// Whether the bytes of its pages are still to be fetched.
    pub(crate) headers_only: bool,
    /// Whether pages follow that are of no interest.
    pub(crate) cut: bool,
}

/// The facts about a file that decoding needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileFacts {
    pub(crate) version: Version,
    pub(crate) data_end: u64,
}

/// The bytes that hold the header of a chunk of a series of this name.
pub(crate) fn header_range(chunk: &ChunkRef, name: &str, file: FileFacts) -> Range<u64> {
    let end = chunk.offset.saturating_add(ChunkHeader::max_size(name.len(), file.version));
    chunk.offset..end.min(file.data_end)
}

/// Reads the header of a chunk and finds the bytes of its pages.
pub(crate) fn parse_header(
    chunk: &ChunkRef,
    (name, data_type): (&str, DataType),
    file: FileFacts,
    bytes: &Bytes,
) -> Result<(ChunkHeader, Range<u64>)> {
    let mut cursor = Cursor::new(bytes, chunk.offset, "chunk header");
    let header = ChunkHeader::parse(&mut cursor, file.version).at_offset(chunk.offset)?;
    if header.measurement != name || header.data_type != data_type {
        let text = format!(
            "a chunk of '{}' ({}) is referred to as '{}' ({})",
            header.measurement.escape_debug(),
            header.data_type.name(),
            name.escape_debug(),
            data_type.name()
        );
        return Err(Error::corrupt(text).class("bad_chunk").offset(chunk.offset));
    }
    let start = cursor.offset();
    let end = start.checked_add(header.data_size).filter(|end| *end <= file.data_end);
    let end = end.ok_or_else(|| {
        let text =
            format!("a chunk of {} bytes passes the end of the data at {}", header.data_size, file.data_end);
        Error::corrupt(text).class("bad_length").offset(chunk.offset)
    })?;
    Ok((header, start..end))
}

impl Loaded {
    /// Cuts the fetched bytes of a chunk into pages.
    pub(crate) fn new(header: ChunkHeader, version: Version, bytes: &Bytes, offset: u64) -> Result<Self> {
        let pages = page::split(&header, version, bytes, offset)?;
        Ok(Self { header, pages, headers_only: false, cut: false })
    }

    /// The statistics of page `i`: its own, or those of the chunk where it is the only one.
    pub(crate) fn page_statistics<'a>(&'a self, i: usize, chunk: &'a ChunkRef) -> Option<&'a Statistics> {
        let own = self.pages.get(i).and_then(|page| page.header.statistics.as_ref());
        own.or_else(|| (self.pages.len() == 1).then_some(&*chunk.statistics))
    }
}
