//! Finding the containers below a folder.

use tesselle_core::storage::EntryKind;
use tesselle_core::{Confidence, Location, Probe, Result};

use crate::foreign::Foreign;
use crate::registry;

/// Folders deeper than this are not entered: there may be a loop of links.
const MAX_DEPTH: usize = 64;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Containers of the engine's own formats.
    Containers,
    /// These, and foreign files that can be converted.
    Sources,
}

/// The paths of the containers below the folder `root`, in name order; just `root` where it is a container itself.
/// A container that is a folder is not entered, except for groups.
pub fn find(root: &str, wanted: Wanted) -> Result<Vec<String>> {
    let root = Location::local(root)?;
    let mut found = Vec::new();
    if root.is_dir()? {
        enter(&root, wanted, 0, &mut found)?;
    } else {
        found.push(root.path().to_owned());
    }
    Ok(found)
}

/// Whether the folder at `path` is a container as a whole, rather than a place with containers in it.
pub fn is_container(path: &str) -> Result<bool> {
    let location = Location::local(path)?;
    Ok(!location.is_dir()? || folder_kind(&location, Wanted::Sources)? != Folder::Place)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folder {
    Place,
    Container,
    Group,
}

fn folder_kind(location: &Location, wanted: Wanted) -> Result<Folder> {
    let entries = location.list()?;
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    if has("zarr.json") {
        return Ok(if wanted == Wanted::Sources { Folder::Container } else { Folder::Place });
    }
    let probe = Probe::of(location)?;
    let best = registry::formats().iter().map(|format| (format.sniff(&probe), format.name())).max();
    let Some((confidence, name)) = best.filter(|(confidence, _)| *confidence > Confidence::No) else {
        return Ok(Folder::Place);
    };
    if has("__group") && !has("__schema") {
        return Ok(Folder::Group);
    }
    if name == "tsfile" && !has("sequence") && !has("unsequence") {
        // A folder of TsFiles and what belongs to them is one data folder; among other containers they stand alone.
        let stranger = entries.iter().any(|entry| match entry.kind {
            EntryKind::Folder => true,
            EntryKind::File => !entry.name.contains(".tsfile") && is_known_name(&entry.name),
        });
        return Ok(if stranger { Folder::Place } else { Folder::Container });
    }
    // By its name alone, only an empty or damaged array is one.
    let damaged = confidence == Confidence::Name;
    let holds_folders =
        entries.iter().any(|entry| entry.kind == EntryKind::Folder && !entry.name.starts_with("__"));
    Ok(if damaged && holds_folders { Folder::Place } else { Folder::Container })
}

/// Whether a file of this name would be one of a known format.
fn is_known_name(name: &str) -> bool {
    registry::format_by_extension(name).is_some() || Foreign::from_extension(name).is_some()
}

fn enter(folder: &Location, wanted: Wanted, depth: usize, found: &mut Vec<String>) -> Result<()> {
    match folder_kind(folder, wanted)? {
        Folder::Container => {
            found.push(folder.path().to_owned());
            return Ok(());
        }
        Folder::Group => found.push(folder.path().to_owned()),
        Folder::Place => {}
    }
    if depth >= MAX_DEPTH {
        return Ok(());
    }
    for entry in folder.list()? {
        let inner = folder.join(&entry.name);
        // Names that begin with a dot are files in the making, and what other programs hide.
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
            EntryKind::Folder => enter(&inner, wanted, depth + 1, found)?,
            EntryKind::File if is_wanted(&inner, wanted)? => found.push(inner.path().to_owned()),
            EntryKind::File => {}
        }
    }
    Ok(())
}

fn is_wanted(file: &Location, wanted: Wanted) -> Result<bool> {
    let probe = Probe::of(file)?;
    if registry::formats().iter().any(|format| format.sniff(&probe) > Confidence::No) {
        return Ok(true);
    }
    Ok(wanted == Wanted::Sources && Foreign::detect(file)?.is_some())
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
        let names = |wanted| {
            let found = find(folder.path().to_str().unwrap(), wanted).unwrap();
            let prefix = format!("{}/", folder.path().display());
            found.iter().map(|path| path.strip_prefix(&prefix).unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(Wanted::Containers), ["a/r.tet", "a/x.tiledb", "b/only", "b/s.tsfile", "g", "g/m"]);
        assert!(names(Wanted::Sources).contains(&"a/n.csv".to_owned()));
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
        let found = find(folder.path().to_str().unwrap(), Wanted::Containers).unwrap();
        assert!(matches!(found.as_slice(), [only] if only.ends_with("b\u{fffd}.tatami")), "{found:?}");
    }
}
