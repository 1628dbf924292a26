//! Checks that a chunk group is intact: decodes every page and compares it with all statistics and metadata.

use std::ops::Range;
use std::sync::Arc;

use tesselle_core::{Driver, Finding, Location, Result, Severity};

use super::guide::{Guide, Known};
use super::salvage::{Salvage, Salvaged};
use crate::meta::{DeviceId, Statistics, Version};
use crate::read::values;
use crate::records::{Record, WalkedChunk, Walker};
use crate::verify::pages::{self, Waiting};
use crate::verify::{Compare, difference};
use crate::write::tail::{ChunkRecord, GroupRecord};

/// The result of checking a group.
#[derive(Debug, Clone, Default)]
pub(super) struct Judged {
    /// Chunks listed in the new metadata.
    pub(super) chunks: Vec<ChunkRecord>,
    /// Intact chunks that the new metadata does not list.
    pub(super) strays: Vec<ChunkRecord>,
    /// Entries of the old metadata for chunks of this group, with their offsets.
    pub(super) met: Vec<(u64, Known)>,
    /// The version of its chunks, if the metadata states it.
    pub(super) version: Option<i64>,
    /// Metadata that had to be rebuilt, although the data is consistent.
    pub(super) renewed: Vec<String>,
    /// Contradictions that do not show which side is right.
    pub(super) doubts: Vec<String>,
}

/// What chunk groups are checked against.
pub(super) struct Judge<'a> {
    pub(super) location: &'a Location,
    pub(super) version: Version,
    pub(super) guide: Option<&'a Guide>,
    pub(super) driver: &'a Driver,
}

/// How the metadata lists a chunk.
enum Listed {
    /// The metadata has this entry for it.
    As(Box<Known>),
    /// There is no metadata, or its entry is wrong; the entry is rebuilt.
    Rebuilt,
    /// The metadata does not list it.
    Not,
}

impl Judge<'_> {
    /// The intact parts of a damaged range of the data; empty if no metadata lists its chunks.
    pub(super) fn salvage(&self, part: Range<u64>) -> Result<Vec<Salvaged>> {
        let Some(guide) = self.guide else { return Ok(Vec::new()) };
        let Self { location, version, driver, .. } = *self;
        Salvage { location, version, guide, driver }.region(part)
    }

    /// Decodes a group completely; an inner error describes why it is damaged.
    pub(super) fn group(
        &self,
        device: &DeviceId,
        group: &GroupRecord,
    ) -> Result<std::result::Result<Judged, String>> {
        let path = device.path();
        let mut judged = Judged::default();
        let mut walker = Walker::within(self.location, self.version, group.start..group.end);
        let mut times = Arc::new(Vec::new());
        while let Some((at, record)) = walker.next()? {
            self.driver.check_canceled()?;
            let Record::Chunk(chunk) = record else { continue };
            let Some(record) = group.chunks.iter().find(|record| record.offset == at) else { continue };
            if let Err(why) = self.chunk(&path, record, chunk, &mut times, &mut judged)? {
                return Ok(Err(why));
            }
        }
        Ok(Ok(judged))
    }

    /// Finds the metadata entry of a chunk.
    fn listed(
        &self,
        path: &str,
        record: &ChunkRecord,
        judged: &mut Judged,
    ) -> std::result::Result<Listed, String> {
        let Some(guide) = self.guide else { return Ok(Listed::Rebuilt) };
        let known = guide.chunks.get(&record.offset).map(Vec::as_slice).unwrap_or_default();
        let fits = |known: &&Known| {
            known.path == path && known.series == record.measurement && known.data_type == record.data_type
        };
        if let Some(known) = known.iter().find(fits) {
            return Ok(Listed::As(Box::new(known.clone())));
        }
        // One library lists empty series at the offsets of other series' chunks.
        let others: Vec<&Known> = known.iter().filter(|known| known.statistics.count > 0).collect();
        let Some(other) = others.first() else {
            return Ok(if guide.has_gaps { Listed::Rebuilt } else { Listed::Not });
        };
        let own = format!("{path}.{}", record.measurement);
        let names: Vec<String> =
            others.iter().map(|known| format!("{}.{}", known.path, known.series)).collect();
        let conflict = format!(
            "the header of the chunk at {} names '{}' ({}), the metadata names '{}.{}' ({})",
            record.offset,
            own.escape_debug(),
            record.data_type.name(),
            other.path.escape_debug(),
            other.series.escape_debug(),
            other.data_type.name()
        );
        if !guide.filter_confirms(&own, &names) {
            return Err(conflict);
        }
        judged.renewed.push(format!("{conflict}; only the former is in the bloom filter"));
        judged.met.extend(others.into_iter().map(|known| (record.offset, known.clone())));
        Ok(Listed::Rebuilt)
    }

    fn chunk(
        &self,
        path: &str,
        record: &ChunkRecord,
        chunk: Box<WalkedChunk>,
        times: &mut Arc<Vec<Vec<i64>>>,
        judged: &mut Judged,
    ) -> Result<std::result::Result<(), String>> {
        let listed = match self.listed(path, record, judged) {
            Ok(listed) => listed,
            Err(why) => return Ok(Err(why)),
        };
        let known = if let Listed::As(known) = &listed { Some(known) } else { None };
        // Statistics that the metadata itself contradicts must not guide the decoding.
        let trusted = known.filter(|known| known.is_consistent);
        let header = &chunk.loaded.header;
        let is_times = header.is_time_column();
        let is_lossy = header.encoding.is_lossy(header.data_type);
        let has_two_readings = values::has_two_readings(header.encoding, header.data_type.physical());
        let merged = merged_statistics(&chunk, self.version);
        let waiting = Waiting {
            piece: format!("'{path}.{}', chunk at {}", record.measurement, record.offset),
            stated: trusted.map(|known| known.statistics.clone()),
            times: Arc::clone(times),
            pages: chunk.loaded.pages.len(),
            chunk,
        };
        if has_two_readings && trusted.is_none() && merged.is_none() {
            let message = "its encoding is ambiguous, and the statistics that would resolve it are lost";
            judged.doubts.push(format!("{}: {message}", waiting.piece));
        }
        let checked = pages::check(std::slice::from_ref(&waiting), self.version, self.driver)?;
        let mut findings = checked.iter().flat_map(|page| &page.findings);
        let wrong = findings.find(|finding| finding.severity == Severity::Error);
        let wrong = wrong.map(|finding| line(finding, &waiting.piece));
        if let (Some(why), false) = (&wrong, matches!(listed, Listed::Not)) {
            return Ok(Err(why.clone()));
        }
        if is_times {
            *times = Arc::new(checked.into_iter().map(|page| page.times).collect());
        }
        let mut record = record.clone();
        match listed {
            Listed::As(known) => {
                let found = merged.as_ref().unwrap_or(&record.statistics);
                let compare = if is_lossy && merged.is_none() { Compare::Times } else { Compare::Merged };
                let checked = known.is_consistent && merged.is_none();
                match difference(&known.statistics, found, compare).filter(|_| !checked) {
                    None => record.statistics = known.statistics.clone(),
                    Some(message) => {
                        let message =
                            format!("{}: the statistics in the metadata differ: {message}", waiting.piece);
                        let list = if merged.is_some() { &mut judged.renewed } else { &mut judged.doubts };
                        list.push(message);
                    }
                }
                judged.version.get_or_insert(known.version);
                judged.met.push((record.offset, *known));
                judged.chunks.push(record);
            }
            Listed::Rebuilt => judged.chunks.push(record),
            Listed::Not if wrong.is_none() => judged.strays.push(record),
            Listed::Not => {}
        }
        Ok(Ok(()))
    }
}

/// The merged statistics of the pages of a chunk, if each page has its own.
fn merged_statistics(chunk: &WalkedChunk, version: Version) -> Option<Statistics> {
    let pages = &chunk.loaded.pages;
    let all = pages.iter().all(|p| p.header.statistics.is_some() || p.header.uncompressed_size == 0);
    if !all || !pages.iter().any(|p| p.header.statistics.is_some()) {
        return None;
    }
    let mut merged = Statistics::default();
    for page in pages.iter().filter_map(|p| p.header.statistics.as_ref()) {
        merged.merge(page, version);
    }
    Some(merged)
}

fn line(finding: &Finding, piece: &str) -> String {
    let piece = finding.piece.as_deref().unwrap_or(piece);
    match finding.offset {
        Some(offset) => format!("{} (at {offset}, {piece})", finding.message),
        None => format!("{} ({piece})", finding.message),
    }
}
