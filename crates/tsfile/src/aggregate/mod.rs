//! Count, bounds, sum, first and last point of series over a time range, from statistics where they cover it.
//!
//! A chunk is answered by its statistics if the time range contains it, no other chunk of its series overlaps
//! it, no point of it is deleted and its encoding is lossless. The other chunks are checked the same way page
//! by page, and only the remaining pages are decoded.

mod decode;
mod spans;
mod total;

use std::sync::Arc;

use tesselle_core::{Driver, Error, Location, OpenOptions, Result};
pub use total::Aggregates;

use crate::meta::DataType;
use crate::open::Archive;
use crate::read::device_data::{ColumnData, DeviceData};

/// An aggregate query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Series or devices by their dotted paths; empty for all.
    pub series: Vec<String>,
    /// The first time of the range.
    pub from: i64,
    /// The last time of the range, inclusive.
    pub to: i64,
}

impl Default for Request {
    /// All points of all series.
    fn default() -> Self {
        Self { series: Vec::new(), from: i64::MIN, to: i64::MAX }
    }
}

/// Aggregates of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesAggregates {
    /// The device.
    pub device: String,
    /// The measurement.
    pub measurement: String,
    /// The type of its values.
    pub data_type: DataType,
    /// The aggregates.
    pub values: Aggregates,
    /// The work done.
    pub effort: Effort,
}

/// The work that a query took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Chunks of the series with points in the time range.
    pub chunks: u64,
    /// Chunks answered by their statistics.
    pub chunks_from_statistics: u64,
    /// Pages of other chunks answered by their statistics.
    pub pages_from_statistics: u64,
    /// Pages decoded.
    pub pages_decoded: u64,
    /// Bytes of headers and pages fetched.
    pub bytes_fetched: u64,
}

/// Computes the aggregates of each requested series, in the order of devices and of their columns.
pub fn aggregate(location: &Location, request: &Request, driver: &Driver) -> Result<Vec<SeriesAggregates>> {
    // Use stored values, as statistics do.
    let options = OpenOptions::default().with_raw(true).with_text_as_binary(true);
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
    let mut found = spans::from_statistics(archive, column, range)?;
    if !found.left.parts().is_empty() {
        let (values, bytes) = decode::time_ranges(archive, data, at, found.left.parts(), driver)?;
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
