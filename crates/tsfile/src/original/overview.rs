//! The overview of data directories: the tree of their files, and the devices of resource files.

use tesselle_core::storage::EntryKind;
use tesselle_core::{Error, Location, Result};

use super::java;
use super::resource::{device_line, read};
use super::{Line, Zone};

const FRAME: &str = "|==============================================================";
/// The folders of a data directory.
const PARTS: [&str; 2] = ["sequence", "unsequence"];
/// Levels below `sequence` and `unsequence`: storage group, and one or two levels of partitions.
const MAX_DEPTH: usize = 8;

/// Prints data directories, each under its display name.
pub fn overview(directories: &[(Location, String)], zone: &Zone, line: &mut Line<'_>) -> Result<()> {
    for (location, _) in directories {
        check(location)?;
    }
    for (location, shown) in directories {
        line(FRAME)?;
        line(&format!("|{shown}"))?;
        for part in PARTS {
            line(&format!("|--{part}"))?;
            tree(&location.join(part), "|  ", 0, zone, line)?;
        }
    }
    line(FRAME)
}

/// Refuses a folder with entries other than those of a data directory.
fn check(location: &Location) -> Result<()> {
    let irregular = || {
        Error::corrupt("a data directory must consist of the folders sequence and unsequence")
            .class("bad_data_directory")
            .file(location.path())
    };
    if !location.is_dir()? {
        return Err(irregular());
    }
    let mut names: Vec<String> = Vec::new();
    for entry in location.list()? {
        if entry.kind != EntryKind::Folder {
            return Err(irregular());
        }
        names.push(entry.name);
    }
    names.sort();
    if names == PARTS { Ok(()) } else { Err(irregular()) }
}

/// The entries of a folder by name, with their children.
fn tree(folder: &Location, indent: &str, depth: usize, zone: &Zone, line: &mut Line<'_>) -> Result<()> {
    let mut entries = folder.list()?;
    entries.sort_by(|a, b| java::compare(&a.name, &b.name));
    let inner = format!("{indent}|  ");
    for entry in entries {
        line(&format!("{indent}|--{}", entry.name))?;
        let location = folder.join(&entry.name);
        if entry.kind == EntryKind::Folder && depth < MAX_DEPTH {
            tree(&location, &inner, depth + 1, zone, line)?;
        } else if entry.kind == EntryKind::File && entry.name.ends_with(".resource") {
            let mut devices: Vec<_> = read(&location)?.devices.into_iter().collect();
            devices.sort_by(|(a, _), (b, _)| java::compare(a, b));
            for (device, range) in devices {
                line(&format!("{inner}|--{}", device_line(&device, &range, zone)?))?;
            }
        }
    }
    Ok(())
}
