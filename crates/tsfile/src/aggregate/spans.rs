//! Selects the chunks and pages that can be answered by their statistics, and the time ranges left to decode.

use std::ops::Range;

use tesselle_core::{Context as _, Error, Result};

use super::{Aggregates, Effort};
use crate::describe::read_headers;
use crate::meta::{ChunkHeader, DataType, Statistics};
use crate::open::Archive;
use crate::read::device_data::ColumnData;
use crate::read::loaded::{ChunkRef, Loaded, header_range};
use crate::read::page_headers;
use crate::read::prune::TimeRanges;

/// The aggregates from statistics, and the time ranges with points to decode.
pub(super) struct Found {
    pub(super) values: Aggregates,
    pub(super) left: TimeRanges,
    pub(super) effort: Effort,
}

/// A chunk or a page: its time range, and its statistics if they are reliable.
struct Span<'a> {
    lo: i64,
    hi: i64,
    statistics: Option<&'a Statistics>,
    /// Deleted times.
    deleted: &'a [(i64, i64)],
}

/// Checks the chunks of a column, then the pages of those that statistics cannot answer.
pub(super) fn from_statistics(archive: &Archive, column: &ColumnData, range: (i64, i64)) -> Result<Found> {
    let (from, to) = range;
    let mut found =
        Found { values: Aggregates::default(), left: TimeRanges::default(), effort: Effort::default() };
    let meets = |c: &&ChunkRef| !c.is_deleted() && c.lo <= to && from <= c.hi && from <= to;
    let mut chunks: Vec<&ChunkRef> = column.chunks.iter().filter(meets).collect();
    chunks.sort_by_key(|c| (c.lo, c.hi));
    if chunks.is_empty() {
        return Ok(found);
    }
    let wanted: Vec<(&ChunkRef, &str)> = chunks.iter().map(|c| (*c, &*column.name)).collect();
    let headers = read_headers(archive, &wanted)?;
    // Before version 3 statistics may state other times than the bounds, and count points that later ones
    // replace.
    let file = |chunk: &ChunkRef| archive.files.get(chunk.file);
    let bounded = chunks.iter().all(|c| file(c).is_some_and(|f| f.file.version.is_compact()));
    for (chunk, name) in &wanted {
        let range = file(chunk).map(|f| header_range(chunk, name, f.facts())).unwrap_or_default();
        found.effort.bytes_fetched += range.end.saturating_sub(range.start);
    }
    found.effort.chunks = chunks.len() as u64;

    let is_kept = |header: &ChunkHeader| bounded && is_lossless(header, column);
    let spans: Vec<Span<'_>> = chunks
        .iter()
        .zip(&headers)
        .map(|(chunk, (header, _))| Span {
            lo: chunk.lo,
            hi: chunk.hi,
            statistics: is_kept(header).then_some(&*chunk.statistics),
            deleted: &chunk.deleted,
        })
        .collect();
    let answers = answers(&spans, range, column.data_type);
    let mut rest = Vec::new();
    for ((chunk, header), answer) in chunks.iter().zip(&headers).zip(answers) {
        match answer {
            Some(values) => {
                found.values.merge(values);
                found.effort.chunks_from_statistics += 1;
            }
            None => rest.push((*chunk, header)),
        }
    }
    ask_pages(archive, column, &rest, range, bounded, &mut found)?;
    if !bounded {
        found.left = TimeRanges::new(vec![range]);
    }
    Ok(found)
}

fn is_lossless(header: &ChunkHeader, column: &ColumnData) -> bool {
    let same = header.measurement == *column.name && header.data_type == column.data_type;
    same && !header.encoding.is_lossy(column.data_type)
}

/// Checks the pages of chunks that statistics could not answer as a whole.
fn ask_pages(
    archive: &Archive,
    column: &ColumnData,
    chunks: &[(&ChunkRef, &(ChunkHeader, Range<u64>))],
    range: (i64, i64),
    bounded: bool,
    found: &mut Found,
) -> Result<()> {
    let mut loaded: Vec<(&ChunkRef, Loaded)> = Vec::with_capacity(chunks.len());
    for (chunk, (header, bytes)) in chunks {
        let entry = archive.files.get(chunk.file).ok_or_else(|| Error::internal("a chunk has no file"))?;
        let (pages, fetched) = page_headers::page_headers(&entry.location, header, entry.file.version, bytes)
            .in_file(&entry.file.path)?;
        found.effort.bytes_fetched += fetched;
        loaded.push((chunk, Loaded { header: header.clone(), pages, headers_only: true, cut: false }));
    }
    let mut spans = Vec::new();
    for (chunk, loaded) in &loaded {
        let kept = bounded && is_lossless(&loaded.header, column);
        for (number, page) in loaded.pages.iter().enumerate() {
            let statistics = loaded.page_statistics(number, chunk);
            let (lo, hi) = match statistics {
                Some(s) if bounded && s.start_time <= s.end_time => (s.start_time, s.end_time),
                _ => (chunk.lo, chunk.hi),
            };
            if page.header.uncompressed_size > 0 && lo <= range.1 && range.0 <= hi {
                let statistics = statistics.filter(|_| kept);
                spans.push(Span { lo, hi, statistics, deleted: &chunk.deleted });
            }
        }
    }
    spans.sort_by_key(|p| (p.lo, p.hi));
    let mut left = Vec::new();
    for (span, answer) in spans.iter().zip(answers(&spans, range, column.data_type)) {
        if let Some(values) = answer {
            found.values.merge(values);
            found.effort.pages_from_statistics += 1;
        } else {
            found.effort.pages_decoded += 1;
            left.push((span.lo.max(range.0), span.hi.min(range.1)));
        }
    }
    found.left = TimeRanges::new(left);
    Ok(())
}

/// The aggregates of each span, sorted by time; `None` if its points must be decoded.
fn answers(spans: &[Span<'_>], (from, to): (i64, i64), data_type: DataType) -> Vec<Option<Aggregates>> {
    let mut before: Option<i64> = None;
    let nexts = spans.iter().skip(1).map(|p| Some(p.lo)).chain([None]);
    let mut out = Vec::with_capacity(spans.len());
    for (span, next) in spans.iter().zip(nexts) {
        let alone = before.is_none_or(|hi| hi < span.lo) && next.is_none_or(|lo| span.hi < lo);
        let inside = from <= span.lo && span.hi <= to;
        let whole = span.deleted.iter().all(|(lo, hi)| *hi < span.lo || span.hi < *lo);
        before = Some(before.map_or(span.hi, |hi| hi.max(span.hi)));
        let usable = span.statistics.filter(|_| alone && inside && whole);
        out.push(usable.and_then(|statistics| Aggregates::of_statistics(statistics, data_type)));
    }
    out
}
