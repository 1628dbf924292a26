//! Uncommitted files of this process, which must be removed even if the process ends abruptly.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// A staged local file or folder. [`remove_staged`] removes it until this is dropped.
#[derive(Debug)]
pub struct StagedPath(u64);

#[derive(Debug, Default)]
struct Registry {
    paths: BTreeMap<u64, PathBuf>,
    next: u64,
    closed: bool,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { paths: BTreeMap::new(), next: 0, closed: false });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StagedPath {
    /// Registers `path`, which is about to be created.
    pub(super) fn new(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)
            .map_err(|e| Error::io(format!("cannot create '{}'", path.display()), e))?;
        let mut registry = registry();
        if registry.closed {
            return Err(Error::new(ErrorKind::Canceled, "the process is about to end"));
        }
        let number = registry.next;
        registry.next += 1;
        registry.paths.insert(number, path);
        Ok(Self(number))
    }
}

impl Drop for StagedPath {
    fn drop(&mut self) {
        registry().paths.remove(&self.0);
    }
}

/// Removes everything that is staged, and prevents further staging. The last call of a process that has to end while
/// its threads are working.
pub fn remove_staged() {
    // The lock is kept: a thread that creates a file has registered it, and blocks or fails from here on.
    let mut registry = registry();
    registry.closed = true;
    for path in std::mem::take(&mut registry.paths).into_values() {
        // A failed removal is ignored; the name marks the file as temporary.
        let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    }
}
