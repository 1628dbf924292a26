//! The resource printer: the time range of each device, file by file.

use tesselle_core::storage::EntryKind;
use tesselle_core::{Context as _, Location, Result};

use super::{Line, Zone};
use crate::meta::resource::{Resource, TimeRange};

/// The extension of resource files next to data files.
const ENDING: &str = ".tsfile.resource";
/// The suffix of a resource file after the name of its data file.
const SUFFIX: &str = ".resource";
/// Maximum size of a resource file.
const MAX_BYTES: u64 = 1 << 28;

/// Prints a resource file, or those of a folder ordered by the number at the start of their names. `shown` is
/// the absolute path of `location`.
pub fn print_resources(location: &Location, shown: &str, zone: &Zone, line: &mut Line<'_>) -> Result<()> {
    if location.is_dir()? {
        let folder = shown.trim_end_matches('/');
        for name in resource_files(location)? {
            print_one(&location.join(&name), &format!("{folder}/{name}"), zone, line)?;
        }
    } else {
        print_one(location, shown, zone, line)?;
    }
    line("analyzing the resource file finished.")
}

/// The resource files of a folder; those without a number last.
fn resource_files(folder: &Location) -> Result<Vec<String>> {
    let entries = folder.list()?.into_iter();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.kind == EntryKind::File && entry.name.ends_with(ENDING))
        .map(|entry| entry.name)
        .collect();
    let number = |name: &str| name.split('-').next().and_then(|first| first.parse::<i64>().ok());
    names.sort_by_cached_key(|name| (number(name).is_none(), number(name), name.clone()));
    Ok(names)
}

fn print_one(location: &Location, shown: &str, zone: &Zone, line: &mut Line<'_>) -> Result<()> {
    let resource = read(location)?;
    line(&format!("analyzing {} ...", shown.strip_suffix(SUFFIX).unwrap_or(shown)))?;
    for (device, range) in &resource.devices {
        line(&device_line(device, range, zone)?)?;
    }
    Ok(())
}

/// Reads a resource file.
pub(super) fn read(location: &Location) -> Result<Resource> {
    Resource::parse(&location.read_all(MAX_BYTES)?).in_file(location.path())
}

/// The line of a device.
pub(super) fn device_line(device: &str, (start, end): &TimeRange, zone: &Zone) -> Result<String> {
    let time = |time: &Option<i64>| -> Result<String> {
        let Some(millis) = time else { return Ok("null (null)".to_owned()) };
        Ok(format!("{millis} ({})", zone.format(*millis)?))
    };
    Ok(format!("device {device}, start time {}, end time {}", time(start)?, time(end)?))
}
