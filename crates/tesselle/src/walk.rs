//! Finding the containers below a folder.

use std::collections::HashSet;

use tesselle_core::storage::EntryKind;
use tesselle_core::{Capabilities, Error, ErrorKind, Folder, FolderKind, Location, Probe, Result};

use crate::registry;

/// Deeper folders are not entered: without folder identities, links may form a loop.
const MAX_DEPTH: usize = 64;

/// The result of a walk over a folder.
#[derive(Debug, Default)]
pub struct Found {
    /// The paths of the containers, in name order.
    pub paths: Vec<String>,
    /// Entries that could not be read; the walk continued after them.
    pub unreadable: Vec<Error>,
    /// Pipes and devices with the name of a container. They are not opened.
    pub skipped: Vec<String>,
}

/// The containers below the folder `root`, in name order; only `root` if it is a container itself. A container that is
/// a folder is not entered, except for groups. No folder is entered twice, regardless of links. An unreadable entry
/// does not end the walk.
pub fn find(root: &str) -> Result<Found> {
    find_where(root, |_| true)
}

/// Like [`find`], but only containers of formats with these capabilities.
pub fn find_where(root: &str, keep: fn(&Capabilities) -> bool) -> Result<Found> {
    let root = Location::local(root)?;
    let mut walk = Walk { keep, entered: HashSet::new(), found: Found::default() };
    if root.is_dir()? {
        walk.enter(&root, 0)?;
    } else {
        walk.found.paths.push(root.path().to_owned());
    }
    Ok(walk.found)
}

/// Whether the folder at `path` is a container itself, rather than a folder with containers in it.
pub fn is_container(path: &str) -> Result<bool> {
    let location = Location::local(path)?;
    Ok(!location.is_dir()? || folder_kind(&location, |_| true)? != FolderKind::Place)
}

fn folder_kind(location: &Location, keep: fn(&Capabilities) -> bool) -> Result<FolderKind> {
    let probe = Probe::of(location)?;
    let known = registry::best(&probe).filter(|(format, _)| keep(&format.capabilities()));
    let Some((format, confidence)) = known else { return Ok(FolderKind::Place) };
    let entries = location.list()?;
    Ok(format.folder(&Folder { confidence, entries: &entries, is_known: &is_known_name }))
}

/// Whether a file with this name would be of a known format.
fn is_known_name(name: &str) -> bool {
    registry::format_by_extension(name).is_some()
}

struct Walk {
    keep: fn(&Capabilities) -> bool,
    /// The folders that were entered, by identity.
    entered: HashSet<(u64, u64)>,
    found: Found,
}

impl Walk {
    fn enter(&mut self, folder: &Location, depth: usize) -> Result<()> {
        let identity = folder.storage().identity(folder.path())?;
        if identity.is_some_and(|identity| !self.entered.insert(identity)) {
            return Ok(());
        }
        match folder_kind(folder, self.keep)? {
            FolderKind::Container => {
                self.found.paths.push(folder.path().to_owned());
                return Ok(());
            }
            FolderKind::Group => self.found.paths.push(folder.path().to_owned()),
            FolderKind::Place => {}
        }
        if depth >= MAX_DEPTH {
            return Ok(());
        }
        for entry in folder.list()? {
            let inner = folder.join(&entry.name);
            // Names that start with a dot are staged files, and files hidden by other programs.
            if entry.name.starts_with('.') || entry.name.starts_with("__") {
                continue;
            }
            match self.visit(&inner, entry.kind, depth) {
                Err(error) if error.kind() == ErrorKind::Io => self.found.unreadable.push(error),
                done => done?,
            }
        }
        Ok(())
    }

    fn is_kept(&self, file: &Location) -> Result<bool> {
        let best = registry::best(&Probe::of(file)?);
        Ok(best.is_some_and(|(format, _)| (self.keep)(&format.capabilities())))
    }

    fn visit(&mut self, inner: &Location, kind: EntryKind, depth: usize) -> Result<()> {
        if inner.name().contains(char::REPLACEMENT_CHARACTER) && !inner.exists()? {
            // A name that is not UTF-8 cannot be opened; it is reported, so that it is not silently skipped.
            if kind == EntryKind::Folder || is_known_name(inner.name()) {
                self.found.paths.push(inner.path().to_owned());
            }
            return Ok(());
        }
        match kind {
            EntryKind::Folder => self.enter(inner, depth + 1)?,
            EntryKind::File if self.is_kept(inner)? => {
                self.found.paths.push(inner.path().to_owned());
            }
            EntryKind::File => {}
            EntryKind::Other if is_known_name(inner.name()) => {
                self.found.skipped.push(inner.path().to_owned());
            }
            EntryKind::Other => {}
        }
        Ok(())
    }
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
        let found = find(folder.path().to_str().unwrap()).unwrap().paths;
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
        let found = find(folder.path().to_str().unwrap()).unwrap().paths;
        assert!(matches!(found.as_slice(), [only] if only.ends_with("b\u{fffd}.tatami")), "{found:?}");
    }

    #[cfg(unix)]
    #[test]
    fn loops_of_links_and_pipes_do_not_hold_up_a_walk() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/x.tet"), "x").unwrap();
        std::os::unix::fs::symlink("../..", at("a/b/up")).unwrap();
        std::os::unix::fs::symlink(".", at("self")).unwrap();
        let made =
            std::process::Command::new("mkfifo").arg(at("p.tet")).arg(at("other.sock")).status().unwrap();
        assert!(made.success());
        let found = find(folder.path().to_str().unwrap()).unwrap();
        assert_eq!(found.paths, [at("a/x.tet").to_str().unwrap()]);
        assert_eq!(found.skipped, [at("p.tet").to_str().unwrap()]);
        assert!(found.unreadable.is_empty());
    }
}
