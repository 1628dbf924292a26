//! Uncommitted files of this process, which must be removed even if the process ends abruptly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// A staged local file or folder. [`remove_staged`] removes it until this is dropped.
#[derive(Debug)]
pub struct StagedPath {
    path: PathBuf,
    number: u64,
}

#[derive(Debug, Default)]
struct Registry {
    /// By path, because a write may stage thousands of files and every commit asks for some.
    paths: BTreeMap<PathBuf, BTreeSet<u64>>,
    next: u64,
    closed: bool,
    /// Whether something has got its name.
    committed: bool,
    /// Whether nothing else may get its name, unless something has.
    refusing: bool,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    paths: BTreeMap::new(),
    next: 0,
    closed: false,
    committed: false,
    refusing: false,
});

impl Registry {
    fn check(&self) -> Result<()> {
        if self.closed || (self.refusing && !self.committed) {
            return Err(Error::new(ErrorKind::Canceled, "the process is about to end"));
        }
        Ok(())
    }
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StagedPath {
    /// Registers `path`, which is about to be created.
    pub(super) fn try_new(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)
            .map_err(|e| Error::io(format!("cannot create '{}'", path.display()), e))?;
        let mut registry = registry();
        registry.check()?;
        let number = registry.next;
        registry.next += 1;
        registry.paths.entry(path.clone()).or_default().insert(number);
        Ok(Self { path, number })
    }
}

impl Drop for StagedPath {
    fn drop(&mut self) {
        let mut registry = registry();
        if let Some(numbers) = registry.paths.get_mut(&self.path) {
            numbers.remove(&self.number);
            if numbers.is_empty() {
                registry.paths.remove(&self.path);
            }
        }
    }
}

/// Called right before `from` gets its name `target`. Inside a staged folder this is not a commit yet. From here on `from`
/// may be the previous state, after an exchange of names: [`remove_staged`] leaves it to the caller.
pub(super) fn about_to_commit(from: &Path, target: &Path) -> Result<()> {
    let mut registry = registry();
    registry.check()?;
    let is_hidden = std::path::absolute(target)
        .is_ok_and(|target| target.ancestors().any(|folder| registry.paths.contains_key(folder)));
    registry.committed |= !is_hidden;
    if let Ok(from) = std::path::absolute(from) {
        registry.paths.remove(&from);
    }
    Ok(())
}

/// Prevents the first commit of a process that received a signal, even if its work has not checked for it yet. A process
/// that has committed something goes on, because the rest may belong to it.
pub fn refuse_first_commit() {
    registry().refusing = true;
}

/// Removes everything that is staged, and prevents further staging, unless something has got its name or is about to:
/// such a process is to end by itself, with a report of success. Returns whether it did.
pub fn remove_staged_unless_committed() -> bool {
    let registry = registry();
    let removes = !registry.committed;
    if removes {
        remove_all(registry);
    }
    removes
}

/// Removes everything that is staged, and prevents further staging. The last call of a process that has to end while
/// its threads are working.
pub fn remove_staged() {
    remove_all(registry());
}

/// The lock is kept meanwhile: a thread that creates a file has registered it, and blocks or fails from here on.
fn remove_all(mut registry: MutexGuard<'_, Registry>) {
    registry.closed = true;
    for path in std::mem::take(&mut registry.paths).into_keys() {
        // A failed removal is ignored; the name marks the file as temporary.
        let _ = if path.is_dir() { remove_folder(&path) } else { std::fs::remove_file(&path) };
    }
}

/// Removes a folder into which other threads may still put files.
fn remove_folder(path: &Path) -> std::io::Result<()> {
    const ATTEMPTS: usize = 20;
    for _ in 1..ATTEMPTS {
        if std::fs::remove_dir_all(path).is_ok() {
            return Ok(());
        }
    }
    std::fs::remove_dir_all(path)
}
