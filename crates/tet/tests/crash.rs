//! A storage that fails at the n-th step of a write: what was there before stays, or the new state is whole.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod golden;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use golden::{driver, open_bytes, tensor};
use tesselle_core::storage::{Entry, EntryKind, IoHints, MemoryStorage, Staged};
use tesselle_core::{DType, Error, Location, Result, Storage};
use tesselle_tet::{Codec, DatasetSpec, FooterSpec, HistoryRow, Writer, WriterOptions};

/// Counts steps down; at zero everything fails.
#[derive(Debug, Clone)]
struct Faulty {
    inner: MemoryStorage,
    left: Arc<AtomicU64>,
}

impl Faulty {
    fn step(&self) -> Result<()> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(Error::io("the disk is full", std::io::ErrorKind::StorageFull.into()));
        }
        self.left.store(left - 1, Ordering::Relaxed);
        Ok(())
    }
}

impl Storage for Faulty {
    fn size(&self, path: &str) -> Result<u64> {
        self.inner.size(path)
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        self.inner.kind(path)
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.read(path, ranges)
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        self.inner.list(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Staged>> {
        self.step()?;
        Ok(Box::new(FaultyStaged { inner: self.inner.create(path)?, storage: self.clone() }))
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        self.inner.create_dir(path)
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.inner.remove(path)
    }

    fn hints(&self) -> IoHints {
        self.inner.hints()
    }
}

struct FaultyStaged {
    inner: Box<dyn Staged>,
    storage: Faulty,
}

impl Staged for FaultyStaged {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.storage.step()?;
        self.inner.write(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.storage.step()?;
        self.inner.write_at(offset, bytes)
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.storage.step()?;
        self.inner.commit()
    }
}

fn options() -> WriterOptions {
    let history = vec![HistoryRow::new("write", "test", "1")];
    WriterOptions {
        footer: Some(FooterSpec { history, indexes: true, ..FooterSpec::default() }),
        ..WriterOptions::default()
    }
}

#[test]
fn a_write_that_fails_leaves_the_old_state() {
    let storage = Faulty { inner: MemoryStorage::new(), left: Arc::new(AtomicU64::new(u64::MAX)) };
    let location = Location::new(Arc::new(storage.clone()), "data.tet");
    let first = [DatasetSpec::new("a", DType::F32, [4, 3]).chunk_shape([3, 2])];
    let values: Vec<u8> = (0..48).collect();
    let mut writer = Writer::create(&location, &first, options(), &driver()).unwrap();
    writer.push_rows(0, &values).unwrap();
    writer.finish().unwrap();
    let old = storage.inner.get("data.tet").unwrap();
    let added = [DatasetSpec::new("b", DType::U8, [5]).chunk_shape([2]).codec(Codec::Zstd)];
    let append = || {
        let mut writer = Writer::append(&location, &added, options(), &driver())?;
        writer.push_rows(1, &[1, 2, 3, 4, 5])?;
        writer.finish()
    };
    for steps in 0.. {
        storage.left.store(steps, Ordering::Relaxed);
        let done = append();
        let now = storage.inner.get("data.tet").unwrap();
        assert_eq!(storage.inner.paths(), ["data.tet"], "nothing is left behind after {steps} steps");
        if done.is_err() {
            assert_eq!(now, old, "after {steps} steps");
            continue;
        }
        assert!(steps > 10);
        let file = open_bytes(now).unwrap();
        assert_eq!(tensor(&file, 0).unwrap(), values);
        assert_eq!(tensor(&file, 1).unwrap(), [1, 2, 3, 4, 5]);
        break;
    }
}
