//! Resolution of local paths: links, pipes and devices, and file identity.

use std::fs::{self, File, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::storage::EntryKind;

/// Standard output. It is written like a pipe even if it is redirected to a file, which must keep what it has.
pub(super) const STDOUT: &str = "/dev/stdout";

/// Links that are followed at most.
const MAX_LINKS: usize = 40;

/// The error of an operation on a path.
pub(super) fn failed(what: &str, path: &str) -> impl FnOnce(io::Error) -> Error {
    move |error| match error.kind() {
        io::ErrorKind::NotFound if what == "read" => Error::missing(path),
        _ => Error::io(format!("cannot {what} '{path}'"), error),
    }
}

/// Whether an error means that nothing exists at a path. After other errors that is unknown.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The kind of an entry.
pub(super) fn kind_of(found: FileType) -> EntryKind {
    if found.is_dir() {
        EntryKind::Folder
    } else if found.is_file() {
        EntryKind::File
    } else {
        EntryKind::Other
    }
}

/// The metadata of a path, following links; `None` if nothing exists.
pub(super) fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fails for files that cannot be read by position.
pub(super) fn refuse_special(path: &str, metadata: &Metadata) -> Result<()> {
    match kind_of(metadata.file_type()) {
        EntryKind::File => Ok(()),
        EntryKind::Folder => Err(failed("read", path)(io::ErrorKind::IsADirectory.into())),
        EntryKind::Other => {
            Err(failed("read", path)(io::Error::other("it is a pipe or a device, not a file")))
        }
    }
}

/// Whether the name exists, even as a dangling link. Pipes and devices do not count: they are written to, not replaced.
pub(super) fn is_taken(path: &str) -> Result<bool> {
    if path == STDOUT {
        return Ok(false);
    }
    let entry = match fs::symlink_metadata(path) {
        Ok(entry) => entry,
        Err(error) if is_missing(&error) => return Ok(false),
        Err(error) => return Err(failed("inspect", path)(error)),
    };
    let meant = look(Path::new(path)).map_err(failed("inspect", path))?.unwrap_or(entry);
    Ok(meant.is_symlink() || kind_of(meant.file_type()) != EntryKind::Other)
}

/// The path after following all links at its end; it need not exist.
pub(super) fn resolve(path: &str) -> Result<String> {
    if path == STDOUT {
        return Ok(path.to_owned());
    }
    let mut place = PathBuf::from(path);
    for _ in 0..MAX_LINKS {
        match fs::read_link(&place) {
            Ok(next) => place = place.parent().map_or_else(|| next.clone(), |folder| folder.join(&next)),
            // Not a link, or nothing at all.
            Err(error) if is_missing(&error) || error.kind() == io::ErrorKind::InvalidInput => {
                return place.into_os_string().into_string().map_err(|name| {
                    Error::invalid(format!("'{path}' is a link to '{}', which is not UTF-8", name.display()))
                });
            }
            Err(error) => return Err(failed("inspect", path)(error)),
        }
    }
    Err(failed("inspect", path)(io::Error::other("too many links")))
}

/// The identity of a file regardless of its name: device and inode.
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

/// Sets the owner and mode of `file` to those of the replaced file. If the owner cannot be changed, the mode is kept
/// without the set-id bits.
#[cfg(unix)]
pub(super) fn keep_ownership(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o7777;
    if (new.uid(), new.gid()) != (old.uid(), old.gid())
        && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
    {
        // The group alone can often be kept; a failure loses nothing.
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
