//! Small files and commits, which make writes visible (spec §11).

use tesselle_core::Location;

use super::name::{WRITE_VERSION, fresh_versioned};
use crate::Result;
use crate::meta::commits::{ConsolidatedCommit, write_consolidated};
use crate::meta::name::TimestampedName;

/// From this version on fragments and commits have separate folders.
const NEW_LAYOUT: u32 = 12;

/// The folder of a fragment of this name, relative to its array.
pub(crate) fn fragment_path(name: &str) -> String {
    if in_new_layout(name) { format!("__fragments/{name}") } else { name.to_owned() }
}

/// The marker that commits a fragment of this name, relative to its array.
pub(crate) fn marker_path(name: &str) -> String {
    if in_new_layout(name) { format!("__commits/{name}.wrt") } else { format!("{name}.ok") }
}

/// The list of files superseded by a fragment of this name, relative to its array.
pub(crate) fn vacuum_path(name: &str) -> String {
    if in_new_layout(name) { format!("__commits/{name}.vac") } else { format!("{name}.vac") }
}

fn in_new_layout(name: &str) -> bool {
    TimestampedName::parse(name).is_none_or(|parsed| parsed.version >= NEW_LAYOUT)
}

/// Writes a small file atomically. Creates its folder if missing: object stores, archives and version control drop
/// empty folders.
pub(crate) fn put(location: &Location, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = location.parent() {
        folder.storage().create_dir(folder.path())?;
    }
    let mut file = location.create(true)?;
    file.write(bytes)?;
    file.commit().map(drop)
}

/// Writes a small file of lines atomically.
pub(crate) fn put_lines(location: &Location, lines: &[String]) -> Result<()> {
    let mut text = lines.join("\n");
    text.push('\n');
    put(location, text.as_bytes())
}

/// Makes fragments visible: one through its marker, several together through one consolidated list. Arrays of the old
/// layout have no such lists; their fragments become visible one after the other. If that fails, the fragments are
/// removed, because no reader would ever use them.
pub(crate) fn commit(array: &Location, fragments: &[String], timestamps: (u64, u64)) -> Result<()> {
    let committed = mark(array, fragments, timestamps);
    if committed.is_err() {
        for name in fragments {
            // The cause of the failure matters more than a failed removal.
            let _ = array.storage().remove(array.join(&fragment_path(name)).path());
        }
    }
    committed
}

fn mark(array: &Location, fragments: &[String], timestamps: (u64, u64)) -> Result<()> {
    match fragments {
        [] => Ok(()),
        [one] => put(&array.join(&marker_path(one)), &[]),
        [first, ..] if !in_new_layout(first) => {
            fragments.iter().try_for_each(|name| put(&array.join(&marker_path(name)), &[]))
        }
        many => {
            let line = |name: &String| ConsolidatedCommit { path: marker_path(name), image: None };
            let lines: Vec<ConsolidatedCommit> = many.iter().map(line).collect();
            let name = fresh_versioned(timestamps, WRITE_VERSION)?;
            put(&array.join("__commits").join(&format!("{name}.con")), &write_consolidated(&lines))
        }
    }
}
