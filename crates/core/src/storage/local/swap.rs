//! Crash-safe replacement of files and folders.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use super::place::{self, failed, keep_ownership};
use crate::error::{Error, Result};
use crate::storage::staged::about_to_commit;

/// The suffix of the previous state between two renames.
pub(super) const OLD: &str = ".old";

/// Makes `from` durable and replaces `to` by it. The previous state is removed; its owner and mode are kept.
pub(super) fn replace(from: &str, to: &str) -> Result<()> {
    let old = place::look(Path::new(to)).map_err(failed("inspect", to))?;
    sync_tree(Path::new(from), old.as_ref()).map_err(failed("write", to))?;
    about_to_commit(Path::new(from), Path::new(to))?;
    match old {
        None => fs::rename(from, to).map_err(failed("create", to))?,
        Some(old) if !old.is_dir() && !Path::new(from).is_dir() => {
            fs::rename(from, to).map_err(failed("replace", to))?;
        }
        Some(_) if exchange(from, to).is_ok() => remove(from)?,
        Some(_) => replace_stepwise(from, to)?,
    }
    sync_folder(Path::new(to)).map_err(failed("write", to))
}

/// The same without an atomic exchange of names: the previous state has a temporary name, under which the next run
/// finds it (see `reclaim`).
pub(super) fn replace_stepwise(from: &str, to: &str) -> Result<()> {
    let old = format!("{from}{OLD}");
    fs::rename(to, &old).map_err(failed("replace", to))?;
    if let Err(error) = fs::rename(from, to) {
        let kept = fs::rename(&old, to).map_or(old.as_str(), |()| to);
        return Err(failed("replace", to)(error).hint(format!("the previous state is '{kept}'")));
    }
    remove(&old)
}

/// Replaces `to` by `from` and keeps the previous state as `backup`. The name `to` always exists, except for folders on
/// systems that cannot exchange names.
pub(super) fn put_aside(from: &str, to: &str, backup: &str) -> Result<()> {
    let old = fs::metadata(to).map_err(failed("inspect", to))?;
    sync_tree(Path::new(from), Some(&old)).map_err(failed("write", to))?;
    about_to_commit(Path::new(from), Path::new(to))?;
    let moved = if !old.is_dir() && fs::hard_link(to, backup).is_ok() {
        fs::rename(from, to)
    } else if exchange(from, to).is_ok() {
        return finish_aside(from, to, backup);
    } else {
        fs::rename(to, backup).map_err(failed("move", to))?;
        fs::rename(from, to)
    };
    if let Err(error) = moved {
        let undone = fs::rename(backup, to).is_ok();
        let place = if undone { to } else { backup };
        return Err(failed("replace", to)(error).hint(format!("the original is '{place}'")));
    }
    sync_folder(Path::new(to)).map_err(failed("write", to))
}

fn finish_aside(from: &str, to: &str, backup: &str) -> Result<()> {
    fs::rename(from, backup).map_err(|error| {
        Error::io(format!("cannot move the original to '{backup}'"), error)
            .hint(format!("'{to}' is the new state, the original is '{from}'"))
    })?;
    sync_folder(Path::new(to)).map_err(failed("write", to))
}

/// Removes a file, or a folder with its contents.
pub(super) fn remove(path: &str) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(entry) if entry.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if !place::is_missing(&error) => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Exchanges two paths atomically.
#[cfg(target_os = "linux")]
fn exchange(a: &str, b: &str) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_a: &str, _b: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes a file, or a folder with its contents, durable. A replacement of `old` gets its owner and, at the top, its
/// mode.
fn sync_tree(path: &Path, old: Option<&Metadata>) -> io::Result<()> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        for entry in fs::read_dir(path)? {
            sync_inner(&entry?.path(), old)?;
        }
    }
    if let Some(old) = old.filter(|old| place::kind_of(old.file_type()) != crate::storage::EntryKind::Other) {
        keep_ownership(&file, old)?;
    }
    sync(&file)
}

fn sync_inner(path: &Path, old: Option<&Metadata>) -> io::Result<()> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        for entry in fs::read_dir(path)? {
            sync_inner(&entry?.path(), old)?;
        }
    }
    keep_owner(&file, old);
    sync(&file)
}

/// Sets the owner if possible: only privileged users may.
#[cfg(unix)]
fn keep_owner(file: &File, old: Option<&Metadata>) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let (Some(old), Ok(new)) = (old, file.metadata()) else { return };
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _old: Option<&Metadata>) {}

#[cfg(unix)]
fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

#[cfg(windows)]
fn sync(file: &File) -> io::Result<()> {
    if file.metadata()?.is_dir() { Ok(()) } else { file.sync_all() }
}

/// Makes a rename durable: the entry is stored in the folder, not in the file.
#[cfg(unix)]
pub(super) fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(windows)]
pub(super) fn sync_folder(_target: &Path) -> io::Result<()> {
    Ok(())
}
