//! Files in memory, for tests and for embedders that already have the bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::lock::held_by;
use super::{Entry, EntryKind, IoHints, Lock, Staged, Storage, check_range};
use crate::error::{Error, Result};

type Files = Arc<Mutex<BTreeMap<String, Bytes>>>;

/// Named byte sequences in memory. Clones share their content.
#[derive(Debug, Clone, Default)]
pub struct MemoryStorage {
    files: Files,
    locks: Arc<Locks>,
}

/// The locked paths, and the signal for waiting threads.
#[derive(Debug, Default)]
struct Locks {
    held: Mutex<BTreeSet<String>>,
    released: Condvar,
}

/// One held lock.
struct HeldPath {
    locks: Arc<Locks>,
    path: String,
}

impl Drop for HeldPath {
    fn drop(&mut self) {
        self.locks.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
        self.locks.released.notify_all();
    }
}

fn lock(files: &Files) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryStorage {
    /// An empty storage.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, replacing an existing one.
    pub fn put(&self, path: impl Into<String>, bytes: impl Into<Bytes>) {
        lock(&self.files).insert(path.into(), bytes.into());
    }

    /// The bytes of a file.
    pub fn get(&self, path: &str) -> Option<Bytes> {
        lock(&self.files).get(path).cloned()
    }

    /// All paths, sorted.
    pub fn paths(&self) -> Vec<String> {
        lock(&self.files).keys().cloned().collect()
    }
}

impl Storage for MemoryStorage {
    fn size(&self, path: &str) -> Result<u64> {
        self.get(path).map(|bytes| bytes.len() as u64).ok_or_else(|| Error::missing(path))
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        let files = lock(&self.files);
        if files.contains_key(path) {
            return Ok(Some(EntryKind::File));
        }
        let folder = format!("{}/", path.trim_end_matches('/'));
        let inside = path.is_empty()
            || files.range(folder.clone()..).next().is_some_and(|(p, _)| p.starts_with(&folder));
        Ok(inside.then_some(EntryKind::Folder))
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = self.get(path).ok_or_else(|| Error::missing(path))?;
        ranges
            .iter()
            .map(|range| {
                check_range(path, range, bytes.len() as u64)?;
                Ok(bytes.slice(range.start as usize..range.end as usize))
            })
            .collect()
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        let folder = if path.is_empty() { String::new() } else { format!("{}/", path.trim_end_matches('/')) };
        let files = lock(&self.files);
        let mut folders = BTreeSet::new();
        let mut entries = Vec::new();
        for (name, _) in files.range(folder.clone()..).take_while(|(p, _)| p.starts_with(&folder)) {
            let name = name.strip_prefix(&folder).unwrap_or_default();
            if let Some((below, _)) = name.split_once('/') {
                folders.insert(below.to_owned());
            } else {
                entries.push(Entry { name: name.to_owned(), kind: EntryKind::File });
            }
        }
        entries.extend(folders.into_iter().map(|name| Entry { name, kind: EntryKind::Folder }));
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Staged>> {
        Ok(Box::new(StagedMemory {
            files: Arc::clone(&self.files),
            path: path.to_owned(),
            bytes: Vec::new(),
        }))
    }

    fn create_dir(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    fn remove(&self, path: &str) -> Result<()> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        lock(&self.files).retain(|name, _| name != path && !name.starts_with(&folder));
        Ok(())
    }

    fn replace(&self, from: &str, to: &str) -> Result<()> {
        let mut files = lock(&self.files);
        let (new, old) = (format!("{from}/"), format!("{to}/"));
        if let Some(bytes) = files.remove(from) {
            files.retain(|name, _| !name.starts_with(&old));
            files.insert(to.to_owned(), bytes);
            return Ok(());
        }
        let moved: BTreeMap<String, Bytes> = files
            .iter()
            .filter_map(|(name, bytes)| Some((format!("{old}{}", name.strip_prefix(&new)?), bytes.clone())))
            .collect();
        files.retain(|name, _| name != to && !name.starts_with(&old) && !name.starts_with(&new));
        files.extend(moved);
        Ok(())
    }

    fn lock(&self, path: &str, wait: Duration) -> Result<Lock> {
        let held = self.locks.held.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = |held: &mut BTreeSet<String>| held.contains(path);
        let waited = self.locks.released.wait_timeout_while(held, wait, taken);
        let (mut held, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
        if outcome.timed_out() && held.contains(path) {
            return Err(held_by(path, "another thread", wait));
        }
        held.insert(path.to_owned());
        Ok(Lock::new(HeldPath { locks: Arc::clone(&self.locks), path: path.to_owned() }))
    }

    fn hints(&self) -> IoHints {
        IoHints { gap: 0, max_request: u64::MAX, concurrency: 1, zero_copy: true }
    }
}

struct StagedMemory {
    files: Files,
    path: String,
    bytes: Vec<u8>,
}

impl Staged for StagedMemory {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let place = usize::try_from(offset)
            .ok()
            .and_then(|start| self.bytes.get_mut(start..start.checked_add(bytes.len())?))
            .ok_or_else(|| Error::internal("an overwrite exceeds the end of a staged file"))?;
        place.copy_from_slice(bytes);
        Ok(())
    }

    fn position(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn commit(self: Box<Self>) -> Result<u64> {
        let size = self.position();
        lock(&self.files).insert(self.path, self.bytes.into());
        Ok(size)
    }
}
