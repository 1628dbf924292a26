//! Locates the page headers of a large chunk one by one, without reading the bytes between them.
//!
//! The format has no page index: each header gives the offset of the next one. If a scan needs few pages,
//! reading some bytes per page is much cheaper than reading the whole chunk.

use std::ops::Range;

use bytes::Bytes;
use tesselle_core::{Cursor, Location, Result};

use super::page::{self, Page};
use crate::meta::{ChunkHeader, PageHeader, Version};

/// Smaller chunks are read whole.
const WALK_FROM: u64 = 256 << 10;
/// Minimum average page size for which a walk saves anything.
const LEAST_STRIDE: u64 = 8 << 10;
/// Number of reads before the average is checked.
const PATIENCE: u64 = 4;
/// Bytes read in the expectation that they contain a header: most take less than 100.
const FIRST_WINDOW: u64 = 256;
/// Maximum header size; strings in statistics have no limit of their own.
const MAX_WINDOW: u64 = 64 << 10;

/// A walk over the headers of one chunk.
#[derive(Debug)]
pub(crate) struct HeaderWalk {
    start: u64,
    next: u64,
    end: u64,
    window: u64,
    reads: u64,
    limit: usize,
    pages: Vec<Page>,
}

/// The state of a walk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WalkState {
    /// More headers follow.
    More,
    /// All headers are read.
    Ended,
    /// Pages are small, or something is damaged: the chunk is read whole, which reports any error.
    GivenUp,
}

impl HeaderWalk {
    /// A walk over the pages in `range`; `None` if it is not worthwhile.
    pub(crate) fn new(range: &Range<u64>) -> Option<Self> {
        let length = range.end.saturating_sub(range.start);
        let walk = Self {
            start: range.start,
            next: range.start,
            end: range.end,
            window: FIRST_WINDOW,
            reads: 0,
            limit: usize::MAX,
            pages: Vec::new(),
        };
        (length >= WALK_FROM).then_some(walk)
    }

    /// Ends the walk after this many pages: later ones are not needed.
    pub(crate) fn limit(&mut self, pages: usize) {
        self.limit = pages;
    }

    /// The bytes needed next; none when the walk has ended.
    pub(crate) fn need(&self) -> Range<u64> {
        let end = if self.pages.len() < self.limit { self.end } else { self.next };
        self.next..end.min(self.next.saturating_add(self.window))
    }

    /// Takes the requested bytes.
    pub(crate) fn take(&mut self, chunk: &ChunkHeader, version: Version, bytes: &Bytes) -> WalkState {
        let start = self.next;
        self.reads += 1;
        if self.reads > PATIENCE + self.next.saturating_sub(self.start) / LEAST_STRIDE {
            return WalkState::GivenUp;
        }
        loop {
            let here = self.next.checked_sub(start).and_then(|n| bytes.get(n as usize..));
            let Some(here) = here.filter(|here| !here.is_empty()) else { return WalkState::More };
            let mut cursor = Cursor::new(here, self.next, "page header");
            let Ok(header) = PageHeader::parse(&mut cursor, chunk, version) else {
                if self.next > start {
                    return WalkState::More;
                }
                self.window = self.window.saturating_mul(4);
                return if self.window <= MAX_WINDOW { WalkState::More } else { WalkState::GivenUp };
            };
            let page = Page { header, offset: self.next, start: cursor.offset(), data: Bytes::new() };
            self.next = page.range().end;
            self.pages.push(page);
            if self.pages.len() >= self.limit && self.next <= self.end {
                return WalkState::Ended;
            }
            if self.next >= self.end {
                let stated = chunk.pages.is_none_or(|n| n as usize == self.pages.len());
                return if self.next == self.end && stated { WalkState::Ended } else { WalkState::GivenUp };
            }
        }
    }

    /// The pages, once the walk has ended, and whether they are all pages of the chunk.
    pub(crate) fn pages(self) -> (Vec<Page>, bool) {
        (self.pages, self.next == self.end)
    }
}

/// The page headers of a chunk with pages in `range`, and the number of bytes read for them: one by one if
/// that is worthwhile and small reads are cheap, otherwise from the whole chunk.
pub(crate) fn page_headers(
    location: &Location,
    chunk: &ChunkHeader,
    version: Version,
    range: &Range<u64>,
) -> Result<(Vec<Page>, u64)> {
    let mut fetched = 0_u64;
    let cheap = location.storage().hints().concurrency == 1;
    if let Some(mut walk) = HeaderWalk::new(range).filter(|_| cheap) {
        loop {
            let bytes = location.read_range(walk.need())?;
            fetched = fetched.saturating_add(bytes.len() as u64);
            match walk.take(chunk, version, &bytes) {
                WalkState::More => {}
                WalkState::Ended => return Ok((walk.pages, fetched)),
                WalkState::GivenUp => break,
            }
        }
    }
    let bytes = location.read_range(range.clone())?;
    let mut pages = page::split(chunk, version, &bytes, range.start)?;
    for page in &mut pages {
        page.data = Bytes::new();
    }
    Ok((pages, fetched.saturating_add(bytes.len() as u64)))
}
