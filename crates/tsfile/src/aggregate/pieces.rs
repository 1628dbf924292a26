//! Which chunks and pages can answer with their statistics, and what is left to decode.

use std::ops::Range;

use tesselle_core::{Context as _, Error, Result};

use super::{Aggregates, Effort};
use crate::describe::read_headers;
use crate::meta::{ChunkHeader, DataType, Statistics};
use crate::open::Archive;
use crate::read::assemble::ColumnData;
use crate::read::loaded::{ChunkRef, Loaded, header_range};
use crate::read::prune::Stretches;
use crate::read::walk;

/// What statistics answer, and the stretches of time whose points are to be decoded.
pub(super) struct Found {
    pub(super) values: Aggregates,
    pub(super) left: Stretches,
    pub(super) effort: Effort,
}

/// A chunk or a page: its stretch of time, and its statistics where they can be trusted.
struct Piece<'a> {
    lo: i64,
    hi: i64,
    statistics: Option<&'a Statistics>,
    /// Times that are deleted.
    deleted: &'a [(i64, i64)],
}

/// Asks the chunks of a column, then the pages of those that cannot answer.
pub(super) fn from_statistics(archive: &Archive, column: &ColumnData, range: (i64, i64)) -> Result<Found> {
    let (from, to) = range;
    let mut found =
        Found { values: Aggregates::default(), left: Stretches::default(), effort: Effort::default() };
    let meets = |c: &&ChunkRef| !c.is_deleted() && c.lo <= to && from <= c.hi && from <= to;
    let mut chunks: Vec<&ChunkRef> = column.chunks.iter().filter(meets).collect();
    chunks.sort_by_key(|c| (c.lo, c.hi));
    if chunks.is_empty() {
        return Ok(found);
    }
    let wanted: Vec<(&ChunkRef, &str)> = chunks.iter().map(|c| (*c, &*column.name)).collect();
    let headers = read_headers(archive, &wanted)?;
    // Before version 3 statistics may state other times than the bounds, and count points that a later one replaces.
    let file = |chunk: &ChunkRef| archive.files.get(chunk.file);
    let bounded = chunks.iter().all(|c| file(c).is_some_and(|f| f.file.version.is_compact()));
    for (chunk, name) in &wanted {
        let range = file(chunk).map(|f| header_range(chunk, name, f.facts())).unwrap_or_default();
        found.effort.bytes_fetched += range.end.saturating_sub(range.start);
    }
    found.effort.chunks = chunks.len() as u64;

    let is_kept = |header: &ChunkHeader| bounded && is_lossless(header, column);
    let pieces: Vec<Piece<'_>> = chunks
        .iter()
        .zip(&headers)
        .map(|(chunk, (header, _))| Piece {
            lo: chunk.lo,
            hi: chunk.hi,
            statistics: is_kept(header).then_some(&*chunk.statistics),
            deleted: &chunk.deleted,
        })
        .collect();
    let answers = answers(&pieces, range, column.data_type);
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
        found.left = Stretches::new(vec![range]);
    }
    Ok(found)
}

fn is_lossless(header: &ChunkHeader, column: &ColumnData) -> bool {
    let same = header.measurement == *column.name && header.data_type == column.data_type;
    same && !header.encoding.is_lossy(column.data_type)
}

/// Asks the pages of chunks that could not answer as a whole.
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
        let entry = archive.files.get(chunk.file).ok_or_else(|| Error::internal("a chunk is of no file"))?;
        let (pages, fetched) = walk::page_headers(&entry.location, header, entry.file.version, bytes)
            .in_file(&entry.file.path)?;
        found.effort.bytes_fetched += fetched;
        loaded.push((chunk, Loaded { header: header.clone(), pages, headers_only: true, cut: false }));
    }
    let mut pieces = Vec::new();
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
                pieces.push(Piece { lo, hi, statistics, deleted: &chunk.deleted });
            }
        }
    }
    pieces.sort_by_key(|p| (p.lo, p.hi));
    let mut left = Vec::new();
    for (piece, answer) in pieces.iter().zip(answers(&pieces, range, column.data_type)) {
        if let Some(values) = answer {
            found.values.merge(values);
            found.effort.pages_from_statistics += 1;
        } else {
            found.effort.pages_decoded += 1;
            left.push((piece.lo.max(range.0), piece.hi.min(range.1)));
        }
    }
    found.left = Stretches::new(left);
    Ok(())
}

/// The answer of each piece, which are sorted by time; `None` where its points must be looked at.
fn answers(pieces: &[Piece<'_>], (from, to): (i64, i64), data_type: DataType) -> Vec<Option<Aggregates>> {
    let mut before: Option<i64> = None;
    let nexts = pieces.iter().skip(1).map(|p| Some(p.lo)).chain([None]);
    let mut out = Vec::with_capacity(pieces.len());
    for (piece, next) in pieces.iter().zip(nexts) {
        let alone = before.is_none_or(|hi| hi < piece.lo) && next.is_none_or(|lo| piece.hi < lo);
        let inside = from <= piece.lo && piece.hi <= to;
        let whole = piece.deleted.iter().all(|(lo, hi)| *hi < piece.lo || piece.hi < *lo);
        before = Some(before.map_or(piece.hi, |hi| hi.max(piece.hi)));
        let usable = piece.statistics.filter(|_| alone && inside && whole);
        out.push(usable.and_then(|statistics| Aggregates::of_statistics(statistics, data_type)));
    }
    out
}
