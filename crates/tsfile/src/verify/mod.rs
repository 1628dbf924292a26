//! Verification of an archive at three depths: structure; records and page headers; every value and
//! statistic.

mod compare;
pub(crate) mod pages;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use compare::{Compare, difference};
use tesselle_core::{Depth, Driver, Error, Finding, Report, Result, Severity};

use crate::legacy;
use crate::meta::schema::Category;
use crate::meta::{BloomFilter, ChunkHeader, Compression, DataType, Encoding, Statistics};
use crate::open::{Archive, ArchiveFile};
use crate::read::file::{Device, Series, is_separator};
use crate::records::{Record, WalkedChunk, Walker};

/// Checks every file of an archive.
pub(crate) fn verify(archive: &Archive, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
    for entry in &archive.files {
        let mut check =
            Check { entry, depth, report, known: HashMap::new(), waiting: Vec::new(), waiting_bytes: 0 };
        check.structure();
        if depth > Depth::Quick {
            check.data(driver)?;
        }
    }
    Ok(())
}

/// The metadata entry of a chunk.
struct KnownChunk {
    path: String,
    series: String,
    data_type: DataType,
    statistics: Statistics,
    met: bool,
}

struct Check<'a> {
    entry: &'a ArchiveFile,
    depth: Depth,
    report: &'a mut Report,
    known: HashMap<u64, KnownChunk>,
    /// Chunks to decode together.
    waiting: Vec<pages::Waiting>,
    waiting_bytes: u64,
}

/// Chunks are collected up to this many bytes.
const WAITING_BYTES: u64 = 16 << 20;
/// Or up to this many chunks.
const WAITING_CHUNKS: usize = 1024;

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

    /// Checks the metadata alone.
    fn structure(&mut self) {
        let file = &self.entry.file;
        if file.recovered {
            let message = "the file was not closed; only its complete chunk groups are read";
            self.add(Severity::Warning, "incomplete", file.data_end, "tail", message);
        }
        if let Some(offset) = self.entry.torn_deletion {
            let message = "the deletion file is cut off inside its last deletion, which is ignored";
            let finding = Finding::new(Severity::Warning, "torn_deletion", message);
            let side = format!("{}.mods2", self.entry.label);
            self.report.add(finding.file(side).offset(offset).piece("deletions"));
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
        for table in &file.metadata.tables {
            for (column, category) in &table.columns {
                if *category == Category::Tag && !is_string(column.data_type) {
                    let message =
                        format!("a tag is declared as {}; tags are strings", column.data_type.name());
                    let piece = format!("'{}.{}'", table.name, column.name);
                    self.add(Severity::Error, "table_schema", file.metadata_start, &piece, message);
                }
            }
        }
        for (key, name) in &file.metadata.misnamed {
            let message = format!("the schema of a measurement is listed as '{}'", key.escape_debug());
            let piece = format!("measurement '{}'", name.escape_debug());
            self.add(Severity::Error, "measurement_schema", file.metadata_start, &piece, message);
        }
        let mut expected = file.metadata.bloom.as_ref().map(BloomFilter::cleared);
        let mut chunks = 0_u64;
        for device in &file.devices {
            let series = match file.series(device) {
                Ok(series) => series,
                Err(error) => {
                    self.error(&error);
                    expected = None;
                    continue;
                }
            };
            for one in &series {
                let paths = self.filter_paths(device, one);
                if let Some(filter) = &mut expected {
                    for path in &paths {
                        filter.insert(path);
                    }
                }
            }
            chunks += series.iter().map(|s| s.chunks.len() as u64).sum::<u64>();
            for one in &series {
                self.series(device, one);
            }
            if file.version.is_flat() {
                self.flat_device(device);
            }
        }
        if let (Some(bloom), Some(expected)) = (&file.metadata.bloom, expected) {
            let surplus = bloom.surplus(&expected);
            if surplus > 0 {
                let message = format!("{surplus} bits of the bloom filter belong to no series of this file");
                self.add(Severity::Error, "bloom_filter", file.metadata_start, "bloom filter", message);
            }
        }
        if let Some((total, invalid)) = file.metadata.chunk_counts
            && u64::from(total) != chunks + u64::from(invalid)
        {
            let message =
                format!("the file states {total} chunks, {invalid} of them invalid, and lists {chunks}");
            self.add(Severity::Warning, "chunk_count", file.metadata_start, "file metadata", message);
        }
    }

    /// The strings under which the bloom filter may contain a series: one library keeps the trailing null
    /// tags of a device, which are otherwise ignored.
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
            let message = "the bloom filter does not contain this series";
            self.add(Severity::Error, "bloom_filter", file.metadata_start, &format!("'{full}'"), message);
        }
        let table = device.table.and_then(|t| file.metadata.tables.get(t));
        let column = table.and_then(|t| t.columns.iter().find(|(column, _)| column.name == series.name));
        if let Some((column, _)) = column.filter(|(column, _)| column.data_type != series.data_type) {
            let message = format!(
                "the table declares {}, the series has {}",
                column.data_type.name(),
                series.data_type.name()
            );
            self.add(Severity::Error, "table_schema", file.metadata_start, &format!("'{full}'"), message);
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
                let message = "the metadata lists two chunks at this offset";
                self.add(Severity::Error, "duplicate_chunk", chunk.offset, &format!("'{full}'"), message);
            }
        }
        if let Some(stated) = &series.statistics
            && let Some(message) = difference(stated, &merged, Compare::Merged)
        {
            let message = format!("the statistics of the series differ from those of its chunks: {message}");
            self.add(
                Severity::Error,
                "series_statistics",
                file.metadata_start,
                &format!("'{full}'"),
                message,
            );
        }
    }

    /// Checks the times that 0.8 and 000001 store per device, twice.
    fn flat_device(&mut self, device: &Device) {
        let file = &self.entry.file;
        let Ok(metadata) = legacy::device_metadata(file, device) else { return };
        let piece = format!("device '{}'", device.path);
        let listed = file.metadata.devices.iter().find(|d| d.device == device.path);
        if listed.is_some_and(|d| (d.start_time, d.end_time) != (metadata.start_time, metadata.end_time)) {
            let message = "the times of a device differ between its own and the file's metadata";
            self.add(Severity::Error, "device_times", device.place.0, &piece, message);
        }
        let chunks = || metadata.groups.iter().flat_map(|g| &g.chunks);
        let start = chunks().map(|c| c.statistics.start_time).min();
        let end = chunks().map(|c| c.statistics.end_time).max();
        if start.is_some_and(|t| t != metadata.start_time) || end.is_some_and(|t| t != metadata.end_time) {
            let message = "the times of a device differ from those of its chunks";
            self.add(Severity::Error, "device_times", device.place.0, &piece, message);
        }
        for group in &metadata.groups {
            let inside = |offset: u64| (group.start_offset..group.end_offset).contains(&offset);
            if group.device != device.path || !group.chunks.iter().all(|c| inside(c.offset)) {
                let message = "a chunk group does not contain the chunks listed for it";
                self.add(Severity::Error, "chunk_group", group.start_offset, &piece, message);
            }
        }
    }

    /// Walks the data section and compares it with the metadata.
    fn data(&mut self, driver: &Driver) -> Result<()> {
        let file = &self.entry.file;
        let mut walker = Walker::new(&self.entry.location, file.version, file.data_end);
        let mut group = GroupState { start: walker.position(), ..GroupState::default() };
        let mut done = walker.position();
        driver.progress().expect(file.data_end.saturating_sub(done));
        loop {
            driver.check_canceled()?;
            driver.progress().advance(walker.position().min(file.data_end).saturating_sub(done));
            done = done.max(walker.position());
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
                    self.chunk(at, chunk, &mut group, driver)?;
                }
                Record::GroupFooter(footer) => {
                    let piece = format!("chunk group of '{}'", footer.device.path());
                    if footer.chunks != group.chunks || footer.data_size != at - group.start.min(at) {
                        let message = format!(
                            "a footer states {} chunks in {} bytes; found {} in {}",
                            footer.chunks,
                            footer.data_size,
                            group.chunks,
                            at - group.start.min(at)
                        );
                        self.add(Severity::Error, "bad_footer", at, &piece, message);
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
                    let message = "there is a separator before the end of the data";
                    self.add(Severity::Error, "bad_marker", at, "separator", message);
                    break;
                }
            }
        }
        self.decode_waiting(driver)?;
        driver.progress().advance(file.data_end.saturating_sub(done));
        let mut missing: Vec<(u64, String)> = Vec::new();
        for (offset, known) in &self.known {
            // One library lists empty series at the offsets of other series' chunks.
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
                "the metadata lists a chunk at an offset where none starts",
            );
        }
        Ok(())
    }

    /// Up to version 2 a group names its device only at its end.
    fn group_device(&mut self, group: &GroupState, device: &str) {
        for offset in &group.offsets {
            if let Some(path) = self.known.get(offset).map(|k| k.path.clone()).filter(|path| path != device) {
                let message = format!("a chunk of '{device}' is listed under '{path}'");
                self.add(Severity::Error, "bad_chunk", *offset, &format!("device '{device}'"), message);
            }
        }
    }

    fn chunk(
        &mut self,
        at: u64,
        chunk: Box<WalkedChunk>,
        group: &mut GroupState,
        driver: &Driver,
    ) -> Result<()> {
        let header = &chunk.loaded.header.clone();
        let version = self.entry.file.version;
        group.offsets.push(at);
        let known = self.known.get_mut(&at).map(|known| {
            known.met = true;
            (known.path.clone(), known.series.clone(), known.data_type, known.statistics.clone())
        });
        let Some((path, series, data_type, stated)) = known else {
            if header.data_size > 0 {
                let message =
                    format!("a chunk of '{}' is not in the metadata", header.measurement.escape_debug());
                self.add(Severity::Warning, "unlisted_chunk", at, "chunk", message);
            }
            if header.is_time_column() {
                self.decode("chunk".to_string(), chunk, None, group, driver)?;
            }
            return Ok(());
        };
        let piece = format!("'{path}.{series}', chunk at {at}");
        if header.measurement != series || header.data_type != data_type {
            let message = format!(
                "the chunk belongs to '{}' ({})",
                header.measurement.escape_debug(),
                header.data_type.name()
            );
            self.add(Severity::Error, "bad_chunk", at, &piece, message);
            return Ok(());
        }
        self.measurement(at, &piece, header);
        if group.device.as_ref().is_some_and(|device| *device != path) {
            let message =
                format!("the chunk is in a chunk group of '{}'", group.device.clone().unwrap_or_default());
            self.add(Severity::Error, "bad_chunk", at, &piece, message);
        }
        let mut merged = Statistics::default();
        let pages = chunk.loaded.pages.iter();
        for page in pages.clone().filter_map(|p| p.header.statistics.as_ref()) {
            merged.merge(page, version);
        }
        let all = pages.clone().all(|p| p.header.statistics.is_some() || p.header.uncompressed_size == 0);
        if all
            && chunk.loaded.pages.iter().any(|p| p.header.statistics.is_some())
            && let Some(message) = difference(&stated, &merged, Compare::Merged)
        {
            let message = format!("the statistics of the chunk differ from those of its pages: {message}");
            self.add(Severity::Error, "chunk_statistics", at, &piece, message);
        }
        self.decode(piece, chunk, Some(stated), group, driver)
    }

    /// Compares a chunk with the measurement schema of 0.8 and 000001.
    fn measurement(&mut self, at: u64, piece: &str, header: &ChunkHeader) {
        let file = &self.entry.file;
        if !file.version.is_flat() {
            return;
        }
        let declared = file.metadata.measurements.iter().find(|schema| schema.name == header.measurement);
        let Some(declared) = declared else {
            let message = "the file metadata has no schema of this measurement";
            return self.add(Severity::Error, "measurement_schema", at, piece, message);
        };
        let facts = |data_type: DataType, encoding: Encoding, compression: Compression| {
            format!("{} {} {}", data_type.name(), encoding.name(file.version), compression.name())
        };
        let stated = facts(declared.data_type, declared.encoding, declared.compression);
        let found = facts(header.data_type, header.encoding, header.compression);
        if stated != found {
            // Readers use the encoding and compressor of the chunk.
            let is_type = declared.data_type != header.data_type;
            let severity = if is_type { Severity::Error } else { Severity::Warning };
            let message = format!("the schema of the measurement states {stated}, the chunk has {found}");
            self.add(severity, "measurement_schema", at, piece, message);
        }
    }

    /// Queues a chunk for decoding: all pages, or at the middle depth the first one. Times of an aligned
    /// group are decoded immediately, for the columns that follow.
    fn decode(
        &mut self,
        piece: String,
        chunk: Box<WalkedChunk>,
        stated: Option<Statistics>,
        group: &mut GroupState,
        driver: &Driver,
    ) -> Result<()> {
        if self.entry.file.is_encrypted() {
            return Ok(());
        }
        let is_times = chunk.loaded.header.is_time_column();
        let count = chunk.loaded.pages.len();
        let pages = if self.depth == Depth::Deep || is_times { count } else { count.min(1) };
        let times = Arc::clone(&group.times);
        let waiting = pages::Waiting { piece, chunk, stated, times, pages };
        if is_times {
            let checked = pages::check(std::slice::from_ref(&waiting), self.entry.file.version, driver)?;
            let mut times = Vec::with_capacity(pages);
            for page in checked {
                times.push(page.times);
                self.page_findings(page.findings);
            }
            group.times = Arc::new(times);
            return Ok(());
        }
        self.waiting_bytes += waiting.chunk.loaded.header.data_size;
        self.waiting.push(waiting);
        if self.waiting_bytes >= WAITING_BYTES || self.waiting.len() >= WAITING_CHUNKS {
            self.decode_waiting(driver)?;
        }
        Ok(())
    }

    /// Decodes the queued chunks on all threads.
    fn decode_waiting(&mut self, driver: &Driver) -> Result<()> {
        self.waiting_bytes = 0;
        let waiting = std::mem::take(&mut self.waiting);
        for page in pages::check(&waiting, self.entry.file.version, driver)? {
            self.page_findings(page.findings);
        }
        Ok(())
    }

    fn page_findings(&mut self, findings: Vec<Finding>) {
        self.report.pieces += 1;
        for finding in findings {
            self.report.add(finding.file(&self.entry.label));
        }
    }
}

/// Whether values of this type are strings, as tags must be.
pub(crate) fn is_string(data_type: DataType) -> bool {
    matches!(data_type, DataType::Text | DataType::String)
}

/// The position of a walk inside a chunk group.
#[derive(Default)]
struct GroupState {
    start: u64,
    device: Option<String>,
    chunks: u32,
    offsets: Vec<u64>,
    /// Times by page of the time column.
    times: Arc<Vec<Vec<i64>>>,
}
