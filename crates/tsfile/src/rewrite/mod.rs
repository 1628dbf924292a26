//! Rewrites a whole archive into another file, preserving version, devices or tables, types, encodings,
//! compressors, alignment and properties.
//!
//! A file that needs no change is copied. A data directory, a file with deletions next to it and a file with
//! changed settings are read device by device and re-encoded; deletions are applied, and of two points of a
//! series at the same time the later one is kept.

mod rows;
pub(crate) mod schema;

use std::sync::Arc;

use tesselle_core::driver::{self, Order};
use tesselle_core::{
    Depth, Driver, Error, Location, Report, Result, RewriteRequest, Rewritten, Scan, Settings, Summary,
};

use crate::meta::Version;
use crate::open::Archive;
use crate::table::{DeviceTable, exact_rows};
use crate::verify;
use crate::write::options::SinkOptions;

/// Settings that keep the tables and columns of the source.
const SETTINGS: [&str; 13] = [
    "compression",
    "compressions",
    "created_by",
    "decimals",
    "degree",
    "encoding",
    "encodings",
    "group_bytes",
    "page_bytes",
    "page_points",
    "properties",
    "time_encoding",
    "version",
];

/// Rewrites an archive; `None` if the settings require other devices, tables or columns, or an older version.
pub(crate) fn rewrite(request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
    let RewriteRequest { source, target, open, write } = request;
    if write.settings.expect_only(&SETTINGS).is_err() {
        return Ok(None);
    }
    // Strings are copied as bytes.
    let options = open.clone().with_raw(false).with_text_as_binary(true);
    let archive = Archive::open(source, &options)?.shared();
    let newest = archive.files.iter().map(|entry| entry.file.version).max().unwrap_or(Version::V4);
    let mut sink_options = SinkOptions::parse(&write.settings)?;
    if write.settings.get("version").is_none() {
        sink_options = sink_options.for_version(newest, &write.settings)?;
    }
    if sink_options.writer.version < newest {
        return Ok(None);
    }
    if let [entry] = archive.files.as_slice()
        && !entry.file.recovered
        && entry.deletions.is_empty()
        && is_unchanged(&write.settings, entry.file.version)
    {
        return copy(&archive, target, write.overwrite, driver).map(Some);
    }
    rows::rewrite(&archive, target, write, sink_options, driver).map(Some)
}

/// Whether settings leave a file of this version as it is.
fn is_unchanged(settings: &Settings, version: Version) -> bool {
    let mut same = Settings::default();
    same.set("version", version.name());
    *settings == Settings::default() || *settings == same
}

/// Copies a file after checking all its records.
fn copy(archive: &Arc<Archive>, target: &Location, overwrite: bool, driver: &Driver) -> Result<Rewritten> {
    let Some(entry) = archive.files.first() else { return Err(Error::internal("an archive has no file")) };
    let mut report = Report::new(Depth::Pieces);
    verify::verify(archive, Depth::Pieces, driver, &mut report)?;
    report.refuse_copy(entry.location.path())?;
    let mut staged = target.create(overwrite)?;
    driver::copy(&entry.location, 0..entry.file.size, &mut *staged, driver)?;
    let mut summary = Summary { rows: rows(archive, driver)?, ..Summary::default() };
    for device in &entry.file.devices {
        let series = entry.file.series(device)?;
        summary.pieces += series.iter().map(|series| series.chunks.len() as u64).sum::<u64>();
    }
    summary.bytes = staged.commit()?;
    Ok(Rewritten { summary, kept: kept(archive) })
}

/// The names of the properties to keep.
fn kept(archive: &Archive) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in &archive.files {
        let metadata = &entry.file.metadata;
        names.extend(metadata.created_by.iter().map(|_| "created_by".to_owned()));
        let own = metadata.properties.iter().map(|(key, _)| key);
        names.extend(own.filter(|key| !crate::meta::file_metadata::is_about_encryption(key)).cloned());
    }
    names.sort();
    names.dedup();
    names
}

/// Counts the rows of all devices; reads times if statistics do not determine the number.
fn rows(archive: &Arc<Archive>, driver: &Driver) -> Result<u64> {
    let mut rows = 0;
    for path in archive.devices.keys() {
        if let Some(exact) = exact_rows(archive, &archive.device(path)?) {
            rows += exact;
            continue;
        }
        if archive.files.iter().any(|entry| entry.file.is_encrypted()) {
            continue;
        }
        let table = DeviceTable::try_new(archive, path)?;
        let scan = Scan::all().columns([crate::read::TIME]);
        for batch in driver::scan(&table, &scan, driver, Order::Plan)? {
            rows += batch?.num_rows() as u64;
        }
    }
    Ok(rows)
}
