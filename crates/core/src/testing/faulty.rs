//! A storage with injected faults.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::storage::{Entry, EntryKind, IoHints, Lock, Staged, Storage};

/// Forwards everything until the fault. Every call counts as an operation, including writes to a staged file and its
/// commit; the first has number 0.
#[derive(Debug, Clone)]
pub struct FaultyStorage {
    inner: Arc<dyn Storage>,
    fault: Arc<Fault>,
}

#[derive(Debug)]
struct Fault {
    at: u64,
    /// Whether everything after the fault fails as well, as after a crash.
    stops: bool,
    done: AtomicU64,
}

impl Fault {
    fn next(&self, what: &str, path: &str) -> Result<()> {
        let number = self.done.fetch_add(1, Ordering::SeqCst);
        if number == self.at || (self.stops && number > self.at) {
            return Err(Error::io(
                format!("cannot {what} '{path}': fault at operation {number}"),
                std::io::ErrorKind::Other.into(),
            ));
        }
        Ok(())
    }
}

impl FaultyStorage {
    fn new(inner: Arc<dyn Storage>, at: u64, stops: bool) -> Self {
        Self { inner, fault: Arc::new(Fault { at, stops, done: AtomicU64::new(0) }) }
    }

    /// Fails operation number `at`, and only that one.
    pub fn failing(inner: Arc<dyn Storage>, at: u64) -> Self {
        Self::new(inner, at, false)
    }

    /// Fails operation number `at` and all that follow.
    pub fn stopping(inner: Arc<dyn Storage>, at: u64) -> Self {
        Self::new(inner, at, true)
    }

    /// How many operations there were, failed ones included.
    pub fn operations(&self) -> u64 {
        self.fault.done.load(Ordering::SeqCst)
    }
}

impl Storage for FaultyStorage {
    fn size(&self, path: &str) -> Result<u64> {
        self.fault.next("read", path)?;
        self.inner.size(path)
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        self.fault.next("inspect", path)?;
        self.inner.kind(path)
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.fault.next("read", path)?;
        self.inner.read(path, ranges)
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        self.fault.next("list", path)?;
        self.inner.list(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Staged>> {
        self.fault.next("create", path)?;
        let inner = self.inner.create(path)?;
        Ok(Box::new(FaultyStaged { inner, fault: Arc::clone(&self.fault), path: path.to_owned() }))
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        self.fault.next("create folder", path)?;
        self.inner.create_dir(path)
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.fault.next("remove", path)?;
        self.inner.remove(path)
    }

    fn replace(&self, from: &str, to: &str) -> Result<()> {
        self.fault.next("replace", to)?;
        self.inner.replace(from, to)
    }

    fn lock(&self, path: &str, wait: Duration) -> Result<Lock> {
        self.fault.next("lock", path)?;
        self.inner.lock(path, wait)
    }

    fn hints(&self) -> IoHints {
        self.inner.hints()
    }
}

struct FaultyStaged {
    inner: Box<dyn Staged>,
    fault: Arc<Fault>,
    path: String,
}

impl Staged for FaultyStaged {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.fault.next("write", &self.path)?;
        self.inner.write(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.fault.next("write", &self.path)?;
        self.inner.write_at(offset, bytes)
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }

    fn commit(self: Box<Self>) -> Result<u64> {
        self.fault.next("commit", &self.path)?;
        self.inner.commit()
    }
}
