//! Locks that exclude concurrent writers of one container.
//!
//! A local lock is a separate file next to the container, `.NAME.lock`, locked by the operating system: the container
//! is replaced by a rename, so a lock on itself would not exclude a process that opens the new file. The system
//! releases the lock when its holder ends in any way; a lock file left behind by a killed process locks nothing.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::StagedPath;
use crate::error::{Error, Result};

/// A held lock; dropping it releases it.
pub struct Lock {
    _held: Box<dyn Send + Sync>,
}

impl Lock {
    /// Wraps a value that releases the lock when it is dropped.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock")
    }
}

/// The error for a lock that another holder keeps for too long.
pub(super) fn held_by(path: &str, holder: &str, wait: Duration) -> Error {
    let waited = wait.as_secs();
    Error::io(
        format!("'{path}' is locked by {holder}; gave up after {waited} s"),
        io::ErrorKind::WouldBlock.into(),
    )
    .hint("try again when the other process has finished")
}

/// How the name of a lock file ends.
const LOCK: &str = ".lock";
/// The text before the process id of the holder in a lock file.
const HOLDER: &str = "process ";

/// The first pause between two attempts, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// A locked file next to the file it protects.
pub(super) struct FileLock {
    file: File,
    path: PathBuf,
    /// Removed also by a process that ends while it holds the lock.
    registered: Option<StagedPath>,
}

impl FileLock {
    /// Waits up to `wait` for the lock of `target`.
    pub(super) fn take(target: &str, wait: Duration) -> Result<Self> {
        let failed = |error| Error::io(format!("cannot lock '{target}'"), error);
        let path = lock_path(Path::new(target)).map_err(failed)?;
        let deadline = Instant::now().checked_add(wait);
        let [mut pause, longest] = PAUSES;
        loop {
            if let Some(lock) = Self::try_take(&path).map_err(failed)? {
                return Ok(lock);
            }
            if deadline.is_none_or(|deadline| Instant::now() >= deadline) {
                return Err(held_by(target, &holder(&path), wait));
            }
            std::thread::sleep(pause);
            pause = longest.min(pause * 2);
        }
    }

    /// Returns `None` while another holder has it.
    fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The last holder removes the file: a lock on a file that no longer has a name excludes no one.
        if !is_at(&file, path)? {
            return Ok(None);
        }
        file.set_len(0)?;
        writeln!(file, "{HOLDER}{}", std::process::id())?;
        Ok(Some(Self { file, path: path.to_owned(), registered: StagedPath::try_new(path).ok() }))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // From here on the name may belong to another process.
        self.registered = None;
        // Removed while still locked, so that no process waits for a file that is about to disappear. If that fails the
        // file remains; it locks nothing.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

/// Removes the lock file of a process that has ended. Other files are kept.
pub(super) fn remove_stale(path: &Path) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !(cfg!(unix) && name.starts_with('.') && name.ends_with(LOCK)) {
        return;
    }
    let process = holder(path).strip_prefix(HOLDER).and_then(|number| number.parse::<u32>().ok());
    let is_left = process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists());
    if is_left && let Ok(Some(lock)) = FileLock::try_take(path) {
        drop(lock);
    }
}

/// The lock file of a target; both names of a symbolic link have one lock.
fn lock_path(target: &Path) -> io::Result<PathBuf> {
    let target = match fs::canonicalize(target) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            fs::canonicalize(folder)?.join(target.file_name().ok_or(io::ErrorKind::InvalidInput)?)
        }
        Err(error) => return Err(error),
    };
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(LOCK);
    Ok(target.with_file_name(name))
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let there = match fs::metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let ours = file.metadata()?;
    Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

/// Lock files are not removed here, so the file is always the one at its path.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

/// The holder stated in the lock file.
fn holder(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_string(&mut text));
    match (read, text.trim()) {
        (Ok(_), name) if !name.is_empty() => name.to_owned(),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_names_its_holder_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.tatami");
        let target = target.to_str().unwrap();
        let lock = FileLock::take(target, Duration::ZERO).unwrap();
        let error = FileLock::take(target, Duration::ZERO).map(drop).unwrap_err();
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
        drop(lock);
        drop(FileLock::take(target, Duration::ZERO).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_leftover_lock_file_locks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".a.lock"), "process 1\n").unwrap();
        FileLock::take(folder.path().join("a").to_str().unwrap(), Duration::ZERO).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_locks_of_ended_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let ended = format!("process {}\n", u32::MAX);
        let alive = format!("process {}\n", std::process::id());
        let files =
            [(".a.lock", &ended), (".b.lock", &alive), (".c.lock", &String::new()), ("d.lock", &ended)];
        for (name, content) in files {
            fs::write(at(name), content).unwrap();
            remove_stale(&at(name));
        }
        assert_eq!(files.map(|(name, _)| at(name).exists()), [false, true, true, true]);
    }

    #[cfg(unix)]
    #[test]
    fn both_names_of_a_link_have_one_lock() {
        let folder = tempfile::tempdir().unwrap();
        let [real, link] = ["real", "link"].map(|name| folder.path().join(name));
        fs::write(&real, b"x").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let _lock = FileLock::take(real.to_str().unwrap(), Duration::ZERO).unwrap();
        assert!(FileLock::take(link.to_str().unwrap(), Duration::ZERO).is_err());
    }

    #[test]
    fn threads_that_count_under_the_lock_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("n");
        fs::write(&target, b"0").unwrap();
        let add = || {
            for _ in 0..20 {
                let _lock = FileLock::take(target.to_str().unwrap(), Duration::from_mins(10)).unwrap();
                let n: u32 = fs::read_to_string(&target).unwrap().parse().unwrap();
                fs::write(&target, (n + 1).to_string()).unwrap();
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(add))));
        assert_eq!(fs::read_to_string(&target).unwrap(), "160");
    }
}
