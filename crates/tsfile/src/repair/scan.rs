//! Finds the complete chunk groups of a file without its metadata.
//!
//! The scan goes forward from the header, like the original's recovery. Up to version 2 a footer closes a
//! group; later a group is known to be complete only when the next one, an operation range, the separator or
//! the exact end follows.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use tesselle_core::storage::{MemoryStorage, Storage as _};
use tesselle_core::{Error, Location, Result};

use crate::meta::file_metadata::is_about_encryption;
use crate::meta::schema::MeasurementSchema;
use crate::meta::{DeviceId, FileMetadata, Statistics, Version};
use crate::points;
use crate::read::loaded::Loaded;
use crate::records::{Record, Walker};
use crate::write::output::Output;
use crate::write::tail::{ChunkRecord, DeviceRecord, GroupRecord, Tail};

/// Entries of an index node; the original's default.
const DEGREE: usize = 256;
/// The path of a metadata section in memory.
const TAIL: &str = "tail";

/// The complete groups that a scan found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recovered {
    /// End of the valid data.
    pub(crate) end: u64,
    /// Devices and their groups.
    pub(crate) devices: BTreeMap<DeviceId, DeviceRecord>,
    /// Schemas of measurements, from chunk headers.
    measurements: BTreeMap<String, MeasurementSchema>,
    /// Version records: position and version.
    pub(super) versions: Vec<(u64, i64)>,
    /// Ranges of the records between groups.
    pub(super) between: Vec<Range<u64>>,
    /// Offset of the separator, if the scan reached it.
    pub(super) separator: Option<u64>,
    /// Whether something between the groups was unreadable.
    pub(super) broken: bool,
    groups: i64,
}

/// The reason why a scan ended early.
#[derive(Debug)]
pub(crate) struct Stop {
    /// The unreadable record.
    pub(super) at: u64,
    /// Why it is unreadable.
    pub(super) error: Error,
}

/// A group that is not closed yet.
#[derive(Default)]
struct Open {
    device: Option<DeviceId>,
    start: u64,
    chunks: Vec<(ChunkRecord, MeasurementSchema)>,
    /// The times of each page of the last time chunk.
    times: Vec<Vec<i64>>,
}

impl Recovered {
    /// Starts empty, in data that starts here.
    pub(super) fn from(start: u64) -> Self {
        Self { end: start, ..Self::default() }
    }

    fn close(&mut self, open: &mut Open, device: Option<DeviceId>, end: u64) {
        let group = std::mem::take(open);
        let (Some(device), false) = (device.or(group.device), group.chunks.is_empty()) else {
            return;
        };
        let mut chunks = Vec::with_capacity(group.chunks.len());
        for (chunk, schema) in group.chunks {
            self.measurements.entry(schema.name.clone()).or_insert(schema);
            chunks.push(chunk);
        }
        let record = GroupRecord { start: group.start, end, version: self.groups, chunks };
        self.devices.entry(device).or_default().groups.push(record);
        self.groups += 1;
    }
}

impl Recovered {
    /// Writes the metadata; `known` has the other contents of the file metadata.
    pub(super) fn write_tail(&self, version: Version, known: FileMetadata, out: &mut Output) -> Result<()> {
        let mut measurements = self.measurements.clone();
        for schema in known.measurements {
            match measurements.get_mut(&schema.name) {
                // The types in chunk headers take precedence.
                Some(found) => found.properties = schema.properties,
                None => {
                    measurements.insert(schema.name.clone(), schema);
                }
            }
        }
        let properties = known.properties.into_iter().filter(|(key, _)| !is_about_encryption(key));
        let tail = Tail {
            version,
            devices: &self.devices,
            measurements: if version.is_flat() { measurements.into_values().collect() } else { Vec::new() },
            tables: known.tables,
            versions: self.versions.clone(),
            properties: properties.collect(),
            created_by: known.created_by,
            degree: DEGREE,
        };
        tail.write(out)
    }
}

/// Scans a file for complete chunk groups. Returns what was found and what stopped the scan.
pub(crate) fn scan(location: &Location, version: Version, size: u64) -> Result<(Recovered, Option<Stop>)> {
    let head = version.head().len() as u64;
    let mut found = Recovered::from(head.min(size));
    let stop = scan_on(location, version, head..size, &mut found)?;
    Ok((found, stop))
}

/// Scans a part of a file that starts with a chunk group and adds what it finds.
pub(super) fn scan_on(
    location: &Location,
    version: Version,
    part: Range<u64>,
    found: &mut Recovered,
) -> Result<Option<Stop>> {
    let (head, size) = (version.head().len() as u64, part.end);
    let mut open = Open { start: part.start, ..Open::default() };
    let mut walker = Walker::within(location, version, part);
    loop {
        let stopped = |at: u64, error: Error| Ok(Some(Stop { at, error: error.file(location.path()) }));
        let before = walker.position();
        let (at, record) = match walker.next() {
            Ok(Some(next)) => next,
            Ok(None) => {
                // Up to version 2 a group without its footer is lost; later the exact end closes it.
                if version.is_compact() {
                    found.end = walker.position().max(head).min(size);
                    found.close(&mut open, None, walker.position());
                }
                return Ok(None);
            }
            Err(error) if error.kind() == tesselle_core::ErrorKind::Io => return Err(error),
            Err(error) => return stopped(before, error),
        };
        let end = walker.position();
        match record {
            Record::Chunk(chunk) => {
                if open.chunks.is_empty() && !version.is_compact() {
                    open.start = at;
                }
                if version.is_compact() && open.device.is_none() {
                    return stopped(at, Error::corrupt("a chunk is outside any chunk group").offset(at));
                }
                match measure(&chunk.loaded, version, &mut open.times) {
                    Ok(statistics) => {
                        let header = &chunk.loaded.header;
                        let schema = MeasurementSchema {
                            name: header.measurement.clone(),
                            data_type: header.data_type,
                            encoding: header.encoding,
                            compression: header.compression,
                            properties: Vec::new(),
                        };
                        open.chunks.push((ChunkRecord::new(header, at, statistics), schema));
                    }
                    Err(error) if error.kind() == tesselle_core::ErrorKind::Io => return Err(error),
                    Err(error) => return stopped(at, error),
                }
            }
            Record::GroupFooter(footer) => {
                let fits = footer.chunks as usize == open.chunks.len()
                    && footer.data_size == at - open.start.min(at);
                if !fits || open.chunks.is_empty() {
                    let error =
                        Error::corrupt("a footer does not fit the chunks before it").class("bad_footer");
                    return stopped(at, error.offset(at));
                }
                found.close(&mut open, Some(footer.device), end);
                found.end = end;
                open.start = end;
            }
            Record::GroupHeader(device) => {
                found.close(&mut open, None, at);
                found.end = at;
                open = Open { device: Some(device), start: at, ..Open::default() };
            }
            Record::Version(number) => {
                found.versions.push((at, number));
                found.between.push(at..end);
                if open.chunks.is_empty() {
                    found.end = end;
                    open.start = end;
                }
            }
            Record::OperationRange(..) => {
                found.close(&mut open, None, at);
                found.between.push(at..end);
                found.end = end;
            }
            Record::Separator => {
                found.separator = Some(at);
                if version.is_compact() {
                    found.close(&mut open, None, at);
                    found.end = at;
                } else if open.chunks.is_empty() {
                    found.end = at;
                }
                return Ok(None);
            }
        }
    }
}

/// The metadata section that closes the complete groups of an incomplete file, as it would be at their end.
pub(crate) fn tail_of(version: Version, found: &Recovered) -> Result<Bytes> {
    let storage = MemoryStorage::new();
    let mut out = Output::at(storage.create(TAIL)?, found.end);
    found.write_tail(version, FileMetadata::default(), &mut out)?;
    out.commit()?;
    storage.get(TAIL).ok_or_else(|| Error::internal("a metadata section was written and is missing"))
}

/// The statistics of a chunk: from its page headers if they have them, otherwise decoded. `times` keeps the
/// pages of the last time column for the columns that follow it.
fn measure(loaded: &Loaded, version: Version, times: &mut Vec<Vec<i64>>) -> Result<Statistics> {
    let data_type = loaded.header.data_type;
    let mut total = Statistics::default();
    if loaded.header.is_time_column() {
        times.clear();
    }
    for number in 0..loaded.pages.len() {
        let own = loaded.pages.get(number).and_then(|page| page.header.statistics.as_ref());
        let decoded = if own.is_none() || loaded.header.is_time_column() {
            Some(points::decode(loaded, number, version, times.get(number).map(Vec::as_slice), None)?)
        } else {
            None
        };
        let statistics = match (own, &decoded) {
            (Some(own), _) => own.clone(),
            (None, Some(points)) => points.statistics(data_type, version),
            (None, None) => Statistics::default(),
        };
        total.merge(&statistics, version);
        if let (true, Some(points)) = (loaded.header.is_time_column(), decoded) {
            times.push(points.times);
        }
    }
    Ok(total)
}
