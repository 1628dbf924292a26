//! Open files: one entry per path, and few descriptors for any number of entries.
//!
//! A descriptor that is needed elsewhere is closed and the file is reopened later; it must then be the same file, so a
//! reader sees one state of it or an error.

use std::collections::VecDeque;
use std::fs::{File, Metadata, OpenOptions};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, RwLock, TryLockError, Weak};

use bytes::Bytes;

use super::super::check_limit;
use super::guard::Guarded;
use super::place::{self, failed};
use super::process::{GENERATIONS, PerProcess, Slot};
use crate::error::{Error, Result};

/// Maximum descriptors for files being read, regardless of the system's limit.
const MOST: usize = 256;
/// The fraction of the process's descriptors available to files, as a divisor.
const SHARE: usize = 4;

/// Below this a read by position is cheaper than a mapping and its page faults.
const MAP_FROM: u64 = 64 << 10;
/// Ranges up to this size are read by position even with a mapping: a fault maps many pages around a few bytes.
pub(super) const TINY: u64 = 1 << 10;
/// The minimum cost of a read by position.
pub(super) const READ_COST: u64 = 256;
/// After this many bytes read by position, the file is worth a mapping.
pub(super) const MAX_COPIED: u64 = 1 << 20;

/// Files with a descriptor, the oldest first. A forked process does not count those of its parent.
static OPEN: PerProcess<VecDeque<Weak<OpenFile>>> =
    PerProcess::new([const { Slot::new(VecDeque::new()) }; GENERATIONS]);

/// A file that is read.
#[derive(Debug)]
pub(super) struct OpenFile {
    path: String,
    pub(super) size: u64,
    identity: Option<(u64, u64)>,
    descriptor: RwLock<Option<Arc<File>>>,
    /// Whether it was read since its descriptor was last considered for closing.
    used: AtomicBool,
    /// Created when it is first worthwhile; `None` if the system refuses.
    pub(super) mapping: OnceLock<Option<Bytes>>,
    /// Likewise, for copies of many short ranges.
    guarded: OnceLock<Option<Guarded>>,
    /// Bytes read by position so far.
    pub(super) copied: AtomicU64,
}

impl OpenFile {
    /// Opens a regular file. Pipes and devices are an error, without waiting for a writer.
    pub(super) fn open(path: &str) -> Result<Arc<Self>> {
        let (file, metadata) = open_regular(path)?;
        let opened = Arc::new(Self {
            path: path.to_owned(),
            size: metadata.len(),
            identity: place::identity_of(&metadata),
            descriptor: RwLock::new(Some(Arc::new(file))),
            used: AtomicBool::new(true),
            mapping: OnceLock::new(),
            guarded: OnceLock::new(),
            copied: AtomicU64::new(0),
        });
        keep(&opened);
        Ok(opened)
    }

    /// The descriptor, reopened if it was closed meanwhile.
    pub(super) fn file(self: &Arc<Self>) -> Result<Arc<File>> {
        self.used.store(true, Ordering::Relaxed);
        if let Some(file) = self.known() {
            return Ok(file);
        }
        let (file, metadata) = open_regular(&self.path)?;
        if place::identity_of(&metadata) != self.identity {
            let text = format!("'{}' was replaced while it was read", self.path);
            return Err(Error::io(text, std::io::ErrorKind::StaleNetworkFileHandle.into()));
        }
        let file = Arc::new(file);
        if self.set(Some(Arc::clone(&file))) {
            keep(self);
        }
        Ok(file)
    }

    /// The descriptor, if there is one and nothing is changing it.
    fn known(&self) -> Option<Arc<File>> {
        match self.descriptor.try_read() {
            Ok(known) => known.clone(),
            Err(TryLockError::Poisoned(known)) => known.into_inner().clone(),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Replaces the descriptor, unless another thread uses it at the moment. Nothing waits for the lock: in a forked process
    /// the thread that has it may not exist.
    fn set(&self, file: Option<Arc<File>>) -> bool {
        match self.descriptor.try_write() {
            Ok(mut known) => *known = file,
            Err(TryLockError::Poisoned(known)) => *known.into_inner() = file,
            Err(TryLockError::WouldBlock) => return false,
        }
        true
    }

    /// Closes the descriptor; `false` if another thread uses it at the moment.
    fn close(&self) -> bool {
        self.set(None)
    }

    /// Reads a range of the file into `buffer`.
    pub(super) fn read_at(self: &Arc<Self>, buffer: &mut [u8], offset: u64) -> Result<()> {
        read_exact_at(&*self.file()?, buffer, offset).map_err(|error| self.unread(error))
    }

    /// The error of a read that failed.
    pub(super) fn unread(&self, error: std::io::Error) -> Error {
        unread(&self.path, error)
    }

    /// The mapping, if a range of `len` bytes should be read from it.
    pub(super) fn mapping_for(self: &Arc<Self>, len: u64) -> Option<&Bytes> {
        let few = len <= if self.mapping.get().is_some() { TINY } else { MAP_FROM };
        let add = len.max(READ_COST);
        if self.size < MAP_FROM || (few && self.copied.fetch_add(add, Ordering::Relaxed) < MAX_COPIED) {
            return None;
        }
        self.mapping.get_or_init(|| map(&*self.file().ok()?)).as_ref()
    }

    /// The guarded mapping of `file`, which is this one; `None` if it cannot be had.
    pub(super) fn guarded(&self, file: &File) -> Option<&Guarded> {
        self.guarded.get_or_init(|| Guarded::try_new(file)).as_ref()
    }
}

fn unread(path: &str, error: std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        return Error::io(format!("'{path}' became shorter while it was read"), error);
    }
    failed("read", path)(error)
}

fn open_regular(path: &str) -> Result<(File, Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(target_os = "linux")]
    {
        // Opening a pipe without a writer would block; for files the flag has no effect.
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    #[cfg(not(target_os = "linux"))]
    place::refuse_special(path, &std::fs::metadata(path).map_err(failed("read", path))?)?;
    let file = options.open(path).map_err(failed("read", path))?;
    let metadata = file.metadata().map_err(failed("read", path))?;
    place::refuse_special(path, &metadata)?;
    Ok((file, metadata))
}

/// A whole file, opened for this alone.
pub(super) fn read_all(path: &str, limit: u64) -> Result<Vec<u8>> {
    let (file, metadata) = open_regular(path)?;
    check_limit(path, metadata.len(), limit)?;
    let mut bytes = vec![0; metadata.len() as usize];
    read_exact_at(&file, &mut bytes, 0).map_err(|error| unread(path, error))?;
    Ok(bytes)
}

/// Registers a descriptor, and closes others if there are too many: several, so that the next files find room.
fn keep(file: &Arc<OpenFile>) {
    let mut closing = Vec::new();
    let mut open = OPEN.lock();
    open.push_back(Arc::downgrade(file));
    if open.len() <= most_open() {
        return;
    }
    // Files without readers have no descriptor.
    open.retain(|file| file.strong_count() > 0);
    let mut chances = open.len();
    while open.len() > most_open() - most_open() / 8 {
        let Some(first) = open.pop_front() else { break };
        let Some(other) = first.upgrade() else { continue };
        if chances > 0 && other.used.swap(false, Ordering::Relaxed) {
            chances -= 1;
            open.push_back(first);
        } else {
            closing.push(other);
        }
    }
    drop(open);
    closing.retain(|other| !other.close());
    if !closing.is_empty() {
        OPEN.lock().extend(closing.iter().map(Arc::downgrade));
    }
}

/// The maximum number of files with a descriptor.
pub(super) fn most_open() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| descriptors_of_process().map_or(MOST / SHARE, |n| n / SHARE).clamp(4, MOST))
}

/// The soft limit of the process, if the system reports it.
fn descriptors_of_process() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Maps a file; `None` if the system refuses, then reads by position are used.
#[expect(unsafe_code, reason = "mapping a file is the only way to return its bytes without a copy")]
fn map(file: &File) -> Option<Bytes> {
    // SAFETY: the mapping is private and read-only. Another process that truncates the file while it is mapped can make
    // a read fault; only `LocalStorage::mapped` gets here, whose callers guarantee that this does not happen.
    let mapping = unsafe { memmap2::Mmap::map(file) }.ok()?;
    Some(Bytes::from_owner(mapping))
}

#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
pub(super) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !buffer.is_empty() {
        let n = std::os::windows::fs::FileExt::seek_read(file, buffer, offset)?;
        if n == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        buffer = &mut buffer[n..];
        offset += n as u64;
    }
    Ok(())
}
