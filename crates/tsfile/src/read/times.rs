//! State that decoding keeps from page to page: decoded times, and the decompression buffer.

use std::sync::Arc;

use tesselle_core::Result;

use super::run::is_ascending;

/// The buffers that the pages of a task are decoded with.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// Decoded times.
    pub(crate) times: TimeCache,
    /// The current page, decompressed.
    pub(crate) unfolded: Vec<u8>,
}

impl Buffers {
    /// For this many series decoded in parallel: keeps the times of the current pages, in memory that is soon
    /// reused.
    pub(crate) fn side_by_side(series: usize) -> Self {
        Self {
            times: TimeCache { most: series.saturating_add(1), ..TimeCache::default() },
            ..Self::default()
        }
    }

    /// For series decoded one after the other: keeps the times of many pages.
    pub(crate) fn in_turn() -> Self {
        Self::side_by_side(MOST_KEPT)
    }
}

/// Series that are written together have the same times, byte for byte: each such column is decoded once.
#[derive(Debug, Default)]
pub(crate) struct TimeCache {
    entries: Vec<CachedTimes>,
    next: usize,
    /// Cached pages.
    most: usize,
}

/// Kind of the bytes, the bytes, and the times decoded from them.
type CachedTimes = (TimeBytes, Box<[u8]>, Times);

/// Decoded times.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    /// The times.
    pub(crate) values: Arc<Vec<i64>>,
    /// Whether they are ascending and distinct.
    pub(crate) ordered: bool,
}

/// The kind of the bytes of a cached column: the same bytes decode differently by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeBytes {
    /// The time column inside an ordinary page, decompressed.
    Encoded,
    /// A page of a time column, as stored.
    Page,
}

/// Maximum number of cached pages.
const MOST_KEPT: usize = 64;

impl TimeCache {
    /// The times of `bytes`, decoded unless they are cached.
    pub(crate) fn times(
        &mut self,
        kind: TimeBytes,
        bytes: &[u8],
        decode: impl FnOnce() -> Result<Vec<i64>>,
    ) -> Result<Times> {
        let n = self.entries.len();
        // Columns are requested in the same order each time: the search starts after the last hit.
        let order = (self.next..n).chain(0..self.next.min(n));
        for i in order {
            if let Some((known_kind, known, times)) = self.entries.get(i)
                && *known_kind == kind
                && **known == *bytes
            {
                self.next = i + 1;
                return Ok(times.clone());
            }
        }
        let values = decode()?;
        let times = Times { ordered: is_ascending(&values), values: Arc::new(values) };
        let entry = (kind, bytes.into(), times.clone());
        if n < self.most.clamp(1, MOST_KEPT) {
            self.entries.push(entry);
            self.next = n + 1;
        } else {
            let slot = if self.next < n { self.next } else { 0 };
            if let Some(place) = self.entries.get_mut(slot) {
                *place = entry;
            }
            self.next = slot + 1;
        }
        Ok(times)
    }
}
