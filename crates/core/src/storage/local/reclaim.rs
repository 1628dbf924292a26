//! Staged names, and cleanup of those left by ended processes.
//!
//! A staged file or folder is `.NAME.PID-N.tmp` next to its target, locked as long as its process lives. The next
//! process that writes into the same folder removes those that are not locked.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::lock::remove_stale;
use super::process::{GENERATIONS, PerProcess, Slot};
use super::swap::{self, OLD};

const STAGED: &str = ".tmp";

/// The next staged name next to `target`, unique in this process.
pub(crate) fn staged_name(target: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(".{target}.{}-{number}{STAGED}", std::process::id())
}

/// Marks a staged file or folder as in use while the result lives. Without system support for locks, nothing is marked
/// and nothing is reclaimed.
pub(super) fn hold(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    lock(&file).then_some(file)
}

/// Locks a file or folder, unless another process holds the lock.
#[cfg(unix)]
pub(super) fn lock(file: &File) -> bool {
    file.try_lock().is_ok()
}

#[cfg(not(unix))]
pub(super) fn lock(_file: &File) -> bool {
    false
}

/// Folders that were cleaned. A forked process cleans them again: its parent may have been in the middle of one.
static SEEN: PerProcess<BTreeSet<PathBuf>> =
    PerProcess::new([const { Slot::new(BTreeSet::new()) }; GENERATIONS]);

/// Removes files that ended processes staged in the folder of `target`, for any target: some are never written again.
/// Restores a previous state if a process ended between two renames. Failures are ignored: leftovers remain. Each folder is
/// listed once: a process may write thousands of files into one.
pub(super) fn reclaim(target: &str) {
    let path = Path::new(target);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut seen = SEEN.lock();
    if seen.insert(folder.to_owned()) {
        sweep(folder);
    }
}

/// The targets of files that ended processes staged in a folder, unless the folder was cleaned before.
pub(super) fn abandoned(folder: &Path) -> Vec<String> {
    if SEEN.lock().contains(folder) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let left = names.filter_map(|name| {
        let staged = Leftover::parse(&name).filter(|staged| !staged.is_running())?;
        hold(&folder.join(&name)).map(|_| staged.target.to_owned())
    });
    left.collect()
}

/// Cleans one folder.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        remove_stale(&folder.join(&name));
        let Some(staged) = Leftover::parse(&name).filter(|staged| !staged.is_running()) else { continue };
        let place = folder.join(&name);
        // If the lock can be taken, no process uses the file.
        let Some(lock) = hold(&place) else { continue };
        let target = folder.join(staged.target);
        if staged.is_old && !target.exists() {
            let _ = fs::rename(&place, target);
        } else if let Some(place) = place.to_str() {
            let _ = swap::remove(place);
        }
        drop(lock);
    }
}

/// Restores a previous state under the missing name `target`.
pub(super) fn recover(target: &str) -> bool {
    if Path::new(target).exists() {
        return false;
    }
    reclaim(target);
    Path::new(target).exists()
}

/// A staged name, taken apart.
struct Leftover<'a> {
    /// The name of the target.
    target: &'a str,
    process: u32,
    /// Whether it is the previous state of its target.
    is_old: bool,
}

impl<'a> Leftover<'a> {
    fn parse(name: &'a str) -> Option<Self> {
        let rest = name.strip_prefix('.')?;
        let (rest, is_old) = rest.strip_suffix(OLD).map_or((rest, false), |rest| (rest, true));
        let (target, numbers) = rest.strip_suffix(STAGED)?.rsplit_once('.')?;
        let (process, number) = numbers.split_once('-')?;
        number.parse::<u32>().ok()?;
        Some(Self { target, process: process.parse().ok()?, is_old })
    }

    /// Whether any process with this number runs on this machine.
    fn is_running(&self) -> bool {
        Path::new(&format!("/proc/{}", self.process)).exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_staged_names_are_taken_apart() {
        let staged = Leftover::parse(".a.tet.123-4.tmp").unwrap();
        assert_eq!((staged.target, staged.process, staged.is_old), ("a.tet", 123, false));
        assert!(Leftover::parse(".a.tet.123-4.tmp.old").unwrap().is_old);
        for other in
            ["a.tet.123-4.tmp", ".123-4.tmp", ".a.tet.x-4.tmp", ".a.tet.123.tmp", ".a.tet", ".a.1-2.old"]
        {
            assert!(Leftover::parse(other).is_none(), "{other}");
        }
        assert_eq!(Leftover::parse(&staged_name("x")).unwrap().target, "x");
    }
}
