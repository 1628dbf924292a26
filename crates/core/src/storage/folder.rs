//! Folders that appear whole or not at all.

use super::Location;
use crate::error::Result;

/// A folder in the making, beside its target. Dropping it without `commit` leaves nothing behind.
#[derive(Debug)]
pub struct StagedFolder {
    folder: Location,
    target: Location,
    done: bool,
}

impl StagedFolder {
    /// Chooses a name beside `target` that nothing has.
    pub fn new(target: &Location) -> Result<Self> {
        let (name, process) = (target.name(), std::process::id());
        let mut attempt = 0_u32;
        loop {
            let name = format!(".{name}.{process}-{attempt}.tmp");
            let folder = match target.parent() {
                Some(parent) => parent.join(&name),
                None => Location::new(target.storage().clone(), name),
            };
            if !folder.exists()? {
                folder.storage().create_dir(folder.path())?;
                return Ok(Self { folder, target: target.clone(), done: false });
            }
            attempt += 1;
        }
    }

    /// Where its files go until then.
    pub fn location(&self) -> &Location {
        &self.folder
    }

    /// Puts it in the place of the target, with everything in it.
    pub fn commit(mut self) -> Result<()> {
        self.target.storage().replace(self.folder.path(), self.target.path())?;
        self.done = true;
        Ok(())
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if !self.done {
            // Nothing more can be done about what cannot be removed; its name says that it is temporary.
            let _ = self.folder.storage().remove(self.folder.path());
        }
    }
}
