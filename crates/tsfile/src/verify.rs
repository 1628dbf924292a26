//! Health of an archive at three depths: structure; records and page headers; every value and statistic.

use crate::archive::{Archive, ArchiveFile};
use crate::legacy;
use crate::meta::schema::Category;
use crate::meta::{Statistics, Sum, Value};
use crate::points;
use crate::read::file::{Device, Series, is_separator};
use crate::walk::{Record, WalkedChunk, Walker};
use std::collections::HashMap;
use tesselle_core::{Depth, Driver, Error, Finding, Report, Result, Severity};

/// Checks every file of an archive.
pub(crate) fn verify(archive: &Archive, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
    for entry in &archive.files {
        let mut check = Check { entry, depth, report, known: HashMap::new() };
        check.structure();
        if depth > Depth::Quick {
            check.data(driver)?;
        }
    }
    Ok(())
}

/// What the metadata says about a chunk.
struct KnownChunk {
    path: String,
    series: String,
    data_type: crate::meta::DataType,
    statistics: Statistics,
    met: bool,
}

struct Check<'a> {
    entry: &'a ArchiveFile,
    depth: Depth,
    report: &'a mut Report,
    known: HashMap<u64, KnownChunk>,
}

impl Check<'_> {
    fn add(
        &mut self,
        severity: Severity,
        kind: &'static str,
        offset: u64,
        piece: &str,
        message: impl Into<String>,
    ) {
        let finding =
            Finding::new(severity, kind, message).file(&self.entry.label).offset(offset).piece(piece);
        self.report.add(finding);
    }

    fn error(&mut self, error: &Error) {
        let mut finding = Finding::from_error(error.class_name(), error);
        finding.file = Some(self.entry.label.clone());
        self.report.add(finding);
    }

    /// What the metadata alone can tell.
    fn structure(&mut self) {
        let file = &self.entry.file;
        if file.recovered {
            let text = "the file was not closed; only its whole chunk groups are read";
            self.add(Severity::Warning, "incomplete", file.data_end, "tail", text);
        }
        if !is_separator(file.separator()) {
            self.add(
                Severity::Error,
                "bad_marker",
                file.data_end,
                "separator",
                "the data does not end with a separator",
            );
        }
        let mut chunks = 0_u64;
        for device in &file.devices {
            let series = match file.series(device) {
                Ok(series) => series,
                Err(error) => {
                    self.error(&error);
                    continue;
                }
            };
            chunks += series.iter().map(|s| s.chunks.len() as u64).sum::<u64>();
            for one in &series {
                self.series(device, one);
            }
            if file.version.is_flat() {
                self.flat_device(device);
            }
        }
        if let Some((total, invalid)) = file.metadata.chunk_counts
            && u64::from(total) != chunks + u64::from(invalid)
        {
            let text =
                format!("the file states {total} chunks, {invalid} of them invalid, and lists {chunks}");
            self.add(Severity::Warning, "chunk_count", file.metadata_start, "file metadata", text);
        }
    }

    /// The strings under which a series may stand in the bloom filter: one library keeps the trailing null tags of a
    /// device, which do not count otherwise.
    fn filter_paths(&self, device: &Device, series: &Series) -> Vec<String> {
        let table = device.table.and_then(|t| self.entry.file.metadata.tables.get(t));
        let tags = table.map_or(0, |t| t.columns.iter().filter(|(_, c)| *c == Category::Tag).count());
        let missing = (tags + 1).saturating_sub(device.id.segments().len());
        (0..=missing).map(|n| format!("{}{}.{}", device.path, ".null".repeat(n), series.name)).collect()
    }

    fn series(&mut self, device: &Device, series: &Series) {
        let file = &self.entry.file;
        let path = &device.path;
        let full = format!("{path}.{}", series.name);
        let strings = self.filter_paths(device, series);
        if file.metadata.bloom.as_ref().is_some_and(|bloom| !strings.iter().any(|s| bloom.may_contain(s))) {
            let text = "the bloom filter does not hold this series";
            self.add(Severity::Error, "bloom_filter", file.metadata_start, &format!("'{full}'"), text);
        }
        let mut merged = Statistics::default();
        for chunk in &series.chunks {
            merged.merge(&chunk.statistics, file.version);
            let known = KnownChunk {
                path: path.clone(),
                series: series.name.clone(),
                data_type: series.data_type,
                statistics: chunk.statistics.clone(),
                met: false,
            };
            if self.known.insert(chunk.offset, known).is_some() {
                let text = "two chunks are said to start here";
                self.add(Severity::Error, "duplicate_chunk", chunk.offset, &format!("'{full}'"), text);
            }
        }
        if let Some(stated) = &series.statistics
            && let Some(text) = difference(stated, &merged, Compare::Merged)
        {
            let text = format!("the statistics of the series are not those of its chunks: {text}");
            self.add(Severity::Error, "series_statistics", file.metadata_start, &format!("'{full}'"), text);
        }
    }

    /// The times that 0.8 and 000001 keep per device, twice.
    fn flat_device(&mut self, device: &Device) {
        let file = &self.entry.file;
        let Ok(metadata) = legacy::device_metadata(file, device) else { return };
        let piece = format!("device '{}'", device.path);
        let listed = file.metadata.devices.iter().find(|d| d.device == device.path);
        if listed.is_some_and(|d| (d.start_time, d.end_time) != (metadata.start_time, metadata.end_time)) {
            let text = "the times of a device differ between its own and the file's metadata";
            self.add(Severity::Error, "device_times", device.place.0, &piece, text);
        }
        let chunks = || metadata.groups.iter().flat_map(|g| &g.chunks);
        let start = chunks().map(|c| c.statistics.start_time).min();
        let end = chunks().map(|c| c.statistics.end_time).max();
        if start.is_some_and(|t| t != metadata.start_time) || end.is_some_and(|t| t != metadata.end_time) {
            let text = "the times of a device are not those of its chunks";
            self.add(Severity::Error, "device_times", device.place.0, &piece, text);
        }
        for group in &metadata.groups {
            let inside = |offset: u64| (group.start_offset..group.end_offset).contains(&offset);
            if group.device != device.path || !group.chunks.iter().all(|c| inside(c.offset)) {
                let text = "a chunk group does not hold the chunks that are listed for it";
                self.add(Severity::Error, "chunk_group", group.start_offset, &piece, text);
            }
        }
    }

    /// Walks the data section and compares it with the metadata.
    fn data(&mut self, driver: &Driver) -> Result<()> {
        let file = &self.entry.file;
        let mut walker = Walker::new(&self.entry.location, file.version, file.data_end);
        let mut group = GroupState { start: walker.position(), ..GroupState::default() };
        loop {
            driver.check_canceled()?;
            let (at, record) = match walker.next() {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(error) if error.kind() == tesselle_core::ErrorKind::Io => return Err(error),
                Err(error) => {
                    self.error(&error);
                    break;
                }
            };
            match record {
                Record::Chunk(chunk) => {
                    group.chunks += 1;
                    self.chunk(at, &chunk, &mut group);
                }
                Record::GroupFooter(footer) => {
                    let piece = format!("chunk group of '{}'", footer.device.path());
                    if footer.chunks != group.chunks || footer.data_size != at - group.start.min(at) {
                        let text = format!(
                            "a footer states {} chunks in {} bytes; there are {} in {}",
                            footer.chunks,
                            footer.data_size,
                            group.chunks,
                            at - group.start.min(at)
                        );
                        self.add(Severity::Error, "bad_footer", at, &piece, text);
                    }
                    self.group_device(&group, &footer.device.path());
                    group = GroupState { start: walker.position(), ..GroupState::default() };
                }
                Record::GroupHeader(device) => {
                    group = GroupState { start: at, device: Some(device.path()), ..GroupState::default() };
                }
                Record::Version(_) => group.start = walker.position(),
                Record::OperationRange(..) => {}
                Record::Separator => {
                    let text = "a separator stands before the end of the data";
                    self.add(Severity::Error, "bad_marker", at, "separator", text);
                    break;
                }
            }
        }
        let mut missing: Vec<(u64, String)> = Vec::new();
        for (offset, known) in &self.known {
            // One library lists series without a point at places where others' chunks are.
            if !known.met && known.statistics.count > 0 {
                missing.push((*offset, format!("'{}.{}'", known.path, known.series)));
            }
        }
        missing.sort();
        for (offset, piece) in missing {
            self.add(
                Severity::Error,
                "bad_offset",
                offset,
                &piece,
                "no chunk starts where the metadata says",
            );
        }
        Ok(())
    }

    /// Up to version 2 a group names its device only at its end.
    fn group_device(&mut self, group: &GroupState, device: &str) {
        for offset in &group.offsets {
            if let Some(path) = self.known.get(offset).map(|k| k.path.clone()).filter(|path| path != device) {
                let text = format!("a chunk of '{device}' is listed under '{path}'");
                self.add(Severity::Error, "bad_chunk", *offset, &format!("device '{device}'"), text);
            }
        }
    }

    fn chunk(&mut self, at: u64, chunk: &WalkedChunk, group: &mut GroupState) {
        let header = &chunk.loaded.header;
        let version = self.entry.file.version;
        group.offsets.push(at);
        let known = self.known.get_mut(&at).map(|known| {
            known.met = true;
            (known.path.clone(), known.series.clone(), known.data_type, known.statistics.clone())
        });
        let Some((path, series, data_type, stated)) = known else {
            if header.data_size > 0 {
                let text =
                    format!("a chunk of '{}' is not in the metadata", header.measurement.escape_debug());
                self.add(Severity::Warning, "unlisted_chunk", at, "chunk", text);
            }
            if header.is_time_column() {
                self.decode(at, "chunk", chunk, None, group);
            }
            return;
        };
        let piece = format!("'{path}.{series}', chunk at {at}");
        if header.measurement != series || header.data_type != data_type {
            let text = format!(
                "the chunk is one of '{}' ({})",
                header.measurement.escape_debug(),
                header.data_type.name()
            );
            self.add(Severity::Error, "bad_chunk", at, &piece, text);
            return;
        }
        if group.device.as_ref().is_some_and(|device| *device != path) {
            let text =
                format!("the chunk stands in a group of '{}'", group.device.clone().unwrap_or_default());
            self.add(Severity::Error, "bad_chunk", at, &piece, text);
        }
        let mut merged = Statistics::default();
        let pages = chunk.loaded.pages.iter();
        for page in pages.clone().filter_map(|p| p.header.statistics.as_ref()) {
            merged.merge(page, version);
        }
        let all = pages.clone().all(|p| p.header.statistics.is_some() || p.header.uncompressed_size == 0);
        if all
            && chunk.loaded.pages.iter().any(|p| p.header.statistics.is_some())
            && let Some(text) = difference(&stated, &merged, Compare::Merged)
        {
            let text = format!("the statistics of the chunk are not those of its pages: {text}");
            self.add(Severity::Error, "chunk_statistics", at, &piece, text);
        }
        self.decode(at, &piece, chunk, Some(&stated), group);
    }

    /// Decodes all pages (at the middle depth the first one) and compares their statistics.
    fn decode(
        &mut self,
        at: u64,
        piece: &str,
        chunk: &WalkedChunk,
        stated: Option<&Statistics>,
        group: &mut GroupState,
    ) {
        let version = self.entry.file.version;
        if self.entry.file.is_encrypted() {
            return;
        }
        let header = &chunk.loaded.header;
        let time_column = header.is_time_column();
        if time_column {
            group.times.clear();
        }
        let count = chunk.loaded.pages.len();
        let sample = if self.depth == Depth::Deep || time_column { count } else { count.min(1) };
        for (number, page) in chunk.loaded.pages.iter().enumerate().take(sample) {
            self.report.pieces += 1;
            let place = format!("{piece}, page {number}");
            let alone = if count == 1 { stated } else { None };
            let expected = page.header.statistics.as_ref().or(alone);
            let times = group.times.get(number).map(Vec::as_slice);
            let points = match points::decode(&chunk.loaded, number, version, times, expected) {
                Ok(points) => points,
                Err(error) => {
                    self.error(&error.offset(page.offset).piece(place));
                    continue;
                }
            };
            let found = points.statistics(header.data_type, version);
            let compare =
                if header.encoding.is_lossy(header.data_type) { Compare::Times } else { Compare::Decoded };
            if let Some(text) = expected.and_then(|expected| difference(expected, &found, compare)) {
                self.add(
                    Severity::Error,
                    "page_statistics",
                    page.offset,
                    &place,
                    format!("the statistics of a page are not those of its points: {text}"),
                );
            }
            if !version.is_flat() && points.times.windows(2).any(|pair| pair[0] >= pair[1]) {
                self.add(
                    Severity::Warning,
                    "time_order",
                    page.offset,
                    &place,
                    "the times of a page do not ascend",
                );
            }
            if time_column {
                group.times.push(points.times);
            }
        }
        let _ = at;
    }
}

/// Where a walk is inside a chunk group.
#[derive(Default)]
struct GroupState {
    start: u64,
    device: Option<String>,
    chunks: u32,
    offsets: Vec<u64>,
    times: Vec<Vec<i64>>,
}

/// How statistics are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compare {
    /// Stated ones with others that were merged: all fields.
    Merged,
    /// Stated ones with decoded values: all fields.
    Decoded,
    /// Count and times: the encoding does not keep values exactly.
    Times,
}

/// What differs, in words. Fields that either side lacks are not compared.
fn difference(stated: &Statistics, found: &Statistics, compare: Compare) -> Option<String> {
    if stated.count != found.count {
        return Some(format!("count {} and {}", stated.count, found.count));
    }
    if stated.count == 0 {
        return None;
    }
    let times = |s: &Statistics| (s.start_time, s.end_time);
    if times(stated) != times(found) {
        return Some(format!("times {:?} and {:?}", times(stated), times(found)));
    }
    if compare == Compare::Times {
        return None;
    }
    let fields = [
        ("min", &stated.min, &found.min),
        ("max", &stated.max, &found.max),
        ("first", &stated.first, &found.first),
        ("last", &stated.last, &found.last),
    ];
    for (name, a, b) in fields {
        if let (Some(a), Some(b)) = (a, b)
            && !is_equal(a, b)
        {
            return Some(format!("{name} {} and {}", a.to_json(), b.to_json()));
        }
    }
    match (stated.sum, found.sum) {
        (Some(Sum::Integer(a)), Some(Sum::Integer(b))) if a != b => Some(format!("sum {a} and {b}")),
        (Some(Sum::Float(a)), Some(Sum::Float(b))) if !is_near(a, b) => Some(format!("sum {a:?} and {b:?}")),
        _ => None,
    }
}

/// Zeros of either sign are one value to the comparisons that made the statistics.
fn is_equal(a: &Value, b: &Value) -> bool {
    a.is_same(b) || a.compare(b, crate::meta::Version::V4) == Some(std::cmp::Ordering::Equal)
}

/// Sums depend on the order of addition.
fn is_near(a: f64, b: f64) -> bool {
    a == b
        || (a.is_nan() && b.is_nan())
        || (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
        || a.is_infinite()
        || b.is_infinite()
}
