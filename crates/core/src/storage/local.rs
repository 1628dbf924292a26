//! Files of this machine: read by position at first, mapped once much of them is asked for.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::{Entry, EntryKind, IoHints, Staged, Storage, check_range};
use crate::error::{Error, Result};

/// Below this a read by position is cheaper than a mapping and its page faults.
const MAP_FROM: u64 = 64 << 10;
/// Ranges up to this are read by position even where there is a mapping: a fault maps many pages around a few bytes.
const TINY: u64 = 1 << 10;
/// Least that a read by position counts.
const READ_COST: u64 = 256;
/// Tiny ranges that one buffer is shared by at most.
const SHARED: usize = 64;
/// Once so much was read by position, the file is read often enough to be worth a mapping.
const MAX_COPIED: u64 = 1 << 20;

/// The local file system. Clones share open files, so one container maps each of its files once.
#[derive(Debug, Clone)]
pub struct LocalStorage {
    map: bool,
    open: Arc<Mutex<HashMap<String, Arc<OpenFile>>>>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    size: u64,
    /// Made when it is first worth it; `None` where the system refuses.
    mapping: OnceLock<Option<Bytes>>,
    /// What was read by position so far.
    copied: AtomicU64,
}

impl OpenFile {
    /// The mapping, where a range of `len` bytes should come from it.
    fn mapping_for(&self, len: u64) -> Option<&Bytes> {
        let few = len <= if self.mapping.get().is_some() { TINY } else { MAP_FROM };
        let add = len.max(READ_COST);
        if self.size < MAP_FROM || (few && self.copied.fetch_add(add, Ordering::Relaxed) < MAX_COPIED) {
            return None;
        }
        self.mapping.get_or_init(|| map(&self.file)).as_ref()
    }
}

/// Most files kept open; arrays can have thousands.
const KEPT_OPEN: usize = 256;

impl Default for LocalStorage {
    fn default() -> Self {
        Self::new()
    }
}

fn is_tiny(range: &Range<u64>) -> bool {
    range.start <= range.end && range.end - range.start <= TINY
}

fn failed(what: &str, path: &str) -> impl FnOnce(std::io::Error) -> Error {
    move |error| Error::io(format!("cannot {what} '{path}'"), error)
}

/// What is at a path; `None` where there is nothing.
fn metadata(path: &str) -> Result<Option<fs::Metadata>> {
    use std::io::ErrorKind;
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(failed("look at", path)(error)),
    }
}

impl LocalStorage {
    /// Maps large reads.
    pub fn new() -> Self {
        Self { map: true, open: Arc::default() }
    }

    /// Never maps: every read copies. For file systems where files may shrink under a reader (a mapping would fault)
    /// or where mappings are slow.
    pub fn without_mapping() -> Self {
        Self { map: false, open: Arc::default() }
    }

    fn open(&self, path: &str) -> Result<Arc<OpenFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(path) {
            return Ok(Arc::clone(file));
        }
        let file = File::open(path).map_err(failed("read", path))?;
        let metadata = file.metadata().map_err(failed("read", path))?;
        if metadata.is_dir() {
            return Err(failed("read", path)(std::io::ErrorKind::IsADirectory.into()));
        }
        let size = metadata.len();
        let (mapping, copied) = (OnceLock::new(), AtomicU64::new(0));
        let opened = Arc::new(OpenFile { file, size, mapping, copied });
        if open.len() >= KEPT_OPEN {
            open.clear();
        }
        open.insert(path.to_owned(), Arc::clone(&opened));
        Ok(opened)
    }

    /// Reads tiny ranges by position into one buffer. The first of them has been counted.
    fn read_together(
        path: &str,
        open: &OpenFile,
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
            read_exact_at(&open.file, part, range.start).map_err(failed("read", path))?;
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
}

/// Maps a file; `None` where the system refuses, and reads by position serve instead.
#[expect(unsafe_code, reason = "mapping a file is the one way to hand out its bytes without a copy")]
fn map(file: &File) -> Option<Bytes> {
    // SAFETY: the mapping is private and read-only. Another process that truncates the file while it is mapped can
    // make a read fault; containers are written beside and renamed, so a file of ours never shrinks in place, and
    // `without_mapping` serves where that cannot be relied upon.
    let mapping = unsafe { memmap2::Mmap::map(file) }.ok()?;
    Some(Bytes::from_owner(mapping))
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> std::io::Result<()> {
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

impl Storage for LocalStorage {
    fn size(&self, path: &str) -> Result<u64> {
        self.open(path).map(|file| file.size)
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        let found = metadata(path)?;
        Ok(found.map(|found| if found.is_dir() { EntryKind::Folder } else { EntryKind::File }))
    }

    fn sizes(&self, paths: &[Arc<str>]) -> Result<Vec<Option<u64>>> {
        // Not by `size`, which would open the files.
        let size =
            |path: &Arc<str>| Ok(metadata(path)?.filter(fs::Metadata::is_file).map(|found| found.len()));
        paths.iter().map(size).collect()
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
            let mut buffer = vec![0; len];
            read_exact_at(&open.file, &mut buffer, range.start).map_err(failed("read", path))?;
            answers.push(buffer.into());
            rest = others;
        }
        Ok(answers)
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(failed("list", path))? {
            let entry = entry.map_err(failed("list", path))?;
            // Names that are not UTF-8 belong to no format; they are shown with marks where they cannot be read.
            let name = entry.file_name().to_string_lossy().into_owned();
            let metadata =
                fs::metadata(entry.path()).or_else(|_| entry.metadata()).map_err(failed("list", path))?;
            let kind = if metadata.is_dir() { EntryKind::Folder } else { EntryKind::File };
            entries.push(Entry { name, kind, size: if metadata.is_dir() { 0 } else { metadata.len() } });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Staged>> {
        self.forget(path);
        Ok(Box::new(StagedFile::new(self.clone(), path)?))
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        fs::create_dir_all(path).map_err(failed("create folder", path))
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.forget(path);
        let removed = match self.kind(path)? {
            None => Ok(()),
            Some(EntryKind::Folder) => fs::remove_dir_all(path),
            Some(EntryKind::File) => fs::remove_file(path),
        };
        removed.map_err(failed("remove", path))
    }

    fn replace(&self, from: &str, to: &str) -> Result<()> {
        self.forget(from);
        self.forget(to);
        sync_tree(Path::new(from)).map_err(failed("write", to))?;
        if self.kind(to)?.is_none() {
            fs::rename(from, to).map_err(failed("create", to))?;
        } else if exchange(from, to).is_ok() {
            self.remove(from)?;
        } else {
            // Without a way to exchange two names the old state has a name of its own for a moment.
            let old = format!("{from}.old");
            fs::rename(to, &old).map_err(failed("replace", to))?;
            if let Err(error) = fs::rename(from, to) {
                let kept = fs::rename(&old, to).map_or(old.as_str(), |()| to);
                return Err(failed("replace", to)(error).hint(format!("what was there is '{kept}'")));
            }
            self.remove(&old)?;
        }
        sync_folder(Path::new(to)).map_err(failed("write", to))
    }

    fn hints(&self) -> IoHints {
        IoHints { gap: 16 << 10, max_request: 64 << 20, concurrency: 1, zero_copy: self.map }
    }
}

/// A temporary file beside its target, renamed over it at commit.
struct StagedFile {
    storage: LocalStorage,
    file: Option<File>,
    buffer: Vec<u8>,
    flushed: u64,
    staging: PathBuf,
    target: String,
}

/// Appends are gathered up to this size.
const BUFFER: usize = 1 << 20;

impl StagedFile {
    fn new(storage: LocalStorage, target: &str) -> Result<Self> {
        let path = Path::new(target);
        let name = path
            .file_name()
            .and_then(|n| n.to_str())
            .ok_or_else(|| Error::invalid(format!("'{target}' is not a file name")))?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Several writers may aim at one target: each has its own staging file, the last rename wins.
        for attempt in 0..u32::MAX {
            let staging = folder.join(format!(".{name}.{}-{attempt}.tmp", std::process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&staging) {
                Ok(file) => {
                    return Ok(Self {
                        storage,
                        file: Some(file),
                        buffer: Vec::new(),
                        flushed: 0,
                        staging,
                        target: target.to_owned(),
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
        Ok(())
    }
}

impl Staged for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() >= BUFFER {
            self.flush()?;
            let target = self.target.clone();
            self.file()?.write_all(bytes).map_err(failed("write", &target))?;
            self.flushed += bytes.len() as u64;
            return Ok(());
        }
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.position()) {
            return Err(Error::internal("bytes beyond the end of a staged file are overwritten"));
        }
        self.flush()?;
        let target = self.target.clone();
        write_all_at(self.file()?, bytes, offset).map_err(failed("write", &target))
    }

    fn position(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.flush()?;
        let target = self.target.clone();
        self.file()?.sync_all().map_err(failed("write", &target))?;
        self.file = None;
        fs::rename(&self.staging, &target).map_err(failed("replace", &target))?;
        self.storage.forget(&target);
        sync_folder(Path::new(&target)).map_err(failed("write", &target))
    }
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(mut file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)?;
    file.seek(SeekFrom::End(0)).map(drop)
}

/// Gives each of two paths what the other one had, in one step.
#[cfg(target_os = "linux")]
fn exchange(a: &str, b: &str) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_a: &str, _b: &str) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Makes a folder durable with all it holds.
fn sync_tree(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { sync_tree(&path)? } else { File::open(&path)?.sync_all()? }
    }
    sync_folder(&folder.join("entry"))
}

/// Makes a rename durable: the entry lives in the folder, not in the file.
#[cfg(unix)]
fn sync_folder(target: &Path) -> std::io::Result<()> {
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(windows)]
fn sync_folder(_target: &Path) -> std::io::Result<()> {
    Ok(())
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nothing more can be done about a file that cannot be removed; its name says that it is temporary.
            let _ = fs::remove_file(&self.staging);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_read_equals_a_positioned_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let data: Vec<u8> = (0..200_000_u32).map(|i| (i * 7) as u8).collect();
        fs::write(&path, &data).unwrap();
        let path = path.to_str().unwrap();
        let ranges = [0..10, 199_990..200_000, 70_000..170_000, 5..5];
        let mapped = LocalStorage::new().read(path, &ranges).unwrap();
        let copied = LocalStorage::without_mapping().read(path, &ranges).unwrap();
        assert_eq!(mapped, copied);
        assert_eq!(mapped[2], data[70_000..170_000]);
        assert!(LocalStorage::new().read(path, std::slice::from_ref(&(0..200_001))).is_err());
        let tiny: Vec<Range<u64>> = (0..300).map(|i| i * 600..i * 600 + i % 7 * 100).collect();
        let read = LocalStorage::new().read(path, &tiny).unwrap();
        assert!(read.iter().zip(&tiny).all(|(b, r)| b[..] == data[r.start as usize..r.end as usize]));
        assert!(LocalStorage::new().read(path, &[0..9, 199_990..200_001]).is_err());
    }

    #[test]
    fn a_file_is_mapped_when_it_is_worth_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let data: Vec<u8> = (0..200_000_u32).map(|i| (i * 7) as u8).collect();
        fs::write(&path, &data).unwrap();
        let path = path.to_str().unwrap();
        let is_mapped = |storage: &LocalStorage| storage.open(path).unwrap().mapping.get().is_some();
        let read = |storage: &LocalStorage, range: Range<u64>| {
            let bytes = storage.read(path, std::slice::from_ref(&range)).unwrap();
            assert!(bytes[0] == data[range.start as usize..range.end as usize]);
        };

        let large = LocalStorage::new();
        read(&large, 100..140);
        read(&large, 0..16_000);
        assert!(!is_mapped(&large), "a few small reads do not map");
        read(&large, 0..100_000);
        assert!(is_mapped(&large));
        read(&large, 100..140);

        let often = LocalStorage::new();
        for i in 0..=MAX_COPIED / READ_COST {
            read(&often, i..i + 9);
        }
        assert!(is_mapped(&often), "many small reads do");
    }
}
