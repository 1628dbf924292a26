//! Deletions: a time range of some series, recorded next to the file in the form of its version.
//!
//! | version | form |
//! |---|---|
//! | 0.8, 000001 | `.mods`, a line for each series: all points up to a time |
//! | 000002 | `.mods`, with the first and the last time |
//! | 3 | `.mods`, with the position up to which the file is affected |
//! | 4 | `.mods2`, paths with wildcards, and rows or columns of tables by their tags |

use tesselle_core::{Context as _, Error, Limits, Location, Result};

use crate::meta::deletion::Target;
use crate::meta::schema::{Category, MeasurementSchema};
use crate::meta::tag_condition::TagCondition;
use crate::meta::{Deletion, Version, mods, mods2};
use crate::open::{data_files, side_file};
use crate::read::file::File;

/// Maximum size of a deletion file to append to.
const MAX_BYTES: u64 = 1 << 28;

/// The points to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Points {
    /// The series.
    pub series: Series,
    /// First time; `i64::MIN` for all before `to`.
    pub from: i64,
    /// Last time.
    pub to: i64,
}

/// The series to delete points of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Series {
    /// Series by their dotted path: `*` stands for one node, `**` for one or more.
    Path(String),
    /// Rows of a table, or some of its columns.
    Table {
        /// The table.
        table: String,
        /// The devices with these tag values, by name; empty for all devices.
        tags: Vec<(String, String)>,
        /// The columns; empty for whole rows.
        columns: Vec<String>,
    },
}

/// The result of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Files that have such series.
    pub files: u64,
    /// Series in those files.
    pub series: u64,
}

/// Deletes points from a file, or from all files of a data directory that have them.
pub fn delete(location: &Location, points: &Points) -> Result<Deleted> {
    if points.from > points.to {
        return Err(Error::invalid("the first time is after the last"));
    }
    let mut deleted = Deleted::default();
    if location.is_dir()? {
        for (relative, _) in data_files(location)? {
            let file = location.join(&relative);
            deleted.add(delete_in(&file, points).in_file(file.path())?);
        }
    } else {
        deleted.add(delete_in(location, points).in_file(location.path())?);
    }
    if deleted.series == 0 {
        return Err(Error::not_found("no series matches").file(location.path()));
    }
    Ok(deleted)
}

impl Deleted {
    fn add(&mut self, series: u64) {
        self.files += u64::from(series > 0);
        self.series += series;
    }
}

/// Records the deletion next to one file; returns the number of affected series.
fn delete_in(location: &Location, points: &Points) -> Result<u64> {
    let file = File::open(location, location.size()?, &Limits::default())?;
    let target = target(&file, &points.series)?;
    let Some(target) = target else { return Ok(0) };
    let deletion = Deletion { target, before: None, start: points.from, end: points.to };
    let mut series = Vec::new();
    let mut newest = 0;
    for device in &file.devices {
        for one in file.series(device)?.iter().filter(|series| !series.is_time_column()) {
            newest = one.chunks.iter().map(|chunk| chunk.version).fold(newest, i64::max);
            if deletion.matches(&device.id, &device.path, &one.name) {
                series.push(format!("{}.{}", device.path, one.name));
            }
        }
    }
    if series.is_empty() {
        return Ok(0);
    }
    let mut lines = Vec::new();
    if file.version == Version::V4 {
        mods2::write(&deletion, &mut lines)?;
        append(&side_file(location, "mods2"), true, &lines)?;
    } else {
        if file.version.is_flat() && points.from != i64::MIN {
            let message = format!("version {} can only delete all points up to a time", file.version.name());
            return Err(Error::unsupported(message).hint("omit the first time, or upgrade the file"));
        }
        // Later chunks, e.g. of appended rows, are not affected.
        let before =
            if file.version.is_compact() { file.size.cast_signed() } else { newest.saturating_add(1) };
        for path in &series {
            mods::write(path, before, (points.from, points.to), file.version, &mut lines)?;
        }
        append(&side_file(location, "mods"), false, &lines)?;
    }
    Ok(series.len() as u64)
}

/// The target of a deletion in this file; `None` if the file has no such table.
fn target(file: &File, series: &Series) -> Result<Option<Target>> {
    let (table, tags, columns) = match series {
        Series::Path(path) => return Ok(Some(Target::Path(path.clone()))),
        Series::Table { table, tags, columns } => (table.to_lowercase(), tags, columns),
    };
    let Some(known) = file.metadata.tables.iter().find(|known| known.name == table) else { return Ok(None) };
    let names: Vec<&str> = known.columns.iter().map(|(column, _)| column.name.as_str()).collect();
    for column in columns {
        if !names.contains(&column.to_lowercase().as_str()) {
            return Err(Error::unknown_name("column", column, names));
        }
    }
    let is_tag = |(_, category): &&(MeasurementSchema, Category)| *category == Category::Tag;
    let tag_names: Vec<&str> =
        known.columns.iter().filter(is_tag).map(|(column, _)| column.name.as_str()).collect();
    let mut conditions = Vec::with_capacity(tags.len());
    for (name, value) in tags {
        let lower = name.to_lowercase();
        let Some(at) = tag_names.iter().position(|tag| **tag == lower) else {
            return Err(Error::unknown_name("tag", name, tag_names));
        };
        // The first segment of a device is its table.
        conditions.push(TagCondition::Segment { index: at + 1, value: Some(value.clone()) });
    }
    let tags = match (conditions.pop(), conditions.is_empty()) {
        (None, _) => TagCondition::Any,
        (Some(only), true) => only,
        (Some(last), false) => {
            conditions.push(last);
            TagCondition::All(conditions)
        }
    };
    let columns = columns.iter().map(|column| column.to_lowercase()).collect();
    Ok(Some(Target::Table { table, tags, columns }))
}

/// Appends to a side file atomically: a reader finds the old deletions or all of them.
fn append(side: &Location, is_binary: bool, lines: &[u8]) -> Result<()> {
    let mut bytes = if side.is_file()? { side.read_all(MAX_BYTES)?.to_vec() } else { Vec::new() };
    if is_binary {
        // An incomplete deletion is ignored, and so would be anything after it.
        if let Some(torn) = mods2::parse_all(&bytes).in_file(side.path())?.1 {
            bytes.truncate(usize::try_from(torn).unwrap_or(usize::MAX));
        }
    } else {
        mods::parse_all(&bytes).in_file(side.path())?;
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.push(b'\n');
        }
    }
    bytes.extend_from_slice(lines);
    let mut out = side.create(true)?;
    out.write(&bytes)?;
    out.commit().map(drop)
}
