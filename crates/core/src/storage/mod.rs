//! Storage of bytes: local files, memory, object stores.
//!
//! The trait is synchronous and takes many ranges per call: a store with latency fetches them concurrently inside.
//! Formats never see operating system paths, threads or a runtime.

#[cfg(feature = "cloud")]
mod cloud;
mod folder;
mod local;
mod location;
mod lock;
mod memory;
mod spool;
mod staged;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
#[cfg(feature = "cloud")]
pub use cloud::CloudStorage;
pub use folder::StagedFolder;
pub use local::LocalStorage;
pub use location::Location;
pub use lock::Lock;
pub use memory::MemoryStorage;
pub use spool::spool;
pub use staged::{StagedPath, refuse_first_commit, remove_staged, remove_staged_unless_committed};

use crate::At;
use crate::error::{Error, Result};

/// A storage of named byte sequences. Paths are separated by `/`.
pub trait Storage: Send + Sync + Debug {
    /// The size of a file.
    fn size(&self, path: &str) -> Result<u64>;

    /// The kind of entry at `path`; `None` if nothing exists.
    fn kind(&self, path: &str) -> Result<Option<EntryKind>>;

    /// The size of each of these files; `None` for a missing one.
    fn sizes(&self, paths: &[Arc<str>]) -> Result<Vec<Option<u64>>> {
        let size = |path: &Arc<str>| match self.kind(path)? {
            Some(EntryKind::File) => self.size(path).map(Some),
            _ => Ok(None),
        };
        paths.iter().map(size).collect()
    }

    /// Reads ranges of one file, in the given order. A range past the end is an error, never fewer bytes.
    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// A whole file of at most `limit` bytes that is not read again: nothing about it is remembered.
    fn read_once(&self, path: &str, limit: u64) -> Result<Bytes> {
        let size = self.size(path)?;
        check_limit(path, size, limit)?;
        let mut whole = self.read(path, std::slice::from_ref(&(0..size)))?;
        whole.pop().ok_or_else(|| Error::internal("a storage returned no range"))
    }

    /// Keeps these files readable when another process removes them, as many as the storage can hold. One that is not
    /// there any more is an error. A storage that cannot do this does nothing.
    fn pin(&self, paths: &[String]) -> Result<()> {
        let _ = paths;
        Ok(())
    }

    /// Fills each part with the bytes at its offset; offsets ascend, and parts do not overlap.
    fn read_parts(&self, path: &str, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
        let ranges: Vec<Range<u64>> =
            parts.iter().map(|(offset, part)| *offset..offset.saturating_add(part.len() as u64)).collect();
        let found = self.read(path, &ranges)?;
        for (number, (_, part)) in parts.iter_mut().enumerate() {
            part.copy_from_slice(found.at(number)?);
        }
        Ok(())
    }

    /// Whether its files are pipes, whose names indicate no format.
    fn is_pipe(&self) -> bool {
        false
    }

    /// Whether [`Storage::read_parts`] is faster than a read of all bytes between the first part and the last.
    fn scatters(&self) -> bool {
        false
    }

    /// The entries directly inside a folder, sorted by name. A missing folder is an error, if the storage has folders.
    fn list(&self, path: &str) -> Result<Vec<Entry>>;

    /// Whether a new file with this name would replace something, including a dangling link, for which
    /// [`Storage::kind`] returns `None`. Pipes and devices are written to, not replaced.
    fn is_taken(&self, path: &str) -> Result<bool> {
        Ok(self.kind(path)?.is_some())
    }

    /// The path with all links resolved.
    fn resolve(&self, path: &str) -> Result<String> {
        Ok(path.to_owned())
    }

    /// The identity of a file or folder of this storage, regardless of its name; `None` if unknown.
    fn identity(&self, path: &str) -> Result<Option<(u64, u64)>> {
        let _ = path;
        Ok(None)
    }

    /// A number that changes when the file does, as far as that can be known without reading it: here, when its size does.
    fn stamp(&self, path: &str) -> Result<u64> {
        Ok(location::digest(&self.size(path)?))
    }

    /// Starts a new file, invisible under its name until [`Staged::commit`].
    fn create(&self, path: &str) -> Result<Box<dyn Staged>>;

    /// Creates a folder and its parents; does nothing if it exists or if the storage has no folders.
    fn create_dir(&self, path: &str) -> Result<()>;

    /// Removes a file, or a folder with its contents. Removing a missing path is not an error.
    fn remove(&self, path: &str) -> Result<()>;

    /// Durably replaces the file or folder `to` by `from`: a reader finds either the previous state or the complete new
    /// one, and the previous state is removed. Its owner and mode are kept.
    fn replace(&self, from: &str, to: &str) -> Result<()> {
        let _ = from;
        Err(Error::unsupported(format!("this storage cannot replace '{to}' in one step")))
    }

    /// Registers `path` as staged: it is removed if the process has to end before the result is dropped. `None` if an
    /// uncommitted path is invisible anyway.
    fn stage(&self, path: &str) -> Result<Option<StagedPath>> {
        let _ = path;
        Ok(None)
    }

    /// Marks a staged file or folder as in use while the result lives.
    fn hold(&self, path: &str) -> Hold {
        let _ = path;
        Hold::default()
    }

    /// Removes files that ended processes left staged for `target`.
    fn reclaim(&self, target: &str) {
        let _ = target;
    }

    /// The targets of files that ended processes staged in `folder` and did not commit. They are returned once, before the
    /// files are reclaimed, for callers that have more to remove.
    fn abandoned(&self, folder: &str) -> Vec<String> {
        let _ = folder;
        Vec::new()
    }

    /// Restores the previous state of `path` if a process ended while replacing it. Returns false if there is none.
    fn recover(&self, path: &str) -> Result<bool> {
        let _ = path;
        Ok(false)
    }

    /// Waits up to `wait` for the lock of `path`, and holds it until the guard is dropped. Reads of `path` afterwards
    /// see what the last holder wrote.
    ///
    /// The lock excludes only other holders: readers need no lock. A storage without locks returns an error.
    fn lock(&self, path: &str, wait: Duration) -> Result<Lock> {
        let _ = wait;
        Err(Error::unsupported(format!("'{path}' cannot be changed here: this storage has no locks"))
            .hint("change a local copy and upload it"))
    }

    /// I/O hints: preferred request sizes and concurrency.
    fn hints(&self) -> IoHints;
}

/// A mark on a staged path; see [`Storage::hold`].
#[derive(Debug, Default)]
pub struct Hold(#[expect(dead_code, reason = "closing the file releases the mark")] Option<std::fs::File>);

/// A staged file. Dropping it without `commit` leaves nothing behind.
pub trait Staged: Send {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends slices, one after the other.
    fn write_parts(&mut self, parts: &[&[u8]]) -> Result<()> {
        parts.iter().try_for_each(|part| self.write(part))
    }

    /// Overwrites bytes that were appended before.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// How many bytes were appended.
    fn position(&self) -> u64;

    /// Whether bytes are sent immediately and cannot be changed later.
    fn is_pipe(&self) -> bool {
        false
    }

    /// Atomically makes the file durable and visible under its name, replacing an existing one. Returns its size, which
    /// can exceed the last position: compressed bytes may be written at the end.
    fn commit(self: Box<Self>) -> Result<u64>;
}

/// The kind of entry at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A pipe, a socket or a device: it has no size and cannot be read by position.
    Other,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, without the folder.
    pub name: String,
    /// Its kind.
    pub kind: EntryKind,
}

/// I/O hints of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoHints {
    /// Ranges closer than this are fetched as one.
    pub gap: u64,
    /// Largest single request.
    pub max_request: u64,
    /// Requests that may be under way at once.
    pub concurrency: usize,
    /// Whether large ranges are zero-copy slices of memory (a mapping), so that reading a whole file costs nothing.
    pub zero_copy: bool,
}

/// Fails for a file that is larger than a caller accepts.
fn check_limit(path: &str, size: u64, limit: u64) -> Result<()> {
    if size <= limit {
        return Ok(());
    }
    Err(Error::limit(format!("the file has {size} bytes, more than the limit of {limit}")).file(path))
}

/// Fails for a range that is not inside a file of this size.
fn check_range(path: &str, range: &Range<u64>, size: u64) -> Result<()> {
    if range.start <= range.end && range.end <= size {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "bytes {}..{} are requested, but the file has {size} bytes",
        range.start, range.end
    ))
    .class("truncated")
    .file(path)
    .offset(range.start))
}
