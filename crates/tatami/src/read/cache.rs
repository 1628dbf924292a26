//! A cache for reads of single rows.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;

use super::blob::{BlobIndex, DecodedRun};
use crate::meta::page_index::PageEntry;
use crate::meta::record::Record;

/// The location of a page and its rows in the row group.
#[derive(Debug, Clone)]
pub(crate) struct PageAt {
    pub(crate) offset: u64,
    pub(crate) record: Record,
    pub(crate) rows: Range<u64>,
}

/// Decoded pages and blob runs, and the locations of others. Each kind has its own budget, so that large
/// blobs do not evict the pages that lookups use.
#[derive(Debug)]
pub(crate) struct PageCache {
    /// By row group, column and page.
    pub(crate) pages: Recent<(usize, usize, usize), ArrayRef>,
    /// By row group and column.
    pub(crate) directories: Recent<(usize, usize), Arc<Vec<PageAt>>>,
    /// By row group.
    pub(crate) indexes: Recent<usize, Arc<Vec<PageEntry>>>,
    /// By row group and column.
    pub(crate) validity: Recent<(usize, usize), Arc<Option<BooleanBuffer>>>,
    /// By column.
    pub(crate) blobs: Recent<usize, Arc<BlobIndex>>,
    /// By column and run.
    pub(crate) runs: Recent<(usize, usize), Arc<DecodedRun>>,
}

impl Default for PageCache {
    fn default() -> Self {
        Self {
            pages: Recent::new(32 << 20),
            directories: Recent::new(4 << 20),
            indexes: Recent::new(4 << 20),
            validity: Recent::new(4 << 20),
            blobs: Recent::new(4 << 20),
            runs: Recent::new(16 << 20),
        }
    }
}

/// Approximate memory use of a cached entry.
pub(crate) trait Weight {
    fn weight(&self) -> usize;
}

impl Weight for ArrayRef {
    fn weight(&self) -> usize {
        self.get_array_memory_size()
    }
}

impl Weight for Arc<Vec<PageAt>> {
    fn weight(&self) -> usize {
        self.len() * size_of::<PageAt>()
    }
}

impl Weight for Arc<Vec<PageEntry>> {
    fn weight(&self) -> usize {
        let zone = |entry: &PageEntry| entry.zone.as_ref().map_or(0, |zone| zone.min.len() + zone.max.len());
        self.iter().map(|entry| size_of::<PageEntry>() + zone(entry)).sum()
    }
}

impl Weight for Arc<Option<BooleanBuffer>> {
    fn weight(&self) -> usize {
        self.as_ref().as_ref().map_or(0, |bits| bits.len() / 8)
    }
}

impl Weight for Arc<BlobIndex> {
    fn weight(&self) -> usize {
        self.memory()
    }
}

impl Weight for Arc<DecodedRun> {
    fn weight(&self) -> usize {
        self.memory()
    }
}

/// The most recently used entries within a budget of bytes; the last one is kept even if it exceeds the
/// budget.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    entries: HashMap<K, Entry<V>>,
    bytes: usize,
    budget: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
    used: u64,
}

/// The minimum cost of an entry, so that tiny ones cannot accumulate without limit.
const ENTRY: usize = 128;

impl<K: Eq + Hash + Clone, V: Clone + Weight> Recent<K, V> {
    fn new(budget: usize) -> Self {
        Self { entries: HashMap::new(), bytes: 0, budget, clock: 0 }
    }

    pub(crate) fn get(&mut self, key: &K) -> Option<V> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(entry.value.clone())
    }

    pub(crate) fn put(&mut self, key: K, value: V) {
        self.clock += 1;
        let bytes = value.weight() + ENTRY;
        let old = self.entries.insert(key, Entry { value, bytes, used: self.clock });
        self.bytes = (self.bytes + bytes).saturating_sub(old.map_or(0, |old| old.bytes));
        // A linear search is cheap compared with decoding the evicted entry.
        while self.bytes > self.budget && self.entries.len() > 1 {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(entry) = oldest.and_then(|key| self.entries.remove(&key)) else { break };
            self.bytes = self.bytes.saturating_sub(entry.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weight for &'static str {
        fn weight(&self) -> usize {
            self.len() * 100
        }
    }

    #[test]
    fn the_least_recently_used_entry_is_evicted_first() {
        let mut recent = Recent::<u32, &'static str>::new(1000);
        recent.put(1, "one");
        recent.put(2, "two");
        assert_eq!(recent.get(&1), Some("one"));
        recent.put(3, "three");
        assert_eq!((recent.get(&1), recent.get(&2), recent.get(&3)), (None, None, Some("three")));
    }

    #[test]
    fn one_entry_may_exceed_the_budget_and_replacing_counts_once() {
        let mut recent = Recent::<u32, &'static str>::new(500);
        recent.put(1, "longer than all");
        assert_eq!(recent.get(&1), Some("longer than all"));
        for _ in 0..10 {
            recent.put(2, "x");
        }
        assert_eq!(recent.get(&2), Some("x"));
        assert_eq!(recent.bytes, 100 + ENTRY);
    }
}
