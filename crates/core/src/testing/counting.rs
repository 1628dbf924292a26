//! A storage that counts requests.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::error::Result;
use crate::storage::{Entry, EntryKind, IoHints, Lock, Staged, Storage};

/// Forwards and counts everything. Clones share their counts.
#[derive(Debug, Clone)]
pub struct CountingStorage {
    inner: Arc<dyn Storage>,
    counts: Arc<Atomics>,
}

#[derive(Debug, Default)]
struct Atomics {
    lookups: AtomicU64,
    lists: AtomicU64,
    requests: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    commits: AtomicU64,
}

/// The requests to a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests for size or kind.
    pub lookups: u64,
    /// Listings.
    pub lists: u64,
    /// Ranges that were read.
    pub requests: u64,
    /// Their bytes.
    pub bytes_read: u64,
    /// Bytes written, including overwrites.
    pub bytes_written: u64,
    /// Files that were committed.
    pub commits: u64,
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

impl CountingStorage {
    /// Counts the requests to `inner`.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner, counts: Arc::default() }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            lookups: of(&self.counts.lookups),
            lists: of(&self.counts.lists),
            requests: of(&self.counts.requests),
            bytes_read: of(&self.counts.bytes_read),
            bytes_written: of(&self.counts.bytes_written),
            commits: of(&self.counts.commits),
        }
    }
}

impl Storage for CountingStorage {
    fn size(&self, path: &str) -> Result<u64> {
        add(&self.counts.lookups, 1);
        self.inner.size(path)
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        add(&self.counts.lookups, 1);
        self.inner.kind(path)
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        add(&self.counts.requests, ranges.len() as u64);
        let answers = self.inner.read(path, ranges)?;
        add(&self.counts.bytes_read, answers.iter().map(|bytes| bytes.len() as u64).sum());
        Ok(answers)
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        add(&self.counts.lists, 1);
        self.inner.list(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Staged>> {
        let inner = self.inner.create(path)?;
        Ok(Box::new(CountingStaged { inner, counts: Arc::clone(&self.counts) }))
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        self.inner.create_dir(path)
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.inner.remove(path)
    }

    fn replace(&self, from: &str, to: &str) -> Result<()> {
        self.inner.replace(from, to)
    }

    fn lock(&self, path: &str, wait: Duration) -> Result<Lock> {
        self.inner.lock(path, wait)
    }

    fn hints(&self) -> IoHints {
        self.inner.hints()
    }
}

struct CountingStaged {
    inner: Box<dyn Staged>,
    counts: Arc<Atomics>,
}

impl Staged for CountingStaged {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        add(&self.counts.bytes_written, bytes.len() as u64);
        self.inner.write(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        add(&self.counts.bytes_written, bytes.len() as u64);
        self.inner.write_at(offset, bytes)
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }

    fn commit(self: Box<Self>) -> Result<u64> {
        add(&self.counts.commits, 1);
        self.inner.commit()
    }
}
