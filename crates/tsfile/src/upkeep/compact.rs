//! Merges a data directory into one file, with deletions applied and a resource file next to it.

use std::collections::BTreeMap;

use tesselle_core::{
    Driver, Error, Location, OpenOptions, Result, RewriteRequest, Settings, Summary, WriteOptions,
};

use crate::meta::resource::Resource;
use crate::meta::{DeviceId, Version};
use crate::open::Archive;
use crate::rewrite::rewrite;

/// The result of a compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compacted {
    /// The file; `lost` lists what could not be preserved.
    pub summary: Summary,
    /// Number of merged files.
    pub files: u64,
}

/// Merges a data directory, or a file with its deletions, into the file `target`, and writes `target.resource`.
/// The sources are not changed.
pub fn compact(
    source: &Location,
    target: &Location,
    settings: &Settings,
    overwrite: bool,
    driver: &Driver,
) -> Result<Compacted> {
    let options = OpenOptions::default();
    let files = Archive::open(source, &options)?.files.len() as u64;
    if files == 0 {
        return Err(Error::not_found("there are no TsFiles here").file(source.path()));
    }
    let resource_file = Location::new(
        std::sync::Arc::clone(target.storage()),
        format!("{}.resource", target.path().trim_end_matches('/')),
    );
    resource_file.refuse_existing(overwrite)?;
    let write = WriteOptions::default().with_overwrite(overwrite).with_settings(settings.clone());
    let request = RewriteRequest::new(source, target, &options, &write);
    let rewritten = rewrite(request, driver)?.ok_or_else(|| {
        Error::invalid("a compaction cannot change tables or columns, nor write an older version")
    })?;
    let resource = resource_of(target, &options)?;
    let mut out = resource_file.create(overwrite)?;
    out.write(&resource)?;
    out.commit()?;
    Ok(Compacted { summary: rewritten.summary, files })
}

/// The resource file of a file, in the form of its version.
pub(crate) fn resource_of(file: &Location, options: &OpenOptions) -> Result<Vec<u8>> {
    let archive = Archive::open(file, options)?;
    let mut times: BTreeMap<DeviceId, (i64, i64)> = BTreeMap::new();
    let mut version = Version::V4;
    for entry in &archive.files {
        version = entry.file.version;
        for device in &entry.file.devices {
            for chunk in entry.file.series(device)?.iter().flat_map(|series| &series.chunks) {
                let found = &chunk.statistics;
                if found.count > 0 {
                    // With points out of order, first and last time of the first versions are not bounds; use
                    // both.
                    let (low, high) =
                        (found.start_time.min(found.end_time), found.start_time.max(found.end_time));
                    let range = times.entry(device.id.clone()).or_insert((low, high));
                    *range = (range.0.min(low), range.1.max(high));
                }
            }
        }
    }
    let mut bytes = Vec::new();
    if version.is_compact() {
        Resource::write_versioned(&times, version, &mut bytes)?;
    } else {
        let devices = times.iter().map(|(id, (start, end))| (id.path(), (Some(*start), Some(*end))));
        let resource = Resource { devices: devices.collect(), ..Resource::default() };
        resource.write_plain(&mut bytes)?;
    }
    Ok(bytes)
}
