//! Saving an incomplete file: every whole chunk group, and a new tail behind them.
//!
//! The scan goes forward from the header, as the original's recovery does. Up to version 2 a footer closes a group;
//! later a group is known whole only when the next one, an operation range, the separator or the exact end follows.

use crate::meta::schema::MeasurementSchema;
use crate::meta::{DeviceId, FileMetadata, Statistics, Version};
use crate::points;
use crate::read::file::File;
use crate::read::loaded::Loaded;
use crate::walk::{Record, Walker};
use crate::write::output::Output;
use crate::write::tail::{ChunkRecord, DeviceRecord, GroupRecord, Tail};
use bytes::Bytes;
use std::collections::BTreeMap;
use tesselle_core::storage::{MemoryStorage, Storage as _};
use tesselle_core::{Error, Limits, Location, Repaired, Result};

/// Entries of an index node, as the original writes by default.
const DEGREE: usize = 256;
/// Bytes copied at a time.
const COPY: u64 = 8 << 20;
/// The name of a tail in memory.
const TAIL: &str = "tail";

/// What a scan found whole.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    /// Where valid data ends.
    pub(crate) end: u64,
    /// Devices and their groups.
    pub(crate) devices: BTreeMap<DeviceId, DeviceRecord>,
    /// What the headers say about measurements.
    measurements: BTreeMap<String, MeasurementSchema>,
    /// Version records: position and version.
    versions: Vec<(u64, i64)>,
    groups: i64,
}

/// A group in the making.
#[derive(Default)]
struct Open {
    device: Option<DeviceId>,
    start: u64,
    chunks: Vec<(ChunkRecord, MeasurementSchema)>,
    /// The times of each page of the last time chunk.
    times: Vec<Vec<i64>>,
}

impl Recovered {
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
    /// Writes the tail; `known` is what the metadata of a whole file says besides.
    fn write_tail(&self, version: Version, known: FileMetadata, out: &mut Output) -> Result<()> {
        let mut measurements = self.measurements.clone();
        for schema in known.measurements {
            measurements.insert(schema.name.clone(), schema);
        }
        let properties = known.properties.into_iter().filter(|(key, _)| !key.starts_with("encrypt"));
        let tail = Tail {
            version,
            devices: &self.devices,
            measurements: if version.is_flat() { measurements.into_values().collect() } else { Vec::new() },
            tables: known.tables,
            versions: self.versions.clone(),
            properties: properties.collect(),
            degree: DEGREE,
        };
        tail.write(out)
    }
}

/// Scans a file for whole chunk groups. What stops the scan is given back with what was found before.
pub(crate) fn scan(location: &Location, version: Version, size: u64) -> Result<(Recovered, Option<Error>)> {
    let head = version.head().len() as u64;
    let mut found = Recovered { end: head.min(size), ..Recovered::default() };
    let mut open = Open { start: head, ..Open::default() };
    let mut walker = Walker::new(location, version, size);
    loop {
        let (at, record) = match walker.next() {
            Ok(Some(next)) => next,
            Ok(None) => {
                // Up to version 2 a group without its footer is lost; later the exact end closes it.
                if version.is_compact() {
                    found.end = walker.position().max(head).min(size);
                    found.close(&mut open, None, walker.position());
                }
                return Ok((found, None));
            }
            Err(error) if error.kind() == tesselle_core::ErrorKind::Io => return Err(error),
            Err(error) => return Ok((found, Some(error))),
        };
        let end = walker.position();
        match record {
            Record::Chunk(chunk) => {
                if open.chunks.is_empty() && !version.is_compact() {
                    open.start = at;
                }
                if version.is_compact() && open.device.is_none() {
                    return Ok((found, Some(Error::corrupt("a chunk stands outside a group").offset(at))));
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
                    Err(error) => return Ok((found, Some(error))),
                }
            }
            Record::GroupFooter(footer) => {
                let fits = footer.chunks as usize == open.chunks.len()
                    && footer.data_size == at - open.start.min(at);
                if !fits || open.chunks.is_empty() {
                    let error =
                        Error::corrupt("a footer does not fit the chunks before it").class("bad_footer");
                    return Ok((found, Some(error.offset(at))));
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
                if open.chunks.is_empty() {
                    found.end = end;
                    open.start = end;
                }
            }
            Record::OperationRange(..) => {
                found.close(&mut open, None, at);
                found.end = end;
            }
            Record::Separator => {
                if version.is_compact() {
                    found.close(&mut open, None, at);
                    found.end = at;
                } else if open.chunks.is_empty() {
                    found.end = at;
                }
                return Ok((found, None));
            }
        }
    }
}

/// The tail that closes the whole groups of an incomplete file, as it would stand at their end.
pub(crate) fn tail_of(version: Version, found: &Recovered) -> Result<Bytes> {
    let storage = MemoryStorage::new();
    let mut out = Output::at(storage.create(TAIL)?, found.end);
    found.write_tail(version, FileMetadata::default(), &mut out)?;
    out.commit()?;
    storage.get(TAIL).ok_or_else(|| Error::internal("a tail was written and is gone"))
}

/// The statistics of a chunk: its page headers' where they have them, else decoded. `times` remembers the pages of the
/// last time column for the columns that follow it.
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

/// Writes what can be saved of `source` to `target`.
pub(crate) fn repair(source: &Location, target: &Location, limits: &Limits) -> Result<Repaired> {
    let size = source.size()?;
    let head = source.read_range(0..size.min(12))?;
    let version = Version::recognise(&head).map_err(|e| e.file(source.path()))?;
    let (found, stopped) = scan(source, version, size)?;
    let mut notes = Vec::new();
    // A whole file keeps what only its metadata knows; its scan ends at the separator.
    let metadata = File::open(source, size, limits).ok().map(|file| file.metadata);
    if metadata.is_some() {
        notes.push("the file is whole; its tail was written anew".to_string());
    }
    if let Some(error) = stopped {
        notes.push(format!("the scan stopped: {error}"));
    }
    let groups: usize = found.devices.values().map(|d| d.groups.len()).sum();
    notes.push(format!("{groups} whole chunk groups of {} devices", found.devices.len()));
    write(source, target, version, &found, metadata.unwrap_or_default())?;
    Ok(Repaired { kept_bytes: found.end, dropped_bytes: size.saturating_sub(found.end), notes })
}

fn write(
    source: &Location,
    target: &Location,
    version: Version,
    found: &Recovered,
    known: FileMetadata,
) -> Result<()> {
    let head = version.head();
    let mut out = Output::new(target.storage().create(target.path())?);
    out.buffer().extend_from_slice(head);
    let mut at = head.len() as u64;
    while at < found.end {
        let stop = found.end.min(at + COPY);
        out.buffer().extend_from_slice(&source.read_range(at..stop)?);
        out.spill()?;
        at = stop;
    }
    found.write_tail(version, known, &mut out)?;
    out.commit()?;
    Ok(())
}
