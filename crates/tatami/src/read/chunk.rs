//! The pages of one column chunk in fetched bytes.
//!
//! Only the offset of the first page is known; each page determines the start of the next one. Its header is
//! not covered by a checksum, so the payload's checksum is checked before the next header is trusted.

use std::ops::Range;

use bytes::Bytes;
use tesselle_core::{Context, Error, Result};

use crate::meta::groups::Chunk;
use crate::meta::record::{RECORD_LEN, Record};
use crate::open::{File, page_piece};

/// A page in the fetched bytes of its chunk.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) record: Record,
    /// Offset of the page header in the file.
    pub(crate) offset: u64,
    /// Rows of the group in this page.
    pub(crate) rows: Range<u64>,
    /// Offset of the payload in the file.
    payload: Range<u64>,
}

/// A column chunk while its pages are located.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    pub(crate) group: usize,
    pub(crate) column: usize,
    start: u64,
    wanted: u64,
    expected_rows: u64,
    /// Bytes of the file from `start` on.
    bytes: Bytes,
    pages: Vec<Page>,
}

/// How far the pages of a chunk could be located.
pub(crate) enum Located {
    /// All of them.
    All,
    /// These bytes must replace the fetched ones: a page is longer than the footer states.
    Need(Range<u64>),
}

impl ChunkReader {
    /// A chunk without bytes.
    pub(crate) fn new(group: usize, column: usize, chunk: &Chunk) -> Self {
        Self {
            group,
            column,
            start: chunk.offset,
            wanted: chunk.pages,
            expected_rows: chunk.values,
            bytes: Bytes::new(),
            pages: Vec::new(),
        }
    }

    /// The bytes to fetch first: as the footer states, cut off at the end of the file.
    pub(crate) fn first_range(chunk: &Chunk, file: &File) -> Range<u64> {
        let start = chunk.offset.min(file.size());
        start..chunk.offset.saturating_add(chunk.stored_len()).clamp(start, file.size())
    }

    /// Stores fetched bytes that start at the start of the chunk.
    pub(crate) fn fill(&mut self, bytes: Bytes) {
        self.bytes = bytes;
    }

    /// The pages located so far, in row order.
    pub(crate) fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Frees the fetched bytes; the page locations are kept.
    pub(crate) fn release(&mut self) {
        self.bytes = Bytes::new();
    }

    /// The stored payload of a page.
    pub(crate) fn payload(&self, page: &Page) -> Result<&[u8]> {
        self.slice(&page.payload).ok_or_else(|| Error::internal("a page is read after its bytes were freed"))
    }

    fn slice(&self, range: &Range<u64>) -> Option<&[u8]> {
        let start = usize::try_from(range.start.checked_sub(self.start)?).ok()?;
        let end = usize::try_from(range.end.checked_sub(self.start)?).ok()?;
        self.bytes.get(start..end)
    }

    /// Locates and checks the pages; call again after fetching what it needs.
    pub(crate) fn locate(&mut self, file: &File) -> Result<Located> {
        while (self.pages.len() as u64) < self.wanted {
            let number = self.pages.len();
            let (offset, row) = self.pages.last().map_or((self.start, 0), |p| (p.payload.end, p.rows.end));
            let piece = || page_piece(self.group, self.column, number);
            let head_end = file.check_inside(offset, RECORD_LEN).in_piece(piece)?;
            let Some(head) = self.slice(&(offset..head_end)) else {
                return Ok(Located::Need(self.start..head_end));
            };
            let record = Record::parse(head, offset).in_piece(piece)?;
            let end = file.check_inside(head_end, u64::from(record.compressed)).in_piece(piece)?;
            let Some(payload) = self.slice(&(head_end..end)) else {
                return Ok(Located::Need(self.start..end));
            };
            record.check(payload, offset).in_piece(piece)?;
            let rows = row..row.saturating_add(u64::from(record.values));
            if rows.end > self.expected_rows {
                let expected = self.expected_rows;
                return Err(Error::corrupt(format!(
                    "the pages have more rows than the {expected} of their chunk"
                ))
                .class("row_count_mismatch")
                .offset(offset)
                .piece(piece()));
            }
            self.pages.push(Page { record, offset, rows, payload: head_end..end });
        }
        let rows = self.pages.last().map_or(0, |p| p.rows.end);
        if rows != self.expected_rows {
            let expected = self.expected_rows;
            return Err(Error::corrupt(format!("the pages have {rows} rows, their chunk states {expected}"))
                .class("row_count_mismatch")
                .offset(self.start)
                .piece(format!("row group {}, column {}", self.group, self.column)));
        }
        Ok(Located::All)
    }
}

/// Lists the page headers of a chunk without reading payloads; the cost depends on the number of pages.
pub(crate) fn page_headers(file: &File, chunk: &Chunk, group: usize) -> Result<Vec<(u64, Record)>> {
    let mut out = Vec::new();
    let mut offset = chunk.offset;
    while (out.len() as u64) < chunk.pages {
        let piece = || page_piece(group, chunk.column as usize, out.len());
        let head = file.read(offset, RECORD_LEN).in_piece(piece)?;
        let record = Record::parse(&head, offset).in_piece(piece)?;
        out.push((offset, record));
        offset = offset.saturating_add(record.stored_len());
    }
    Ok(out)
}
