//! From the loaded chunks of an overlap to sources: selects the pages to decode and their order.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use tesselle_core::{Error, Result};

use super::loaded::Loaded;
use super::plan::Mode;
use super::prune::{Pruner, Span, TimeRanges, bounds_of};
use super::source::{DecodeUnit, PageId, PointPage, Source, SourceColumn, TaskChunk, TaskInput};
use super::task::{Overlap, SeriesChunks};
use crate::meta::{ChunkHeader, DataType, Statistics};

/// Skips chunks that statistics rule out now that their encodings are known.
pub(crate) fn drop_hopeless_chunks(
    chunks: &[TaskChunk],
    overlaps: &VecDeque<Overlap>,
    names: &[Arc<str>],
    pruner: &Pruner,
    headers: &mut [Option<(ChunkHeader, Range<u64>)>],
) {
    let mentioned = pruner.columns();
    for overlap in overlaps {
        let times = times_of_columns(overlap, chunks);
        let columns = overlap.series.iter().filter_map(|series| {
            let name = names.get(series.column).filter(|name| mentioned.contains(&&***name))?;
            let spans = series.chunks.iter().filter_map(|i| {
                let (task, (header, _)) = (chunks.get(*i)?, headers.get(*i)?.as_ref()?);
                let time =
                    times.get(i).and_then(|time| chunks.get(*time)).map(|time| &*time.chunk.statistics);
                let bounds = safe_bounds(&task.chunk.statistics, header);
                let bounds = bounds.map(|bounds| of_rows(bounds, &task.chunk.statistics, time));
                Some(Span { lo: task.chunk.lo, hi: task.chunk.hi, bounds })
            });
            Some((&**name, spans.collect()))
        });
        let excluded = pruner.excluded(columns);
        for i in overlap.series.iter().flat_map(|s| &s.chunks).chain(&overlap.times) {
            let covered = chunks.get(*i).is_some_and(|task| excluded.covers(task.chunk.lo, task.chunk.hi));
            if let Some(header) = headers.get_mut(*i).filter(|_| covered) {
                *header = None;
            }
        }
    }
}

/// Skips chunks without a matching point, in the long table, where each chunk has one value column. Only
/// chunks that no other one of their column overlaps can be skipped: a newer chunk hides points of an older
/// one.
pub(crate) fn drop_hopeless_points(
    chunks: &[TaskChunk],
    overlaps: &VecDeque<Overlap>,
    names: &[Arc<str>],
    pruner: &Pruner,
    headers: &mut [Option<(ChunkHeader, Range<u64>)>],
) {
    let mentioned = pruner.columns();
    for series in overlaps.iter().flat_map(|overlap| &overlap.series) {
        let Some(name) = names.get(series.column).filter(|name| mentioned.contains(&&***name)) else {
            continue;
        };
        let span = |i: &usize| chunks.get(*i).map(|task| (task.chunk.lo, task.chunk.hi));
        for i in &series.chunks {
            let Some((task, place)) = chunks.get(*i).zip(headers.get_mut(*i)) else { continue };
            let (lo, hi) = (task.chunk.lo, task.chunk.hi);
            let meets = |other: &(i64, i64)| other.0 <= hi && lo <= other.1;
            let bounds = place.as_ref().and_then(|(header, _)| safe_bounds(&task.chunk.statistics, header));
            if bounds.is_some_and(|bounds| pruner.rules_out(name, lo, hi, &bounds))
                && series.chunks.iter().filter_map(span).filter(meets).count() == 1
            {
                *place = None;
            }
        }
    }
}

/// The time chunk of each value chunk of an aligned device, if the chunks of the device do not overlap: all rows of their times
/// are in these chunks. Chunks with deleted values are skipped.
fn times_of_columns(overlap: &Overlap, chunks: &[TaskChunk]) -> HashMap<usize, usize> {
    let chunk = |i: &usize| chunks.get(*i).map(|task| &task.chunk);
    let mut spans: Vec<(i64, i64)> = overlap.times.iter().filter_map(chunk).map(|c| (c.lo, c.hi)).collect();
    spans.sort_unstable();
    let values = || overlap.series.iter().flat_map(|series| &series.chunks);
    let is_aligned = values().filter_map(chunk).all(|chunk| chunk.time_chunk.is_some());
    if !is_aligned || !spans.windows(2).all(|pair| pair[0].1 < pair[1].0) {
        return HashMap::new();
    }
    let at: HashMap<(usize, u64), usize> =
        overlap.times.iter().filter_map(|i| chunk(i).map(|c| ((c.file, c.offset), *i))).collect();
    let time_of = |i: &usize| {
        let value = chunk(i).filter(|value| value.deleted.is_empty())?;
        Some((*i, *at.get(&(value.file, value.time_chunk?))?))
    };
    values().filter_map(time_of).collect()
}

/// The bounds of values for the rows at the times `times`: none of these is null if there are as many values.
fn of_rows(
    bounds: tesselle_core::ColumnBounds,
    values: &Statistics,
    times: Option<&Statistics>,
) -> tesselle_core::ColumnBounds {
    let is_complete = times.is_some_and(|times| times.count == values.count);
    tesselle_core::ColumnBounds { nulls: is_complete.then_some(0), ..bounds }
}

/// Bounds of values, if the encoding is lossless.
fn safe_bounds(statistics: &Statistics, header: &ChunkHeader) -> Option<tesselle_core::ColumnBounds> {
    let lossy = header.encoding.is_lossy(header.data_type);
    if lossy { None } else { bounds_of(statistics, header.data_type) }
}

/// The sources of an overlap.
pub(crate) fn sources(
    overlap: &Overlap,
    input: &TaskInput,
    mode: Mode,
    names: &[Arc<str>],
    pruner: &Pruner,
) -> Result<Vec<Source>> {
    let excluded = match mode {
        Mode::Rows => excluded_by_pages(overlap, input, names, pruner),
        Mode::Points => TimeRanges::default(),
    };
    let builder = SourceBuilder { overlap, input, mode, names, pruner, excluded };
    let mut sources = builder.aligned()?;
    for series in &overlap.series {
        sources.extend(builder.ordinary(series)?);
    }
    Ok(sources)
}

/// The time ranges that the pages of the predicate's columns rule out.
fn excluded_by_pages(
    overlap: &Overlap,
    input: &TaskInput,
    names: &[Arc<str>],
    pruner: &Pruner,
) -> TimeRanges {
    let mentioned = pruner.columns();
    if mentioned.is_empty() {
        return TimeRanges::default();
    }
    let times = times_of_columns(overlap, &input.chunks);
    let columns = overlap.series.iter().filter_map(|series| {
        let name = names.get(series.column).filter(|name| mentioned.contains(&&***name))?;
        let mut spans = Vec::new();
        for i in &series.chunks {
            let Ok((task, loaded, _)) = input.get(*i) else { continue };
            let time = times.get(i).and_then(|time| input.get(*time).ok());
            for page in 0..loaded.pages.len() {
                let statistics = loaded.page_statistics(page, &task.chunk);
                let (lo, hi) = span(statistics, task);
                let times = time.and_then(|(task, loaded, _)| loaded.page_statistics(page, &task.chunk));
                let bounds =
                    statistics.and_then(|s| Some(of_rows(safe_bounds(s, &loaded.header)?, s, times)));
                if !is_empty(loaded, page) {
                    spans.push(Span { lo, hi, bounds });
                }
            }
        }
        Some((&**name, spans))
    });
    pruner.excluded(columns)
}

/// The number of pages of a chunk up to the last one whose times are not ruled out.
pub(crate) fn pages_of_interest(task: &TaskChunk, loaded: &Loaded, pruner: &Pruner) -> usize {
    let is_out = |page: usize| {
        let (lo, hi) = span(loaded.page_statistics(page, &task.chunk), task);
        pruner.rules_out_time(lo, hi)
    };
    (0..loaded.pages.len()).rev().find(|page| !is_out(*page)).map_or(0, |last| last + 1)
}

/// The window of a task that shares its chunks, moved to page boundaries: otherwise two tasks would decode
/// the page at its edge. The tasks see the same pages, so they agree on the end of each window.
pub(crate) fn at_pages((from, to): (i64, i64), overlap: &Overlap, input: &TaskInput) -> (i64, i64) {
    let mut chunks = overlap.times.iter().chain(overlap.series.iter().flat_map(|s| &s.chunks));
    let Some((_, loaded, _)) = chunks.find_map(|chunk| input.get(*chunk).ok()) else {
        return (from, to);
    };
    let mut starts = Vec::with_capacity(loaded.pages.len());
    for page in &loaded.pages {
        let Some(statistics) = &page.header.statistics else { return (from, to) };
        starts.push(statistics.start_time);
    }
    let ascending = starts.windows(2).all(|pair| pair[0] < pair[1]);
    let Some(last) = starts.last().filter(|_| ascending) else { return (from, to) };
    // After the start of the last page there is no boundary to move to.
    let moved = |time: i64| {
        let at = starts.partition_point(|start| *start < time);
        starts.get(at).copied().unwrap_or_else(|| time.max(*last))
    };
    let start = if from == i64::MIN { from } else { moved(from) };
    let end = if to == i64::MAX { to } else { moved(to.saturating_add(1)).saturating_sub(1) };
    (start, end)
}

/// The time range of a page.
fn span(statistics: Option<&Statistics>, task: &TaskChunk) -> (i64, i64) {
    match statistics {
        Some(s) if s.start_time <= s.end_time => (s.start_time, s.end_time),
        Some(_) => (i64::MIN, i64::MAX),
        None => (task.chunk.lo, task.chunk.hi),
    }
}

fn is_empty(loaded: &Loaded, page: usize) -> bool {
    loaded.pages.get(page).is_none_or(|page| page.header.uncompressed_size == 0)
}

struct SourceBuilder<'a> {
    overlap: &'a Overlap,
    input: &'a TaskInput,
    mode: Mode,
    names: &'a [Arc<str>],
    pruner: &'a Pruner,
    excluded: TimeRanges,
}

/// A page with its time range.
struct Placed {
    page: PointPage,
    span: (i64, i64),
    rank: ((usize, i64, u64), usize),
}

impl SourceBuilder<'_> {
    fn is_aligned(&self, chunk: usize) -> bool {
        self.input.get(chunk).is_ok_and(|(_, loaded, _)| loaded.header.is_value_column())
    }

    fn is_out(&self, (lo, hi): (i64, i64)) -> bool {
        let elsewhere = self.input.window.is_some_and(|(from, to)| hi < from || lo > to);
        elsewhere || self.excluded.covers(lo, hi) || self.pruner.rules_out_time(lo, hi)
    }

    /// The series with aligned chunks whose values are needed.
    fn aligned_series(&self) -> Vec<&SeriesChunks> {
        let series = self.overlap.series.iter();
        series.filter(|s| s.slot.is_some() && s.chunks.iter().any(|c| self.is_aligned(*c))).collect()
    }

    /// The sources of aligned groups.
    fn aligned(&self) -> Result<Vec<Source>> {
        let mut times: Vec<usize> = self.overlap.times.clone();
        times.retain(|t| self.input.get(*t).is_ok());
        if times.is_empty() {
            return Ok(Vec::new());
        }
        let chunk = |i: &usize| self.input.chunks.get(*i).map(|t| &t.chunk);
        times.sort_by_key(|t| chunk(t).map(|c| (c.lo, c.hi)));
        let aligned = self.aligned_series();
        let by_offset: HashMap<(usize, u64), usize> =
            times.iter().filter_map(|t| chunk(t).map(|c| ((c.file, c.offset), *t))).collect();
        // For each time chunk the value chunk of each series.
        let mut columns_of: HashMap<usize, Vec<Option<usize>>> = HashMap::new();
        let mut simple = times
            .windows(2)
            .all(|pair| chunk(&pair[0]).zip(chunk(&pair[1])).is_some_and(|(a, b)| a.hi < b.lo));
        for (column, series) in aligned.iter().enumerate() {
            for value in series.chunks.iter().filter(|c| self.input.get(**c).is_ok()) {
                if !self.is_aligned(*value) {
                    simple = false;
                    continue;
                }
                let time = chunk(value).and_then(|c| by_offset.get(&(c.file, c.time_chunk?)));
                let Some(time) = time else {
                    let error =
                        Error::corrupt("a column of an aligned group has no time column").class("bad_chunk");
                    return Err(self.input.place((*value, 0), error));
                };
                let row = columns_of.entry(*time).or_insert_with(|| vec![None; aligned.len()]);
                match row.get_mut(column) {
                    Some(place @ None) => *place = Some(*value),
                    _ => simple = false,
                }
            }
        }
        simple = simple && times.iter().all(|t| self.has_ordered_pages(*t));
        if simple {
            let mut units = VecDeque::new();
            for time in &times {
                self.row_units(
                    *time,
                    columns_of.get(time).map(Vec::as_slice).unwrap_or_default(),
                    &mut units,
                )?;
            }
            let columns = aligned.iter().filter_map(|s| self.column(s)).collect();
            return Ok(vec![Source { columns, units, run: None, last: None }]);
        }
        self.exploded(&times, &aligned, &by_offset)
    }

    fn column(&self, series: &SeriesChunks) -> Option<SourceColumn> {
        let chunk = series.chunks.first().and_then(|c| self.input.chunks.get(*c))?;
        Some(SourceColumn { slot: series.slot?, name: Arc::clone(&chunk.name), data_type: chunk.data_type })
    }

    fn has_ordered_pages(&self, chunk: usize) -> bool {
        let Ok((task, loaded, _)) = self.input.get(chunk) else { return false };
        let spans: Vec<(i64, i64)> =
            (0..loaded.pages.len()).map(|p| span(loaded.page_statistics(p, &task.chunk), task)).collect();
        spans.windows(2).all(|pair| pair[0].1 < pair[1].0)
    }

    /// One unit per page of a time chunk.
    fn row_units(
        &self,
        time: usize,
        values: &[Option<usize>],
        units: &mut VecDeque<DecodeUnit>,
    ) -> Result<()> {
        let (task, loaded, _) = self.input.get(time)?;
        let mut pages: Vec<Option<usize>> = Vec::with_capacity(values.len());
        for value in values {
            pages.push(self.matching_pages(loaded.pages.len(), *value)?);
        }
        for page in 0..loaded.pages.len() {
            if is_empty(loaded, page) || self.is_out(span(loaded.page_statistics(page, &task.chunk), task)) {
                continue;
            }
            let values = pages.iter().map(|value| value.map(|value| (value, page))).collect();
            units.push_back(DecodeUnit::Rows { time: (time, page), values });
        }
        Ok(())
    }

    /// The value chunk, if it has pages; it must have as many as the time chunk.
    fn matching_pages(&self, time_pages: usize, value: Option<usize>) -> Result<Option<usize>> {
        let Some(value) = value else { return Ok(None) };
        let (_, loaded, _) = self.input.get(value)?;
        match loaded.pages.len() {
            0 => Ok(None),
            n if n == time_pages || (loaded.cut && n < time_pages) => Ok(Some(value)),
            n => {
                let message =
                    format!("a column of an aligned group has {n} pages, its time column {time_pages}");
                Err(self.input.place((value, 0), Error::corrupt(message).class("bad_count")))
            }
        }
    }

    /// Sources of overlapping aligned groups: each column on its own, as if it were not aligned, and the
    /// times for the rows.
    fn exploded(
        &self,
        times: &[usize],
        aligned: &[&SeriesChunks],
        by_offset: &HashMap<(usize, u64), usize>,
    ) -> Result<Vec<Source>> {
        let mut sources = Vec::new();
        for series in aligned {
            let mut pages = self.ordinary_pages(series)?;
            for value in series.chunks.iter().filter(|c| self.is_aligned(**c)) {
                let (task, loaded, _) = self.input.get(*value)?;
                let time = task.chunk.time_chunk.and_then(|offset| by_offset.get(&(task.chunk.file, offset)));
                let Some(time) = time else { continue };
                let (_, time_loaded, _) = self.input.get(*time)?;
                self.matching_pages(time_loaded.pages.len(), Some(*value))?;
                for page in (0..loaded.pages.len()).filter(|p| !is_empty(loaded, *p)) {
                    let span = span(loaded.page_statistics(page, &task.chunk), task);
                    let point = PointPage::Aligned { time: (*time, page), value: (*value, page) };
                    pages.push(Placed { page: point, span, rank: (task.chunk.rank, page) });
                }
            }
            let columns = self.column(series).into_iter().collect();
            sources.push(Source { columns, units: self.merged(pages), run: None, last: None });
        }
        if self.mode == Mode::Rows {
            let mut pages = Vec::new();
            for time in times {
                let (task, loaded, _) = self.input.get(*time)?;
                for page in (0..loaded.pages.len()).filter(|p| !is_empty(loaded, *p)) {
                    let span = span(loaded.page_statistics(page, &task.chunk), task);
                    pages.push(Placed {
                        page: PointPage::Times((*time, page)),
                        span,
                        rank: (task.chunk.rank, page),
                    });
                }
            }
            sources.push(Source { columns: Vec::new(), units: self.merged(pages), run: None, last: None });
        }
        Ok(sources)
    }

    /// All pages as one unit, lowest rank first.
    fn merged(&self, mut pages: Vec<Placed>) -> VecDeque<DecodeUnit> {
        pages.retain(|p| !self.is_out(p.span));
        pages.sort_by_key(|p| p.rank);
        if pages.is_empty() {
            return VecDeque::new();
        }
        VecDeque::from([DecodeUnit::Points(pages.into_iter().map(|p| p.page).collect())])
    }

    fn ordinary_pages(&self, series: &SeriesChunks) -> Result<Vec<Placed>> {
        let mut pages = Vec::new();
        for chunk in &series.chunks {
            let Ok((task, loaded, _)) = self.input.get(*chunk) else { continue };
            if loaded.header.is_value_column() {
                continue;
            }
            if loaded.header.data_type == DataType::Vector {
                return Err(Error::internal("a time column is read as a series"));
            }
            for page in (0..loaded.pages.len()).filter(|p| !is_empty(loaded, *p)) {
                let span = span(loaded.page_statistics(page, &task.chunk), task);
                let id: PageId = (*chunk, page);
                pages.push(Placed { page: PointPage::Ordinary(id), span, rank: (task.chunk.rank, page) });
            }
        }
        Ok(pages)
    }

    /// The source of the ordinary chunks of a series.
    fn ordinary(&self, series: &SeriesChunks) -> Result<Option<Source>> {
        if series.slot.is_some() && series.chunks.iter().any(|c| self.is_aligned(*c)) {
            // Mixed series are read with the aligned groups.
            return Ok(None);
        }
        let mut pages = self.ordinary_pages(series)?;
        if pages.is_empty() {
            return Ok(None);
        }
        let columns = self.column(series).into_iter().collect();
        pages.sort_by_key(|p| p.span);
        let ordered = pages.windows(2).all(|pair| pair[0].span.1 < pair[1].span.0);
        // The first two versions state the times of the first and last point of a page: other points may be
        // outside.
        let bounded = series
            .chunks
            .iter()
            .all(|c| self.input.get(*c).map_or(true, |(_, _, facts)| !facts.version.is_flat()));
        let units = if ordered && bounded {
            let wanted = pages.into_iter().filter(|p| !self.is_out(p.span) && !self.is_hopeless(series, p));
            wanted.map(|p| DecodeUnit::Points(vec![p.page])).collect()
        } else {
            self.merged(pages)
        };
        Ok(Some(Source { columns, units, run: None, last: None }))
    }

    /// Whether no point of a page can match, in the long table.
    fn is_hopeless(&self, series: &SeriesChunks, placed: &Placed) -> bool {
        let (Mode::Points, PointPage::Ordinary((chunk, page))) = (self.mode, placed.page) else {
            return false;
        };
        let Some(name) = self.names.get(series.column) else { return false };
        let Ok((task, loaded, _)) = self.input.get(chunk) else { return false };
        let bounds = loaded.page_statistics(page, &task.chunk).and_then(|s| safe_bounds(s, &loaded.header));
        bounds.is_some_and(|bounds| self.pruner.rules_out(name, placed.span.0, placed.span.1, &bounds))
    }
}
