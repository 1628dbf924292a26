//! Reading next to writers: listed files may disappear because another process consolidated and vacuumed the array.
//! Such a read starts over.

use std::sync::Arc;

use tesselle_core::storage::Entry;
use tesselle_core::{ErrorKind, Location};

use crate::directory::ArrayDirectory;
use crate::fragment::Fragment;
use crate::{Error, Result};

/// How often a read starts over while the array keeps changing.
const ATTEMPTS: usize = 50;
/// Arrays with more files are not kept readable: descriptors are few, and some of the fragments are of no use alone.
const PINNED: usize = 128;

/// Whether the storage failed, which is no statement about the data: access denied, a disk error, a lost connection.
pub(crate) fn is_failure(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io | ErrorKind::Canceled) && !error.is_missing()
}

/// Returns damage as a value and fails on storage errors.
pub(crate) fn damage(error: Error) -> Result<Error> {
    if is_failure(&error) { Err(error) } else { Ok(error) }
}

/// The entries of a folder; empty if it is missing. An entry that disappears during listing is skipped.
pub(crate) fn entries(folder: &Location) -> Result<Vec<Entry>> {
    for _ in 1..ATTEMPTS {
        match folder.list() {
            Err(error) if error.is_missing() => {
                if !folder.is_dir()? {
                    return Ok(Vec::new());
                }
            }
            listed => return listed,
        }
    }
    folder.list()
}

/// Keeps the data of fragments readable after a vacuum, as far as the storage can. A fragment that is gone already is an
/// error; files that are missing or unreadable in one that is there are the business of those who read them.
pub(crate) fn pin(root: &Location, fragments: &[Arc<Fragment>]) -> Result<()> {
    // Each fragment has a file at least.
    let files: Vec<Vec<String>> =
        fragments.iter().take(PINNED + 1).map(|fragment| fragment.data_files()).collect();
    if files.iter().map(Vec::len).sum::<usize>() > PINNED {
        return Ok(());
    }
    for (fragment, files) in fragments.iter().zip(files) {
        let files: Vec<String> = files.iter().map(|file| root.join(file).path().to_owned()).collect();
        match root.storage().pin(&files) {
            Err(error) if error.is_missing() && !root.join(&fragment.path).is_dir()? => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Opens something of the array at `root`. If files disappear meanwhile, opening is repeated as long as the array
/// changes.
pub(crate) fn opened<T>(root: &Location, limit: u64, open: impl Fn() -> Result<T>) -> Result<T> {
    let mut before = None;
    for _ in 1..ATTEMPTS {
        let error = match open() {
            Err(error) if error.is_missing() || error.class_name() == "missing_fragment" => error,
            other => return other,
        };
        let now = ArrayDirectory::load(root, limit).ok();
        if now.is_none() && !root.exists()? {
            return Err(error);
        }
        if now.is_some() && now == before {
            // Nothing changed: the file is really missing.
            return Err(error);
        }
        before = now;
    }
    open()
}
