//! Verbatim file copies.

use tesselle_core::Location;
use tesselle_core::storage::EntryKind;

use crate::vanished::entries;
use crate::{Error, Result};

/// Bytes copied at once.
const STEP: u64 = 8 << 20;

/// Copies a file in bounded memory; returns its size. `copied` is called with the size of each part.
pub(crate) fn file(
    source: &Location,
    target: &Location,
    mut copied: impl FnMut(u64) -> Result<()>,
) -> Result<u64> {
    let size = source.size()?;
    if let Some(folder) = target.parent() {
        folder.storage().create_dir(folder.path())?;
    }
    let mut staged = target.create(true)?;
    let mut at = 0;
    while at < size {
        let end = at.saturating_add(STEP).min(size);
        staged.write(&source.read_range(at..end)?)?;
        copied(end - at)?;
        at = end;
    }
    staged.commit()?;
    Ok(size)
}

/// The maximum folder depth.
const DEPTH: usize = 64;

/// The bytes of a file, or of all files below a folder.
pub(crate) fn size_of(place: &Location) -> Result<u64> {
    if place.is_dir()? { below(place, DEPTH) } else { place.size() }
}

fn below(folder: &Location, depth: usize) -> Result<u64> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::limit("the folders of the array are nested too deeply"));
    };
    entries(folder)?.iter().try_fold(0_u64, |sum, entry| {
        let size = match entry.kind {
            EntryKind::File => folder.join(&entry.name).size()?,
            EntryKind::Folder => below(&folder.join(&entry.name), depth)?,
            EntryKind::Other => 0,
        };
        Ok(sum.saturating_add(size))
    })
}
