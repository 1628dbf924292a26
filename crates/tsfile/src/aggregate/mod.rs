//! Count, bounds, sum, first and last point of series over a stretch of time, from statistics where these cover it.
//!
//! A chunk that lies in the stretch as a whole, that no other chunk of its series overlaps, from which nothing is
//! deleted and whose encoding keeps the values answers with its statistics. Of the other chunks the same is asked page
//! by page, and only the pages that are left are decoded.

mod decode;
mod pieces;
mod total;

use std::sync::Arc;

use tesselle_core::{Driver, Error, Location, OpenOptions, Result};
pub use total::Aggregates;

use crate::meta::DataType;
use crate::open::Archive;
use crate::read::assemble::{ColumnData, DeviceData};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Series or devices by their dotted paths; all where it is empty.
    pub series: Vec<String>,
    /// The first time that counts.
    pub from: i64,
    /// The last time that counts.
    pub to: i64,
}

impl Default for Request {
    /// All points of all series.
    fn default() -> Self {
        Self { series: Vec::new(), from: i64::MIN, to: i64::MAX }
    }
}

/// The points of one series in a few numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesAggregates {
    /// The device.
    pub device: String,
    /// The measurement.
    pub measurement: String,
    /// The type of its values.
    pub data_type: DataType,
    /// The numbers.
    pub values: Aggregates,
    /// What they cost.
    pub effort: Effort,
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Chunks of the series that have points in the stretch.
    pub chunks: u64,
    /// Those that answered with their statistics.
    pub chunks_from_statistics: u64,
    /// Pages of other chunks that answered with their statistics.
    pub pages_from_statistics: u64,
    /// Pages that were decoded.
    pub pages_decoded: u64,
    /// Bytes of headers and pages that were fetched.
    pub bytes_fetched: u64,
}

/// The numbers of each series that is asked for, in the order of devices and of the columns in them.
pub fn aggregate(location: &Location, request: &Request, driver: &Driver) -> Result<Vec<SeriesAggregates>> {
    // Values as they are stored: those of statistics are.
    let options = OpenOptions { raw: true, text_as_binary: true, ..OpenOptions::default() };
    let archive = Archive::open(location, &options)?.shared();
    archive.refuse_unreadable()?;
    let mut all = Vec::new();
    for path in archive.devices.keys() {
        if !request.series.is_empty() && !request.series.iter().any(|name| is_of_device(name, path)) {
            continue;
        }
        let data = archive.device(path)?;
        for (at, column) in data.columns.iter().enumerate() {
            let is_named = |name: &String| name == path || is_series(name, path, &column.name);
            if request.series.is_empty() || request.series.iter().any(is_named) {
                all.push(one(&archive, &data, (at, column), (request.from, request.to), driver)?);
            }
        }
    }
    let is_unknown = |name: &&String| {
        let found = |s: &SeriesAggregates| **name == s.device || is_series(name, &s.device, &s.measurement);
        !all.iter().any(found)
    };
    if let Some(name) = request.series.iter().find(is_unknown) {
        let devices = archive.devices.keys().map(String::as_str);
        return Err(Error::unknown_name("series", name, devices).file(location.path()));
    }
    Ok(all)
}

fn is_of_device(name: &str, device: &str) -> bool {
    name.strip_prefix(device).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn is_series(name: &str, device: &str, measurement: &str) -> bool {
    let rest = name.strip_prefix(device).and_then(|rest| rest.strip_prefix('.'));
    rest == Some(measurement)
}

fn one(
    archive: &Arc<Archive>,
    data: &DeviceData,
    (at, column): (usize, &ColumnData),
    range: (i64, i64),
    driver: &Driver,
) -> Result<SeriesAggregates> {
    let mut found = pieces::from_statistics(archive, column, range)?;
    if !found.left.parts().is_empty() {
        let (values, bytes) = decode::stretches(archive, data, at, found.left.parts(), driver)?;
        found.values.merge(values);
        found.effort.bytes_fetched += bytes;
    }
    Ok(SeriesAggregates {
        device: data.path.clone(),
        measurement: column.name.to_string(),
        data_type: column.data_type,
        values: found.values,
        effort: found.effort,
    })
}
