//! A temporary file next to its target, renamed over it at commit.

use std::fs::{self, File, OpenOptions};
use std::io::{IoSlice, Write};
use std::path::{Path, PathBuf};

use super::LocalStorage;
use super::place::{self, failed, keep_ownership};
use super::reclaim::{self, staged_name};
use super::swap::sync_folder;
use crate::error::{Error, Result};
use crate::storage::staged::about_to_commit;
use crate::storage::{Staged, StagedPath};

/// Appends are gathered up to this size.
const BUFFER: usize = 1 << 20;
/// Appends of at least this size are not worth another copy.
const DIRECT: usize = 128 << 10;
/// After this many bytes, the system starts to write them to the disk.
const STARTED: u64 = 8 << 20;

pub(super) struct StagedFile {
    storage: LocalStorage,
    /// Locked until the commit, so that it is not mistaken for a leftover of an ended process.
    file: Option<File>,
    buffer: Vec<u8>,
    flushed: u64,
    /// Bytes that the system has started to write to the disk.
    started: u64,
    staging: PathBuf,
    /// The target path, following links.
    target: String,
    /// The name given by the caller.
    name: String,
    _registered: StagedPath,
}

impl StagedFile {
    /// Stages a file for `target`, named `name` by the caller.
    pub(super) fn try_new(storage: LocalStorage, name: &str, target: &str) -> Result<Self> {
        let path = Path::new(target);
        let last = path
            .file_name()
            .and_then(|n| n.to_str())
            .ok_or_else(|| Error::invalid(format!("'{target}' is not a file name")))?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        reclaim::reclaim(target);
        let replaces = place::look(path).map_err(failed("inspect", target))?.is_some();
        // Several writers may have the same target: each has its own staging file, the last rename wins.
        for _ in 0..u32::MAX {
            let staging = folder.join(staged_name(last));
            let registered = StagedPath::try_new(&staging)?;
            match create_new(&staging, replaces) {
                Ok(file) => {
                    let _ = reclaim::lock(&file);
                    return Ok(Self {
                        storage,
                        file: Some(file),
                        buffer: Vec::new(),
                        flushed: 0,
                        started: 0,
                        staging,
                        target: target.to_owned(),
                        name: name.to_owned(),
                        _registered: registered,
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("create", target)(error)),
            }
        }
        Err(Error::io(format!("cannot create '{target}'"), std::io::ErrorKind::AlreadyExists.into()))
    }

    fn file(&mut self) -> Result<&mut File> {
        self.file.as_mut().ok_or_else(|| Error::internal("a staged file is used after commit"))
    }

    fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let target = self.target.clone();
        self.file()?.write_all(&buffer).map_err(failed("write", &target))?;
        self.flushed += buffer.len() as u64;
        self.buffer = buffer;
        self.buffer.clear();
        self.start_writing();
        Ok(())
    }

    /// Lets the system write to the disk what is complete, so that the commit does not wait for all of it. On Linux the
    /// advice that bytes are not needed does that, and keeps them in memory while they are not written yet.
    fn start_writing(&mut self) {
        let len = self.flushed - self.started;
        if len < STARTED {
            return;
        }
        #[cfg(target_os = "linux")]
        if let Some(file) = &self.file {
            let len = std::num::NonZeroU64::new(len);
            // Where the system refuses, the commit takes longer.
            let _ = rustix::fs::fadvise(file, self.started, len, rustix::fs::Advice::DontNeed);
        }
        self.started = self.flushed;
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()?;
        let target = self.target.clone();
        let old = place::look(Path::new(&target)).map_err(failed("inspect", &target))?;
        let file = self.file()?;
        if let Some(old) = old.filter(fs::Metadata::is_file) {
            keep_ownership(file, &old).map_err(failed("write", &target))?;
        }
        file.sync_all().map_err(failed("write", &target))?;
        about_to_commit(&self.staging, Path::new(&target))?;
        fs::rename(&self.staging, &target).map_err(failed("replace", &target))?;
        self.file = None;
        self.storage.forget(&target);
        self.storage.forget(&self.name);
        sync_folder(Path::new(&target)).map_err(failed("write", &target))
    }
}

/// A new file; a replacement is accessible only to its owner until it gets the mode of the old one.
fn create_new(path: &Path, replaces: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    if replaces {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = replaces;
    options.open(path)
}

impl Staged for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_parts(&[bytes])
    }

    fn write_parts(&mut self, parts: &[&[u8]]) -> Result<()> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if len >= DIRECT {
            self.flush()?;
            let target = self.target.clone();
            write_all_parts(self.file()?, parts).map_err(failed("write", &target))?;
            self.flushed += len as u64;
            self.start_writing();
            return Ok(());
        }
        if self.buffer.len() + len > BUFFER {
            self.flush()?;
        }
        for part in parts {
            self.buffer.extend_from_slice(part);
        }
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.position()) {
            return Err(Error::internal("an overwrite exceeds the end of a staged file"));
        }
        self.flush()?;
        let target = self.target.clone();
        write_all_at(self.file()?, bytes, offset).map_err(failed("write", &target))
    }

    fn position(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        self.finish()?;
        Ok(self.position())
    }
}

/// Writes slices one after the other, many with one system call.
fn write_all_parts(file: &mut File, parts: &[&[u8]]) -> std::io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut left = slices.as_mut_slice();
    // Skips empty slices, of which a write of zero bytes would be no failure.
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(unix)]
pub(super) fn write_all_at(file: &mut File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
pub(super) fn write_all_at(file: &mut File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)?;
    file.seek(SeekFrom::End(0)).map(drop)
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // A failed removal is ignored; the name marks the file as temporary.
            let _ = fs::remove_file(&self.staging);
        }
    }
}
