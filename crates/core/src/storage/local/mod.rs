//! Local files, read by position into buffers.
//!
//! Buffers cost little (the pages of a mapping are not free either), and a file truncated by another program yields an
//! error, where a mapping would end the process. Many short ranges are copied out of a mapping that is guarded against
//! that. [`LocalStorage::mapped`] borrows from a plain one, for callers that control their files.

mod buffers;
mod guard;
mod open;
mod place;
mod process;
pub(crate) mod reclaim;
mod scatter;
mod special;
mod staged;
mod swap;

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use buffers::Buffer;
use bytes::Bytes;
use open::{OpenFile, READ_COST, TINY};
use place::failed;
use special::SpecialOutput;
use staged::StagedFile;

use super::location::digest;
use super::lock::FileLock;
use super::{Entry, EntryKind, Hold, IoHints, Lock, Staged, StagedPath, Storage, check_limit, check_range};
use crate::error::{Error, Result};

/// Maximum tiny ranges that share one buffer.
const SHARED: usize = 64;
/// Files that are remembered; arrays can have thousands.
const REMEMBERED: usize = 1 << 14;

/// The local file system. Clones share open files, so one container opens each of its files once. All storages of a
/// process together keep few files open.
#[derive(Debug, Clone)]
pub struct LocalStorage {
    map: bool,
    open: Arc<Mutex<HashMap<String, Arc<OpenFile>>>>,
}

impl Default for LocalStorage {
    fn default() -> Self {
        Self::new()
    }
}

fn is_tiny(range: &Range<u64>) -> bool {
    range.start <= range.end && range.end - range.start <= TINY
}

impl LocalStorage {
    /// Reads by position: every read copies.
    pub fn new() -> Self {
        Self { map: false, open: Arc::default() }
    }

    /// Maps large reads, so that the bytes of a file are borrowed without a copy. Only for files that no other program
    /// truncates while they are read: the system ends a process that reads past the end of a mapped file.
    pub fn mapped() -> Self {
        Self { map: true, open: Arc::default() }
    }

    fn open(&self, path: &str) -> Result<Arc<OpenFile>> {
        if let Some(file) = self.known(path) {
            return Ok(file);
        }
        // Outside the lock, so that threads open files at once.
        let opened = OpenFile::open(path)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= REMEMBERED {
            open.clear();
        }
        // Another thread may have been faster: all read one state of the file.
        Ok(Arc::clone(open.entry(path.to_owned()).or_insert(opened)))
    }

    fn known(&self, path: &str) -> Option<Arc<OpenFile>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).get(path).map(Arc::clone)
    }

    /// Reads tiny ranges by position into one buffer. The first of them is already counted.
    fn read_together(
        path: &str,
        open: &Arc<OpenFile>,
        ranges: &[Range<u64>],
        answers: &mut Vec<Bytes>,
    ) -> Result<()> {
        let total: u64 = ranges.iter().map(|r| r.end - r.start).sum();
        let mut buffer = vec![0; total as usize];
        let mut left = buffer.as_mut_slice();
        for (i, range) in ranges.iter().enumerate() {
            check_range(path, range, open.size)?;
            if i > 0 {
                open.copied.fetch_add((range.end - range.start).max(READ_COST), Ordering::Relaxed);
            }
            let (part, others) = left.split_at_mut((range.end - range.start) as usize);
            open.read_at(part, range.start)?;
            left = others;
        }
        let (buffer, mut at) = (Bytes::from(buffer), 0);
        for range in ranges {
            let end = at + (range.end - range.start) as usize;
            answers.push(buffer.slice(at..end));
            at = end;
        }
        Ok(())
    }

    fn forget(&self, path: &str) {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|name, _| name != path && !name.starts_with(&folder));
    }

    /// Durably replaces `to` by `from` and keeps the previous state as `backup`. The name `to` always exists, except
    /// for folders on systems that cannot exchange names atomically.
    pub fn put_aside(&self, from: &str, to: &str, backup: &str) -> Result<()> {
        let to = place::resolve(to)?;
        for path in [from, &to, backup] {
            self.forget(path);
        }
        swap::put_aside(from, &to, backup)
    }
}

impl Storage for LocalStorage {
    fn size(&self, path: &str) -> Result<u64> {
        self.open(path).map(|file| file.size)
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        if path == place::STDOUT {
            return Ok(Some(EntryKind::Other));
        }
        let found = place::look(Path::new(path)).map_err(failed("inspect", path))?;
        Ok(found.map(|found| place::kind_of(found.file_type())))
    }

    fn sizes(&self, paths: &[Arc<str>]) -> Result<Vec<Option<u64>>> {
        // Not by `size`, which would open the files.
        let size = |path: &Arc<str>| {
            let found = place::look(Path::new(&**path)).map_err(failed("inspect", path))?;
            Ok(found.filter(fs::Metadata::is_file).map(|found| found.len()))
        };
        paths.iter().map(size).collect()
    }

    fn is_taken(&self, path: &str) -> Result<bool> {
        place::is_taken(path)
    }

    fn resolve(&self, path: &str) -> Result<String> {
        place::resolve(path)
    }

    fn identity(&self, path: &str) -> Result<Option<(u64, u64)>> {
        let found = place::look(Path::new(path)).map_err(failed("inspect", path))?;
        Ok(found.as_ref().and_then(place::identity_of))
    }

    fn stamp(&self, path: &str) -> Result<u64> {
        let found = fs::metadata(path).map_err(failed("inspect", path))?;
        Ok(digest(&(place::identity_of(&found), found.len(), found.modified().ok())))
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let open = self.open(path)?;
        let mut answers = Vec::with_capacity(ranges.len());
        let mut rest = ranges;
        while let Some((range, others)) = rest.split_first() {
            check_range(path, range, open.size)?;
            let len = range.end - range.start;
            let mapping = if self.map { open.mapping_for(len) } else { None };
            if let Some(mapping) = mapping {
                answers.push(mapping.slice(range.start as usize..range.end as usize));
                rest = others;
                continue;
            }
            let few = rest.iter().take(SHARED).take_while(|r| is_tiny(r)).count();
            if few > 1 {
                let (together, others) = rest.split_at(few);
                Self::read_together(path, &open, together, &mut answers)?;
                rest = others;
                continue;
            }
            let len = usize::try_from(len).map_err(|_| Error::limit("a range exceeds the address space"))?;
            let mut buffer = Buffer::of(len);
            open.read_at(buffer.as_mut(), range.start)?;
            answers.push(buffer.into_bytes());
            rest = others;
        }
        Ok(answers)
    }

    fn read_once(&self, path: &str, limit: u64) -> Result<Bytes> {
        if let Some(open) = self.known(path) {
            check_limit(path, open.size, limit)?;
            let mut buffer = vec![0; open.size as usize];
            open.read_at(&mut buffer, 0)?;
            return Ok(buffer.into());
        }
        open::read_all(path, limit).map(Bytes::from)
    }

    fn read_parts(&self, path: &str, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
        let open = self.open(path)?;
        for (offset, part) in &*parts {
            check_range(path, &(*offset..offset.saturating_add(part.len() as u64)), open.size)?;
        }
        scatter::read(&open, parts)
    }

    fn scatters(&self) -> bool {
        cfg!(unix) && !self.map
    }

    fn pin(&self, paths: &[String]) -> Result<()> {
        // A removed file can be read as long as it is open. Other files need descriptors too.
        paths.iter().take(open::most_open() / 2).try_for_each(|path| self.open(path).map(drop))
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(failed("list", path))? {
            let entry = entry.map_err(failed("list", path))?;
            // Names that are not UTF-8 belong to no format; they are shown with replacement characters.
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = match entry.file_type() {
                // A dangling link is a file that cannot be read.
                Ok(kind) if kind.is_symlink() => fs::metadata(entry.path())
                    .map_or(EntryKind::File, |target| place::kind_of(target.file_type())),
                Ok(kind) => place::kind_of(kind),
                // Another process has removed or renamed it since the folder was read.
                Err(error) if place::is_missing(&error) => continue,
                Err(error) => return Err(failed("list", path)(error)),
            };
            entries.push(Entry { name, kind });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Staged>> {
        let target = place::resolve(path)?;
        self.forget(path);
        self.forget(&target);
        if self.kind(&target)? == Some(EntryKind::Other) {
            return Ok(Box::new(SpecialOutput::try_new(&target)?));
        }
        Ok(Box::new(StagedFile::try_new(self.clone(), path, &target)?))
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        fs::create_dir_all(path).map_err(failed("create folder", path))
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.forget(path);
        swap::remove(path)
    }

    fn replace(&self, from: &str, to: &str) -> Result<()> {
        let to = place::resolve(to)?;
        self.forget(from);
        self.forget(&to);
        if self.kind(&to)? == Some(EntryKind::Other) {
            return Err(Error::invalid(format!("'{to}' is a pipe or a device and cannot be replaced")));
        }
        swap::replace(from, &to)
    }

    fn hold(&self, path: &str) -> Hold {
        Hold(reclaim::hold(Path::new(path)))
    }

    fn reclaim(&self, target: &str) {
        reclaim::reclaim(target);
    }

    fn abandoned(&self, folder: &str) -> Vec<String> {
        reclaim::abandoned(Path::new(folder))
    }

    fn recover(&self, path: &str) -> Result<bool> {
        self.forget(path);
        Ok(reclaim::recover(path))
    }

    fn stage(&self, path: &str) -> Result<Option<StagedPath>> {
        StagedPath::try_new(Path::new(path)).map(Some)
    }

    fn lock(&self, path: &str, wait: Duration) -> Result<Lock> {
        let lock = FileLock::take(path, wait)?;
        // A file opened earlier may have been replaced since.
        self.forget(path);
        Ok(Lock::new(lock))
    }

    fn hints(&self) -> IoHints {
        // Larger requests would leave the processor caches before they are decoded.
        IoHints { gap: 16 << 10, max_request: 1 << 20, concurrency: 1, zero_copy: self.map }
    }
}

#[cfg(test)]
mod tests;
