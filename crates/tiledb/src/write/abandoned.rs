//! Fragments that an ended process started and did not commit.
//!
//! Until a fragment is committed, a staged file of its name is next to its folder. If its process has ended and the commit
//! is missing, the folder can be removed. A folder without such a file may belong to another engine and is kept.

use std::fmt;

use tesselle_core::storage::Staged;
use tesselle_core::{Limits, Location};

use super::commit::fragment_path;
use crate::Result;
use crate::directory::ArrayDirectory;

/// The staged file of a fragment that is written. It is never committed, and goes when this is dropped.
pub(super) struct Mark {
    _staged: Box<dyn Staged>,
}

impl Mark {
    pub(super) fn try_new(fragment: &Location) -> Result<Self> {
        if let Some(folder) = fragment.parent() {
            folder.storage().create_dir(folder.path())?;
        }
        Ok(Self { _staged: fragment.create(false)? })
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mark")
    }
}

/// Removes the fragments next to `fragment` that ended processes have left without a commit.
pub(super) fn remove(array: &Location, fragment: &Location) -> Result<()> {
    let Some(folder) = fragment.parent() else { return Ok(()) };
    let names = folder.storage().abandoned(folder.path());
    if names.is_empty() {
        return Ok(());
    }
    let directory = ArrayDirectory::load(array, Limits::default().metadata_bytes)?;
    for path in directory.uncommitted {
        if names.iter().any(|name| fragment_path(name) == path) {
            array.storage().remove(array.join(&path).path())?;
        }
    }
    Ok(())
}
