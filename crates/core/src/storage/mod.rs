//! Where bytes live: local files, memory, object stores.
//!
//! The trait is synchronous and takes many ranges per call: a store that has latency fetches them concurrently
//! inside. Formats never see paths of an operating system, threads or a runtime.

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
pub use staged::{StagedPath, remove_staged};

use crate::error::{Error, Result};

/// A place that holds named byte sequences. Paths are separated by `/`.
pub trait Storage: Send + Sync + Debug {
    /// The size of a file.
    fn size(&self, path: &str) -> Result<u64>;

    /// What is at `path`; `None` when there is nothing.
    fn kind(&self, path: &str) -> Result<Option<EntryKind>>;

    /// The size of each of these files; `None` where there is no such file.
    fn sizes(&self, paths: &[Arc<str>]) -> Result<Vec<Option<u64>>> {
        let size = |path: &Arc<str>| match self.kind(path)? {
            Some(EntryKind::File) => self.size(path).map(Some),
            _ => Ok(None),
        };
        paths.iter().map(size).collect()
    }

    /// Reads ranges of one file, in the given order. A range beyond the end is an error, never fewer bytes.
    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// Keeps these files readable when another process removes them, as many as the storage can hold. One that is not
    /// there any more is an error. A storage that cannot do this does nothing.
    fn pin(&self, paths: &[String]) -> Result<()> {
        let _ = paths;
        Ok(())
    }

    /// The entries directly inside a folder, sorted by name. A folder that does not exist is an error, where the
    /// storage knows folders.
    fn list(&self, path: &str) -> Result<Vec<Entry>>;

    /// Whether a new file under this name would replace something, also where [`Storage::kind`] finds nothing because a
    /// link leads nowhere. Pipes and devices are written to, not replaced.
    fn is_taken(&self, path: &str) -> Result<bool> {
        Ok(self.kind(path)?.is_some())
    }

    /// The path behind all links.
    fn resolve(&self, path: &str) -> Result<String> {
        Ok(path.to_owned())
    }

    /// What tells apart the files and folders of this storage regardless of their names; `None` where nothing does.
    fn identity(&self, path: &str) -> Result<Option<(u64, u64)>> {
        let _ = path;
        Ok(None)
    }

    /// Starts a new file, invisible under its name until [`Staged::commit`].
    fn create(&self, path: &str) -> Result<Box<dyn Staged>>;

    /// Makes a folder and those above it; nothing happens where it exists or where the storage has no folders.
    fn create_dir(&self, path: &str) -> Result<()>;

    /// Removes a file, or a folder with all it holds. Removing what is not there is not an error.
    fn remove(&self, path: &str) -> Result<()>;

    /// Puts the file or folder `from` in the place of `to`, durably: a reader finds what was there before or all of the
    /// new, and what was there before is gone afterwards. Its owner and mode stay.
    fn replace(&self, from: &str, to: &str) -> Result<()> {
        let _ = from;
        Err(Error::unsupported(format!("this storage cannot replace '{to}' in one step")))
    }

    /// Takes note that `path` is staged: it is removed if the process has to end before the answer is dropped. `None`
    /// where an uncommitted path is invisible by itself.
    fn stage(&self, path: &str) -> Result<Option<StagedPath>> {
        let _ = path;
        Ok(None)
    }

    /// Marks a staged file or folder as in use while the result lives.
    fn hold(&self, path: &str) -> Hold {
        let _ = path;
        Hold::default()
    }

    /// Removes what processes that have ended left staged for `target`.
    fn reclaim(&self, target: &str) {
        let _ = target;
    }

    /// The names of what ended processes have staged in `folder` and not finished. They are given once, before they are
    /// reclaimed: for those who have to remove more than what is staged.
    fn abandoned(&self, folder: &str) -> Vec<String> {
        let _ = folder;
        Vec::new()
    }

    /// Puts back what was at `path`, where a process ended while it replaced it. False when there is no such thing.
    fn recover(&self, path: &str) -> Result<bool> {
        let _ = path;
        Ok(false)
    }

    /// Waits up to `wait` until nobody else holds the lock of `path`, and holds it until the guard is dropped. What is
    /// read of `path` afterwards is what the last holder wrote.
    ///
    /// It keeps apart those who take it and nobody else: readers need no lock. A storage that cannot do this refuses.
    fn lock(&self, path: &str, wait: Duration) -> Result<Lock> {
        let _ = wait;
        Err(Error::unsupported(format!("'{path}' cannot be changed here: this storage has no locks"))
            .hint("change a local copy and put it in its place"))
    }

    /// How this storage likes to be asked.
    fn hints(&self) -> IoHints;
}

/// A mark on something staged; see [`Storage::hold`].
#[derive(Debug, Default)]
pub struct Hold(Option<std::fs::File>);

impl Hold {
    /// Whether the storage could mark it.
    pub fn is_marked(&self) -> bool {
        self.0.is_some()
    }
}

/// A staged file. Dropping it without `commit` leaves nothing behind.
pub trait Staged: Send {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Overwrites bytes that were appended before.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// How many bytes were appended.
    fn position(&self) -> u64;

    /// Whether the bytes leave at once and cannot be changed later.
    fn is_pipe(&self) -> bool {
        false
    }

    /// Makes the file durable and visible under its name, replacing what was there, in one step.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A pipe, a socket or a device: something that has no size and cannot be read by position.
    Other,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, without the folder.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// The size of a file; 0 for folders.
    pub size: u64,
}

/// How a storage likes to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoHints {
    /// Ranges closer than this are fetched as one.
    pub gap: u64,
    /// Largest single request.
    pub max_request: u64,
    /// Requests that may be under way at once.
    pub concurrency: usize,
    /// Whether large ranges are slices of memory that the storage holds anyway (a mapping), so that asking for a whole
    /// file costs nothing.
    pub zero_copy: bool,
}

/// Refuses a range that does not lie inside a file of this size.
fn check_range(path: &str, range: &Range<u64>, size: u64) -> Result<()> {
    if range.start <= range.end && range.end <= size {
        return Ok(());
    }
    Err(Error::corrupt(format!("bytes {}..{} are wanted, but the file has {size}", range.start, range.end))
        .class("truncated")
        .file(path)
        .offset(range.start))
}
