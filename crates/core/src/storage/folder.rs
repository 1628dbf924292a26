//! Folders that appear whole or not at all.

use super::local::reclaim::staged_name;
use super::{EntryKind, Hold, Location, StagedPath};
use crate::error::{Error, Result};

/// A staged folder next to its target. Dropping it without `commit` leaves nothing behind.
#[derive(Debug)]
pub struct StagedFolder {
    folder: Location,
    target: Location,
    hold: Hold,
    done: bool,
    _registered: Option<StagedPath>,
}

impl StagedFolder {
    /// Creates a folder with an unused name next to `target`, following links.
    pub fn try_new(target: &Location) -> Result<Self> {
        let storage = target.storage();
        let target = Location::new(storage.clone(), storage.resolve(target.path())?);
        if storage.kind(target.path())? == Some(EntryKind::Other) {
            return Err(Error::invalid(format!("'{target}' is a pipe or a device, not a folder")));
        }
        storage.reclaim(target.path());
        loop {
            let name = staged_name(target.name());
            let folder = match target.parent() {
                Some(parent) => parent.join(&name),
                None => Location::new(storage.clone(), name),
            };
            if !folder.exists()? {
                let registered = storage.stage(folder.path())?;
                storage.create_dir(folder.path())?;
                let hold = storage.hold(folder.path());
                return Ok(Self { folder, target, hold, done: false, _registered: registered });
            }
        }
    }

    /// Creates the folder `target` and fills it with `fill`, atomically. An existing folder, or one on a storage without
    /// folders, is filled in place.
    pub fn fill<T>(target: &Location, fill: impl FnOnce(&Location) -> Result<T>) -> Result<T> {
        let storage = target.storage();
        if storage.is_taken(target.path())? || storage.stage(target.path())?.is_none() {
            return fill(target);
        }
        let staged = Self::try_new(target)?;
        let filled = fill(staged.location())?;
        staged.commit()?;
        Ok(filled)
    }

    /// Replaces the target by `inner`, a file or folder inside this one; the rest is removed.
    pub fn commit_inner(self, inner: &Location) -> Result<()> {
        self.target.storage().replace(inner.path(), self.target.path())
    }

    /// The staged location.
    pub fn location(&self) -> &Location {
        &self.folder
    }

    /// A location inside the folder. Names are untrusted: a path that leads outside is an error.
    pub fn join(&self, relative: &str) -> Result<Location> {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
        if !relative.split('/').all(plain) {
            let shown = relative.escape_debug();
            return Err(Error::invalid(format!("'{shown}' is not a path inside '{}'", self.target)));
        }
        Ok(self.folder.join(relative))
    }

    /// Replaces the target by the folder and its contents.
    pub fn commit(mut self) -> Result<()> {
        self.target.storage().replace(self.folder.path(), self.target.path())?;
        self.done = true;
        self.hold = Hold::default();
        Ok(())
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if !self.done {
            // A failed removal is ignored; the name marks the folder as temporary.
            let _ = self.folder.storage().remove(self.folder.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::storage::MemoryStorage;

    #[test]
    fn a_filled_folder_appears_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let target = Location::local(place.path().join("x")).unwrap();
        let put = |folder: &Location| folder.storage().create_dir(folder.join("inner").path());
        let failed = StagedFolder::fill(&target, |folder| {
            put(folder)?;
            assert!(!target.exists()?);
            Err::<(), _>(Error::invalid("no"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        for _ in 0..2 {
            StagedFolder::fill(&target, put).unwrap();
            assert!(target.join("inner").is_dir().unwrap());
            assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let staged = StagedFolder::try_new(&Location::new(Arc::new(MemoryStorage::new()), "out/x")).unwrap();
        let folder = staged.location().path().to_owned();
        for inside in ["a", "a/b.c", "..a/...", "c/0/1"] {
            assert_eq!(staged.join(inside).unwrap().path(), format!("{folder}/{inside}"));
        }
        for outside in ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", "a\\..\\b", "a\0"] {
            assert!(staged.join(outside).is_err(), "{outside:?}");
        }
    }
}
