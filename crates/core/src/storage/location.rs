//! A path together with the storage it is on.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{Entry, EntryKind, LocalStorage, Lock, Staged, Storage, check_limit};
use crate::error::{Error, Result};
use crate::hint::Action;

/// A file or folder on some storage.
#[derive(Debug, Clone)]
pub struct Location {
    storage: Arc<dyn Storage>,
    path: String,
}

impl Location {
    /// A path on a storage.
    pub fn new(storage: Arc<dyn Storage>, path: impl Into<String>) -> Self {
        Self { storage, path: path.into() }
    }

    /// A path of the local file system.
    pub fn local(path: impl AsRef<std::path::Path>) -> Result<Self> {
        let path = path.as_ref();
        let text =
            path.to_str().ok_or_else(|| Error::invalid(format!("path '{}' is not UTF-8", path.display())))?;
        let trimmed = text.trim_end_matches('/');
        Ok(Self::new(Arc::new(LocalStorage::new()), if trimmed.is_empty() { text } else { trimmed }))
    }

    /// The same local path, read through [`LocalStorage::mapped`].
    #[must_use]
    pub fn mapped(&self) -> Self {
        Self::new(Arc::new(LocalStorage::mapped()), self.path.clone())
    }

    /// The storage.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The path in the storage.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.trim_end_matches('/').rsplit('/').next().unwrap_or(&self.path)
    }

    /// The location `relative` to this folder.
    #[must_use]
    pub fn join(&self, relative: &str) -> Self {
        let folder = self.path.trim_end_matches('/');
        let path = match folder {
            "" if !self.path.starts_with('/') => relative.to_owned(),
            _ => format!("{folder}/{relative}"),
        };
        Self { storage: Arc::clone(&self.storage), path }
    }

    /// The folder this is in; `None` at the top.
    pub fn parent(&self) -> Option<Self> {
        let (folder, _) = self.path.trim_end_matches('/').rsplit_once('/')?;
        let folder = if folder.is_empty() { "/" } else { folder };
        Some(Self { storage: Arc::clone(&self.storage), path: folder.to_owned() })
    }

    /// The kind of entry at this location; `None` if nothing exists.
    pub fn kind(&self) -> Result<Option<EntryKind>> {
        self.storage.kind(&self.path)
    }

    /// Whether there is anything here.
    pub fn exists(&self) -> Result<bool> {
        Ok(self.storage.kind(&self.path)?.is_some())
    }

    /// Whether it is a folder.
    pub fn is_dir(&self) -> Result<bool> {
        Ok(self.storage.kind(&self.path)? == Some(EntryKind::Folder))
    }

    /// Whether it is a file.
    pub fn is_file(&self) -> Result<bool> {
        Ok(self.storage.kind(&self.path)? == Some(EntryKind::File))
    }

    /// The size of the file.
    pub fn size(&self) -> Result<u64> {
        self.storage.size(&self.path)
    }

    /// Ranges of the file.
    pub fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.storage.read(&self.path, ranges)
    }

    /// One range of the file.
    pub fn read_range(&self, range: Range<u64>) -> Result<Bytes> {
        self.read(std::slice::from_ref(&range))?
            .pop()
            .ok_or_else(|| Error::internal("a storage returned no range"))
    }

    /// The whole file: a mapping if the storage supports it, else at most `limit` bytes.
    pub fn read_all(&self, limit: u64) -> Result<Bytes> {
        let size = self.size()?;
        check_limit(&self.path, size, limit)?;
        self.read_range(0..size)
    }

    /// The whole file, at most `limit` bytes, if it is not read again; see [`Storage::read_once`].
    pub fn read_once(&self, limit: u64) -> Result<Bytes> {
        self.storage.read_once(&self.path, limit)
    }

    /// The entries of the folder, sorted by name.
    pub fn list(&self) -> Result<Vec<Entry>> {
        self.storage.list(&self.path)
    }

    /// A number that changes when the file does. That of a folder covers the names and files in it and in its folders, and the
    /// names in those: containers that are folders give new names to what changes.
    pub fn stamp(&self) -> Result<u64> {
        match self.kind()? {
            Some(EntryKind::Folder) => self.stamp_of_folder(2),
            _ => self.storage.stamp(&self.path),
        }
    }

    fn stamp_of_folder(&self, levels: usize) -> Result<u64> {
        let mut hasher = DefaultHasher::new();
        for entry in self.list()? {
            entry.name.hash(&mut hasher);
            let inside = self.join(&entry.name);
            let stamp = match entry.kind {
                EntryKind::File => self.storage.stamp(&inside.path),
                EntryKind::Folder if levels > 1 => inside.stamp_of_folder(levels - 1),
                _ => continue,
            };
            match stamp {
                Ok(stamp) => stamp.hash(&mut hasher),
                // It was removed meanwhile, which changes the folder.
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(hasher.finish())
    }

    /// Excludes other writers until the lock is dropped; see [`Storage::lock`].
    pub fn lock(&self, wait: Duration) -> Result<Lock> {
        self.storage.lock(&self.path, wait)
    }

    /// Starts a new file here. Fails if something exists, unless `overwrite`.
    pub fn create(&self, overwrite: bool) -> Result<Box<dyn Staged>> {
        self.refuse_existing(overwrite)?;
        self.storage.create(&self.path)
    }

    /// Fails if something exists here, unless `overwrite`.
    pub fn refuse_existing(&self, overwrite: bool) -> Result<()> {
        if !overwrite && self.storage.is_taken(&self.path)? {
            return Err(Error::invalid(format!("'{}' already exists", self.path))
                .suggest("add {} to replace it", [Action::Overwrite]));
        }
        Ok(())
    }
}

/// A number for a value, the same in every process.
pub(super) fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_that_of_one_state() {
        let folder = tempfile::tempdir().unwrap();
        let place = Location::local(folder.path()).unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let staged = folder.path().join("staged");
            std::fs::write(&staged, text).unwrap();
            std::fs::rename(staged, path).unwrap();
        };
        write("a", "one");
        write("b/c", "one");
        write("b/d/e", "one");
        let states =
            [place.stamp().unwrap(), place.join("a").stamp().unwrap(), place.join("b").stamp().unwrap()];
        assert_eq!(place.stamp().unwrap(), states[0]);
        // The same size, in another file.
        write("a", "two");
        assert!(place.stamp().unwrap() != states[0] && place.join("a").stamp().unwrap() != states[1]);
        assert_eq!(place.join("b").stamp().unwrap(), states[2]);
        let before = place.stamp().unwrap();
        write("b/c", "two");
        assert_ne!(place.stamp().unwrap(), before);
        let before = place.stamp().unwrap();
        write("b/f/g", "new");
        assert_ne!(place.stamp().unwrap(), before);
        std::fs::remove_file(folder.path().join("a")).unwrap();
        assert!(place.join("a").stamp().unwrap_err().is_missing());
    }
}
