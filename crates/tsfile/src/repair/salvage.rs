//! Salvages the intact parts of a damaged chunk group: its good chunks, and the good pages of the others.
//!
//! The metadata of a closed file lists the offsets of its chunks, so each one is checked on its own. Pages
//! are copied; the headers around them are rebuilt. In an aligned group a bad time page loses its rows, a bad
//! page of a column becomes a page without values.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::{Cursor, Driver, Location, Result, Severity};

use super::data_section::Segment;
use super::guide::{Guide, Known};
use crate::meta::chunk_group::{ChunkGroupFooter, write_group_header};
use crate::meta::{ChunkHeader, DeviceId, PageHeader, Statistics, Version};
use crate::read::loaded::Loaded;
use crate::read::page::Page;
use crate::records::WalkedChunk;
use crate::verify::pages::{self, Waiting};
use crate::verify::{Compare, difference};
use crate::write::tail::{ChunkRecord, GroupRecord};

/// The rest of a damaged chunk group.
#[derive(Debug, Clone)]
pub(super) struct Salvaged {
    pub(super) device: DeviceId,
    /// Its offset in the source.
    pub(super) start: u64,
    /// Its bytes.
    pub(super) segments: Vec<Segment>,
    /// Its chunks, with offsets from its first byte.
    pub(super) record: GroupRecord,
    /// The metadata entries of the remaining chunks, with the numbers of remaining points.
    pub(super) kept: Vec<(u64, Known, u64)>,
    /// Number of chunks listed in the metadata.
    pub(super) listed: usize,
    /// Number of chunks with missing pages.
    pub(super) cut: usize,
}

/// The context for salvaging groups.
pub(super) struct Salvage<'a> {
    pub(super) location: &'a Location,
    pub(super) version: Version,
    pub(super) guide: &'a Guide,
    pub(super) driver: &'a Driver,
}

/// A readable chunk, with the condition of its pages.
struct ReadableChunk {
    known: Known,
    offset: u64,
    header: ChunkHeader,
    pages: Vec<Page>,
    /// Whether each page is good.
    good: Vec<bool>,
    /// The offset of its end, if all of it is readable.
    end: Option<u64>,
}

impl Salvage<'_> {
    /// Salvages the groups in a damaged range of the file.
    pub(super) fn region(&self, part: Range<u64>) -> Result<Vec<Salvaged>> {
        let mut listed: Vec<(u64, Known)> = Vec::new();
        for (offset, known) in self.guide.chunks.range(part.clone()) {
            let mut real = known.iter().filter(|known| known.statistics.count > 0);
            // Two chunks at the same offset: at least one of the entries is wrong.
            if let (Some(known), None) = (real.next(), real.next()) {
                listed.push((*offset, known.clone()));
            }
        }
        let mut salvaged = Vec::new();
        let mut rest = listed.as_slice();
        while !rest.is_empty() {
            self.driver.check_canceled()?;
            let (run, next) = rest.split_at(run_length(rest));
            let end = next.first().map_or(part.end, |(offset, _)| *offset);
            salvaged.extend(self.group(run, end)?);
            rest = next;
        }
        Ok(salvaged)
    }

    fn group(&self, run: &[(u64, Known)], end: u64) -> Result<Option<Salvaged>> {
        let mut chunks: Vec<ReadableChunk> = Vec::new();
        let mut times = Arc::new(Vec::new());
        for (i, (offset, known)) in run.iter().enumerate() {
            let limit = run.get(i + 1).map_or(end, |(next, _)| *next);
            let Some(chunk) = self.chunk(*offset, known, limit, &mut times)? else { continue };
            chunks.push(chunk);
        }
        let rows = chunks.iter().find(|chunk| chunk.header.is_time_column()).map(|chunk| chunk.good.clone());
        let is_aligned = chunks.iter().any(|chunk| chunk.header.is_value_column()) || rows.is_some();
        if is_aligned && rows.is_none() {
            return Ok(None);
        }
        let (Some((start, first)), true) = (run.first(), !chunks.is_empty()) else { return Ok(None) };
        let mut builder = GroupBuilder::try_new(first.device.clone(), self.version)?;
        for chunk in &chunks {
            builder.add(chunk, rows.as_deref())?;
        }
        builder.finish(*start, run.len(), first.version)
    }

    /// Reads a chunk and checks its pages; `None` if nothing of it is readable.
    fn chunk(
        &self,
        offset: u64,
        known: &Known,
        limit: u64,
        times: &mut Arc<Vec<Vec<i64>>>,
    ) -> Result<Option<ReadableChunk>> {
        let version = self.version;
        let most = offset.saturating_add(ChunkHeader::max_size(known.series.len(), version)).min(limit);
        let head = self.location.read_range(offset..most)?;
        let mut cursor = Cursor::new(&head, offset, "chunk header");
        let Ok(header) = ChunkHeader::parse(&mut cursor, version) else { return Ok(None) };
        if header.measurement != known.series || header.data_type != known.data_type {
            return Ok(None);
        }
        let data_start = cursor.offset();
        let stated_end = data_start.saturating_add(header.data_size);
        let bytes = self.location.read_range(data_start..stated_end.min(limit))?;
        let (pages, reads) = split(&header, version, &bytes, data_start);
        let counted = header.pages.is_none_or(|count| count as usize == pages.len());
        let end = (reads && counted && stated_end <= limit).then_some(stated_end);
        let is_single = !header.has_page_statistics(version);
        if pages.is_empty() || (is_single && (pages.len() != 1 || !known.is_consistent || end.is_none())) {
            return Ok(None);
        }
        let is_times = header.is_time_column();
        let loaded = Loaded { header, pages, headers_only: false, cut: false };
        let waiting = Waiting {
            piece: String::new(),
            pages: loaded.pages.len(),
            chunk: Box::new(WalkedChunk { data_start, loaded }),
            stated: is_single.then(|| known.statistics.clone()),
            times: Arc::clone(times),
        };
        let checked = pages::check(std::slice::from_ref(&waiting), version, self.driver)?;
        let is_good = |page: &pages::Checked| page.findings.iter().all(|f| f.severity != Severity::Error);
        let good: Vec<bool> = checked.iter().map(is_good).collect();
        if is_times {
            *times = Arc::new(checked.into_iter().map(|page| page.times).collect());
        }
        let Loaded { header, pages, .. } = waiting.chunk.loaded;
        Ok(Some(ReadableChunk { known: known.clone(), offset, header, pages, good, end }))
    }
}

/// Number of leading chunks that belong to one group: of the same device, with no series twice.
fn run_length(list: &[(u64, Known)]) -> usize {
    let Some((_, first)) = list.first() else { return 0 };
    let mut seen = std::collections::HashSet::new();
    let same = list.iter().take_while(|(_, known)| known.path == first.path && seen.insert(&known.series));
    same.count().max(1)
}

/// The readable pages, and whether they are all.
fn split(header: &ChunkHeader, version: Version, bytes: &Bytes, offset: u64) -> (Vec<Page>, bool) {
    let mut cursor = Cursor::new(bytes, offset, "page header");
    let mut pages = Vec::new();
    while !cursor.is_empty() {
        let at = cursor.offset();
        let Ok(page) = PageHeader::parse(&mut cursor, header, version) else { return (pages, false) };
        let (start, from) = (cursor.offset(), cursor.position());
        if cursor.bytes_u64(u64::from(page.compressed_size)).is_err() {
            return (pages, false);
        }
        pages.push(Page { header: page, offset: at, start, data: bytes.slice(from..cursor.position()) });
    }
    (pages, true)
}

/// A group while it is rebuilt.
struct GroupBuilder {
    version: Version,
    device: DeviceId,
    segments: Vec<Segment>,
    len: u64,
    chunks: Vec<ChunkRecord>,
    kept: Vec<(u64, Known, u64)>,
    cut: usize,
}

impl GroupBuilder {
    fn try_new(device: DeviceId, version: Version) -> Result<Self> {
        let mut builder = Self {
            version,
            device,
            segments: Vec::new(),
            len: 0,
            chunks: Vec::new(),
            kept: Vec::new(),
            cut: 0,
        };
        if version.is_compact() {
            let mut header = Vec::new();
            write_group_header(&builder.device, &mut header, version)?;
            builder.put(Segment::Bytes(header));
        }
        Ok(builder)
    }

    fn put(&mut self, segment: Segment) {
        self.len += segment.len();
        self.segments.push(segment);
    }

    /// Adds the good pages of a chunk; `rows` marks the good time pages of an aligned group.
    fn add(&mut self, chunk: &ReadableChunk, rows: Option<&[bool]>) -> Result<()> {
        let is_good = |number: usize| chunk.good.get(number).copied().unwrap_or(false);
        let stays = |number: usize| rows.is_none_or(|rows| rows.get(number).copied().unwrap_or(false));
        let count = rows.map_or(chunk.pages.len(), <[bool]>::len);
        let all_good = (0..count).all(|number| is_good(number) && stays(number));
        let mut statistics = Statistics::default();
        for (number, page) in chunk.pages.iter().enumerate() {
            if let (Some(own), true) = (&page.header.statistics, is_good(number) && stays(number)) {
                statistics.merge(own, self.version);
            }
        }
        let is_single = !chunk.header.has_page_statistics(self.version);
        if let (true, Some(end)) = (all_good, chunk.end) {
            let known = &chunk.known.statistics;
            let fits = is_single || difference(known, &statistics, Compare::Merged).is_none();
            let statistics = if fits { known.clone() } else { statistics };
            self.record(chunk, &chunk.header, statistics);
            self.put(Segment::Copy(chunk.offset..end));
            return Ok(());
        }
        if is_single || statistics.count == 0 {
            return Ok(());
        }
        self.cut += 1;
        let pages: Vec<Option<&Page>> = (0..count)
            .filter(|number| stays(*number))
            .map(|number| chunk.pages.get(number).filter(|_| is_good(number)))
            // Columns of an aligned group have one page per time page.
            .filter(|page| page.is_some() || rows.is_some())
            .collect();
        let segments: Vec<Segment> = pages.iter().map(|page| page_segment(*page)).collect();
        let mut header = chunk.header.clone();
        header.data_size = segments.iter().map(Segment::len).sum();
        header.pages = header.pages.map(|_| pages.len() as u32);
        let mut bytes = Vec::new();
        header.write(&mut bytes, self.version)?;
        self.record(chunk, &header, statistics);
        self.put(Segment::Bytes(bytes));
        for segment in segments {
            self.put(segment);
        }
        Ok(())
    }

    fn record(&mut self, chunk: &ReadableChunk, header: &ChunkHeader, statistics: Statistics) {
        self.kept.push((chunk.offset, chunk.known.clone(), statistics.count));
        self.chunks.push(ChunkRecord::new(header, self.len, statistics));
    }

    fn finish(mut self, start: u64, listed: usize, version: i64) -> Result<Option<Salvaged>> {
        if self.chunks.is_empty() {
            return Ok(None);
        }
        if !self.version.is_compact() {
            let (device, chunks) = (self.device.clone(), self.chunks.len() as u32);
            let footer = ChunkGroupFooter { device, data_size: self.len, chunks };
            let mut bytes = Vec::new();
            footer.write(&mut bytes, self.version)?;
            self.put(Segment::Bytes(bytes));
        }
        let record = GroupRecord { start: 0, end: self.len, version, chunks: self.chunks };
        let Self { device, segments, kept, cut, .. } = self;
        Ok(Some(Salvaged { device, start, segments, record, kept, listed, cut }))
    }
}

fn page_segment(page: Option<&Page>) -> Segment {
    match page {
        Some(page) => Segment::Copy(page.offset..page.range().end),
        // A page without values consists only of an uncompressed size of 0.
        None => Segment::Bytes(vec![0]),
    }
}
