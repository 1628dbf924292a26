//! What decoding keeps from page to page: times that were decoded, and the buffer that pages are unfolded into.

use std::sync::Arc;

use tesselle_core::Result;

use super::run::is_ascending;

/// What the pages of a task are decoded with, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// Times that were decoded.
    pub(crate) times: TimeCache,
    /// The page at hand, decompressed.
    pub(crate) unfolded: Vec<u8>,
}

impl Buffers {
    /// For series that are decoded side by side, so many of them: the times of the pages at hand are kept, in memory that
    /// is used again soon.
    pub(crate) fn side_by_side(series: usize) -> Self {
        Self {
            times: TimeCache { most: series.saturating_add(1), ..TimeCache::default() },
            ..Self::default()
        }
    }

    /// For series that are decoded one after the other: the times of many pages are kept.
    pub(crate) fn in_turn() -> Self {
        Self::side_by_side(MOST_KEPT)
    }
}

/// Series that are written together have the same times, byte for byte: each such column is decoded once.
#[derive(Debug, Default)]
pub(crate) struct TimeCache {
    entries: Vec<CachedTimes>,
    next: usize,
    /// Pages whose times are kept.
    most: usize,
}

/// What the bytes are, the bytes, and the times they stand for.
type CachedTimes = (TimeBytes, Box<[u8]>, Times);

/// Decoded times.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    /// The times.
    pub(crate) values: Arc<Vec<i64>>,
    /// Whether they ascend and are distinct.
    pub(crate) ordered: bool,
}

/// What the bytes of a cached column are: the same bytes mean different times as one or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeBytes {
    /// The time column inside an ordinary page, decompressed.
    Encoded,
    /// A page of a time column, as stored.
    Page,
}

/// Most pages whose times are kept.
const MOST_KEPT: usize = 64;

impl TimeCache {
    /// The times that `bytes` stand for, decoded unless they are known.
    pub(crate) fn times(
        &mut self,
        kind: TimeBytes,
        bytes: &[u8],
        decode: impl FnOnce() -> Result<Vec<i64>>,
    ) -> Result<Times> {
        let n = self.entries.len();
        // Columns are asked for in the same order again and again: the search starts after the last hit.
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
