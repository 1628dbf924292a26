//! What a path of this machine leads to: links, pipes and devices, and whose file it is.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::storage::EntryKind;

/// Links that are followed at most.
const MAX_LINKS: usize = 40;

/// The error of an operation on a path.
pub(super) fn failed(what: &str, path: &str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::io(format!("cannot {what} '{path}'"), error)
}

/// Whether an error means that there is nothing at a path. All others mean that nobody knows.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What it is.
pub(super) fn kind_of(metadata: &Metadata) -> EntryKind {
    if metadata.is_dir() {
        EntryKind::Folder
    } else if metadata.is_file() {
        EntryKind::File
    } else {
        EntryKind::Other
    }
}

/// What is at a path, links followed; `None` when there is nothing.
pub(super) fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Refuses what cannot be read by position.
pub(super) fn refuse_special(path: &str, metadata: &Metadata) -> Result<()> {
    match kind_of(metadata) {
        EntryKind::File => Ok(()),
        EntryKind::Folder => Err(failed("read", path)(io::ErrorKind::IsADirectory.into())),
        EntryKind::Other => {
            Err(failed("read", path)(io::Error::other("it is a pipe or a device, not a file")))
        }
    }
}

/// Whether something has this name, be it a link that leads nowhere. Pipes and devices do not count: they are written
/// to, not replaced.
pub(super) fn is_taken(path: &str) -> Result<bool> {
    let entry = match fs::symlink_metadata(path) {
        Ok(entry) => entry,
        Err(error) if is_missing(&error) => return Ok(false),
        Err(error) => return Err(failed("look at", path)(error)),
    };
    let meant = look(Path::new(path)).map_err(failed("look at", path))?.unwrap_or(entry);
    Ok(meant.is_symlink() || kind_of(&meant) != EntryKind::Other)
}

/// The path behind all links at its end; it need not exist.
pub(super) fn resolve(path: &str) -> Result<String> {
    let mut place = PathBuf::from(path);
    for _ in 0..MAX_LINKS {
        match fs::read_link(&place) {
            Ok(next) => place = place.parent().map_or_else(|| next.clone(), |folder| folder.join(&next)),
            // Not a link, or nothing at all.
            Err(error) if is_missing(&error) || error.kind() == io::ErrorKind::InvalidInput => {
                return place.into_os_string().into_string().map_err(|name| {
                    Error::invalid(format!("'{path}' leads to '{}', which is not UTF-8", name.display()))
                });
            }
            Err(error) => return Err(failed("look at", path)(error)),
        }
    }
    Err(failed("look at", path)(io::Error::other("too many links")))
}

/// What tells files apart, whatever their names: device and number.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(super) fn identity_of(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(super) fn identity_of(_metadata: &Metadata) -> Option<(u64, u64)> {
    None
}

/// Gives `file` owner and mode of what it replaces. Where the owner cannot be given away, the mode is kept without the
/// bits that lend its rights.
#[cfg(unix)]
pub(super) fn keep_ownership(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o7777;
    if (new.uid(), new.gid()) != (old.uid(), old.gid())
        && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
    {
        // The group alone can often be kept; nothing is lost where it cannot.
        let _ = fchown(file, None, Some(old.gid()));
        mode &= 0o1777;
    }
    if file.metadata()?.mode() & 0o7777 == mode {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn keep_ownership(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}
