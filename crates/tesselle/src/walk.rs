//! Finding the containers below a folder.

use tesselle_core::storage::EntryKind;
use tesselle_core::{Folder, FolderKind, Location, Probe, Result};

use crate::registry;

/// Folders deeper than this are not entered: there may be a loop of links.
const MAX_DEPTH: usize = 64;

/// The paths of the containers below the folder `root`, in name order; just `root` where it is a container itself.
/// A container that is a folder is not entered, except for groups.
pub fn find(root: &str) -> Result<Vec<String>> {
    let root = Location::local(root)?;
    let mut found = Vec::new();
    if root.is_dir()? {
        enter(&root, 0, &mut found)?;
    } else {
        found.push(root.path().to_owned());
    }
    Ok(found)
}

/// Whether the folder at `path` is a container as a whole, rather than a place with containers in it.
pub fn is_container(path: &str) -> Result<bool> {
    let location = Location::local(path)?;
    Ok(!location.is_dir()? || folder_kind(&location)? != FolderKind::Place)
}

fn folder_kind(location: &Location) -> Result<FolderKind> {
    let probe = Probe::of(location)?;
    let Some((format, confidence)) = registry::best(&probe) else { return Ok(FolderKind::Place) };
    let entries = location.list()?;
    Ok(format.folder(&Folder { confidence, entries: &entries, is_known: &is_known_name }))
}

/// Whether a file of this name would be one of a known format.
fn is_known_name(name: &str) -> bool {
    registry::format_by_extension(name).is_some()
}

fn enter(folder: &Location, depth: usize, found: &mut Vec<String>) -> Result<()> {
    match folder_kind(folder)? {
        FolderKind::Container => {
            found.push(folder.path().to_owned());
            return Ok(());
        }
        FolderKind::Group => found.push(folder.path().to_owned()),
        FolderKind::Place => {}
    }
    if depth >= MAX_DEPTH {
        return Ok(());
    }
    for entry in folder.list()? {
        let inner = folder.join(&entry.name);
        // Names that begin with a dot are staged files, and what other programs hide.
        if entry.name.starts_with('.') || entry.name.starts_with("__") {
            continue;
        }
        if entry.name.contains(char::REPLACEMENT_CHARACTER) && !inner.exists()? {
            // A name that is not UTF-8 cannot be opened; it is found, so that it is not passed over in silence.
            if entry.kind == EntryKind::Folder || is_known_name(&entry.name) {
                found.push(inner.path().to_owned());
            }
            continue;
        }
        match entry.kind {
            EntryKind::Folder => enter(&inner, depth + 1, found)?,
            EntryKind::File if registry::best(&Probe::of(&inner)?).is_some() => {
                found.push(inner.path().to_owned())
            }
            EntryKind::File => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_finds_files_and_folders_of_every_kind() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for dir in [
            "a/x.tiledb/__schema",
            "a/x.tiledb/__fragments",
            "b/only",
            "g/__group",
            "g/m/__schema",
            ".hidden",
        ] {
            std::fs::create_dir_all(at(dir)).unwrap();
        }
        for file in [
            "a/r.tet",
            "a/n.csv",
            "a/readme.md",
            "b/only/1.tsfile",
            "b/only/1.tsfile.resource",
            "b/s.tsfile",
            "b/note.txt",
            ".hidden/h.tet",
        ] {
            std::fs::write(at(file), "x").unwrap();
        }
        let found = find(folder.path().to_str().unwrap()).unwrap();
        let prefix = format!("{}/", folder.path().display());
        let names: Vec<&str> = found.iter().map(|path| path.strip_prefix(&prefix).unwrap()).collect();
        assert_eq!(names, ["a/n.csv", "a/r.tet", "a/x.tiledb", "b/only", "b/s.tsfile", "g", "g/m"]);
        assert!(!is_container(at("a").to_str().unwrap()).unwrap());
        assert!(is_container(at("a/x.tiledb").to_str().unwrap()).unwrap());
        assert!(is_container(at("a/n.csv").to_str().unwrap()).unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_that_cannot_be_read_are_not_passed_over() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        for name in [&b"b\xff.tatami"[..], b"note\xff.txt"] {
            std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
        }
        let found = find(folder.path().to_str().unwrap()).unwrap();
        assert!(matches!(found.as_slice(), [only] if only.ends_with("b\u{fffd}.tatami")), "{found:?}");
    }
}
