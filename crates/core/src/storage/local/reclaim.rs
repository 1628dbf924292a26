//! Staged names, and cleanup of those left by ended processes.
//!
//! A staged file or folder is `.NAME.PID-N.tmp` next to its target, locked as long as its process lives. The next
//! process that writes to the same target removes those that are not locked.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

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

/// Removes files that ended processes staged for `target`, and restores a previous state if a process ended between two
/// renames. Failures are ignored: leftovers remain.
pub(super) fn reclaim(target: &str) {
    let path = Path::new(target);
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for left in left_in(folder) {
        let Some(staged) = Leftover::parse(&left, name).filter(|staged| !staged.is_running()) else {
            continue;
        };
        let place = folder.join(&left);
        // If the lock can be taken, no process uses the file.
        let Some(lock) = hold(&place) else { continue };
        if staged.is_old && !path.exists() {
            let _ = fs::rename(&place, path);
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

/// Names in a folder that look staged. Each folder is listed once: a process may write thousands of files into one.
fn left_in(folder: &Path) -> Vec<String> {
    static SEEN: Mutex<Option<HashMap<PathBuf, Vec<String>>>> = Mutex::new(None);
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = seen.get_or_insert_with(HashMap::new);
    if let Some(names) = seen.get(folder) {
        return names.clone();
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let own = format!(".{}-", std::process::id());
    let looks = |name: &String| {
        name.starts_with('.')
            && (name.ends_with(STAGED) || name.ends_with(&format!("{STAGED}{OLD}")))
            && !name.contains(&own)
    };
    let names: Vec<String> = names.filter(looks).collect();
    seen.insert(folder.to_owned(), names.clone());
    names
}

/// A staged name, taken apart.
struct Leftover {
    process: u32,
    /// Whether it is the previous state of its target.
    is_old: bool,
}

impl Leftover {
    fn parse(name: &str, target: &str) -> Option<Self> {
        let rest = name.strip_prefix('.')?.strip_prefix(target)?.strip_prefix('.')?;
        let (rest, is_old) = rest.strip_suffix(OLD).map_or((rest, false), |rest| (rest, true));
        let (process, number) = rest.strip_suffix(STAGED)?.split_once('-')?;
        number.parse::<u32>().ok()?;
        Some(Self { process: process.parse().ok()?, is_old })
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
    fn only_staged_names_of_the_target_are_taken_apart() {
        let staged = Leftover::parse(".a.tet.123-4.tmp", "a.tet").unwrap();
        assert_eq!((staged.process, staged.is_old), (123, false));
        assert!(Leftover::parse(".a.tet.123-4.tmp.old", "a.tet").unwrap().is_old);
        for other in ["a.tet.123-4.tmp", ".b.tet.123-4.tmp", ".a.tet.x-4.tmp", ".a.tet.123.tmp", ".a.tet"] {
            assert!(Leftover::parse(other, "a.tet").is_none(), "{other}");
        }
        assert!(Leftover::parse(&staged_name("x"), "x").is_some());
    }
}
