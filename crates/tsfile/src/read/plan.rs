//! Plans a device: selects the chunks that a scan needs and splits them into tasks along the time axis.
//!
//! Chunks that overlap in time form an overlap; distinct overlaps are disjoint, so tasks return rows in time order
//! and are independent. Small overlaps share a task.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tesselle_core::{Plan, Task};

use super::batch::Projection;
use super::device_data::{ColumnData, DeviceData};
use super::loaded::ChunkRef;
use super::prune::{Pruner, Span};
use super::source::TaskChunk;
use super::task::{Overlap, ScanTask, SeriesChunks, TimeWindow};
use crate::meta::DataType;
use crate::open::Archive;

/// Target number of values per task; a smaller overlap is joined with the next one.
const TASK_VALUES: u64 = 1 << 18;

/// Maximum number of values per task; larger overlaps are shared by several tasks.
const SHARED_VALUES: u64 = 1 << 18;
/// Maximum number of tasks that share chunks; each of them reads all page headers.
const MAX_WINDOWS: u64 = 64;

/// The rows of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A row per time.
    Rows,
    /// A row per point.
    Points,
}

/// A scan of one device.
pub(crate) struct DeviceScan {
    /// The output columns.
    pub(crate) projection: Arc<Projection>,
    /// Rows or points.
    pub(crate) mode: Mode,
    /// For each column of the device the slot it fills.
    pub(crate) slots: Vec<Option<usize>>,
    /// For each column of the device its name in the predicate.
    pub(crate) names: Arc<[Arc<str>]>,
    /// Pruning by statistics.
    pub(crate) pruner: Arc<Pruner>,
}

/// A selected chunk with its column; `None` is the time column.
struct Kept {
    column: Option<usize>,
    chunk: ChunkRef,
    values: bool,
}

/// Adds the tasks that scan a device to `plan`.
pub(crate) fn plan_device(archive: &Arc<Archive>, data: &DeviceData, request: &DeviceScan, plan: &mut Plan) {
    if request.pruner.rules_out_all() {
        plan.pruned += data.columns.iter().map(|c| c.chunks.len() as u64).sum::<u64>();
        plan.pieces += data.columns.iter().map(|c| c.chunks.len() as u64).sum::<u64>();
        return;
    }
    let kept = choose(data, request, plan);
    let mut overlaps = cut(kept);
    let mut pending: Vec<Vec<Kept>> = Vec::new();
    let mut size = 0_u64;
    let cell_count =
        |part: &[Kept]| part.iter().fold(0_u64, |n, k| n.saturating_add(k.chunk.statistics.count));
    while let Some(overlap) = overlaps.pop() {
        size = size.saturating_add(cell_count(&overlap));
        pending.push(overlap);
        if size >= TASK_VALUES || overlaps.is_empty() {
            let parts = std::mem::take(&mut pending);
            for window in time_windows(archive, &request.pruner, &parts, size) {
                plan.tasks.push(task(archive, data, request, &parts, &window));
            }
            size = 0;
        }
    }
}

/// The tasks that read these overlaps. An overlap with many values is read by several tasks, each for a
/// time range; this requires pages with reliable bounds, and a storage where reading the same bytes again is
/// free.
fn time_windows(archive: &Archive, pruner: &Pruner, parts: &[Vec<Kept>], values: u64) -> Vec<TimeWindow> {
    let loaded = Arc::default();
    let whole = vec![TimeWindow { times: None, parts: 1, first: true, loaded: Arc::clone(&loaded) }];
    let count = (values / SHARED_VALUES).min(MAX_WINDOWS);
    let ([overlap], true) = (parts, count > 1) else { return whole };
    let one_each = {
        let mut columns: Vec<_> = overlap.iter().map(|k| k.column).collect();
        columns.sort_unstable();
        columns.windows(2).all(|pair| pair[0] != pair[1])
    };
    let bounded = archive.files.iter().all(|f| !f.file.version.is_flat());
    if !one_each || !bounded || archive.location.storage().hints().concurrency > 1 {
        return whole;
    }
    let lo = overlap.iter().map(|k| k.chunk.lo).min().unwrap_or(i64::MIN);
    let hi = overlap.iter().map(|k| k.chunk.hi).max().unwrap_or(i64::MAX);
    let slices = wanted_slices(pruner, lo, hi);
    let wanted = u128::from(values) * slices.len() as u128 / u128::from(SLICES);
    let count = u64::try_from(wanted).unwrap_or(u64::MAX).div_ceil(SHARED_VALUES).min(count).max(1);
    if count == 1 {
        return whole;
    }
    // The same number of slices for each. Slices without wanted rows belong to the preceding task.
    let groups = slices.chunks(slices.len().div_ceil(count as usize).max(1));
    let starts: Vec<i64> = groups.filter_map(|group| group.first()).map(|slice| slice.0).skip(1).collect();
    let firsts = std::iter::once(i64::MIN).chain(starts.iter().copied());
    let lasts = starts.iter().map(|start| start.saturating_sub(1)).chain(std::iter::once(i64::MAX));
    let windows = firsts.zip(lasts);
    windows
        .enumerate()
        .map(|(i, times)| TimeWindow {
            times: Some(times),
            parts: count,
            first: i == 0,
            loaded: Arc::clone(&loaded),
        })
        .collect()
}

/// Time slices probed when an overlap is split into tasks.
const SLICES: u64 = 64;

/// The slices of the range from `lo` to `hi` that may have matching rows, the outer ones open.
fn wanted_slices(pruner: &Pruner, lo: i64, hi: i64) -> Vec<(i64, i64)> {
    let span = i128::from(hi) - i128::from(lo);
    let start = |i: u64| (i128::from(lo) + span * i128::from(i) / i128::from(SLICES)) as i64;
    let slice = |i: u64| {
        let from = if i == 0 { i64::MIN } else { start(i) };
        let to = if i + 1 == SLICES { i64::MAX } else { start(i + 1).saturating_sub(1) };
        (from, to)
    };
    let is_wanted =
        |(from, to): &(i64, i64)| from <= to && !pruner.rules_out_time(lo.max(*from), hi.min(*to));
    (0..SLICES).map(slice).filter(is_wanted).collect()
}

/// The chunks that may have rows of the scan.
fn choose(data: &DeviceData, request: &DeviceScan, plan: &mut Plan) -> Vec<Kept> {
    let pruner = &request.pruner;
    let mentioned = pruner.columns();
    let is_mentioned = |i: usize| request.names.get(i).is_some_and(|name| mentioned.contains(&&**name));
    // A row without a value in a column that the predicate requires never matches, so the times of columns
    // that are not selected are not needed.
    let needed = request.mode == Mode::Rows
        && (0..data.columns.len())
            .any(|i| is_mentioned(i) && request.names.get(i).is_some_and(|n| pruner.rejects_null(n)));
    // A column has no values where it has no chunk. Pruning by value bounds happens once the encodings are
    // known from the chunk headers, because some encodings are lossy.
    let excluded = if request.mode == Mode::Rows {
        let columns = data.columns.iter().enumerate().filter(|(i, _)| is_mentioned(*i));
        pruner.excluded(columns.filter_map(|(i, column)| Some((&**request.names.get(i)?, spans(column)))))
    } else {
        super::prune::TimeRanges::default()
    };
    let mut kept = Vec::new();
    let mut consider = |column: Option<usize>, chunk: &ChunkRef, values: bool| {
        plan.pieces += 1;
        let dead = chunk.is_deleted()
            || excluded.covers(chunk.lo, chunk.hi)
            || pruner.rules_out_time(chunk.lo, chunk.hi);
        if dead {
            plan.pruned += 1;
        } else {
            kept.push(Kept { column, chunk: chunk.clone(), values });
        }
    };
    for (i, column) in data.columns.iter().enumerate() {
        let wanted = request.slots.get(i).copied().flatten().is_some();
        let makes_rows = request.mode == Mode::Rows && (!needed || is_mentioned(i));
        for chunk in &column.chunks {
            if wanted || (makes_rows && chunk.time_chunk.is_none()) {
                consider(Some(i), chunk, wanted);
            }
        }
    }
    let aligned_wanted = kept.iter().any(|k| k.chunk.time_chunk.is_some());
    if request.mode == Mode::Rows || aligned_wanted {
        let used: HashSet<(usize, u64)> =
            kept.iter().filter_map(|k| Some((k.chunk.file, k.chunk.time_chunk?))).collect();
        let mut times = Vec::new();
        for chunk in &data.times {
            plan.pieces += 1;
            let dead = chunk.is_deleted()
                || excluded.covers(chunk.lo, chunk.hi)
                || pruner.rules_out_time(chunk.lo, chunk.hi);
            if (request.mode == Mode::Rows && !dead) || used.contains(&(chunk.file, chunk.offset)) {
                times.push(Kept { column: None, chunk: chunk.clone(), values: true });
            } else {
                plan.pruned += 1;
            }
        }
        kept.extend(times);
    }
    kept
}

fn spans(column: &ColumnData) -> Vec<Span> {
    column.chunks.iter().map(|c| Span { lo: c.lo, hi: c.hi, bounds: None }).collect()
}

/// Splits chunks into overlaps that are disjoint in time, the last one first.
fn cut(mut kept: Vec<Kept>) -> Vec<Vec<Kept>> {
    kept.sort_by_key(|k| (k.chunk.lo, k.chunk.hi));
    let mut overlaps: Vec<Vec<Kept>> = Vec::new();
    let mut end = i64::MIN;
    for chunk in kept {
        match overlaps.last_mut() {
            Some(overlap) if chunk.chunk.lo <= end => {
                end = end.max(chunk.chunk.hi);
                overlap.push(chunk);
            }
            _ => {
                end = chunk.chunk.hi;
                overlaps.push(vec![chunk]);
            }
        }
    }
    overlaps.reverse();
    overlaps
}

fn task(
    archive: &Arc<Archive>,
    data: &DeviceData,
    request: &DeviceScan,
    parts: &[Vec<Kept>],
    window: &TimeWindow,
) -> Box<dyn Task> {
    let mut chunks = Vec::new();
    let mut overlaps = Vec::with_capacity(parts.len());
    for part in parts {
        let mut overlap = Overlap::default();
        let mut index_of: HashMap<usize, usize> = HashMap::new();
        for kept in part {
            let at = chunks.len();
            let column = kept.column.and_then(|i| Some((i, data.columns.get(i)?)));
            match column {
                Some((i, _)) => {
                    let at_series = *index_of.entry(i).or_insert(overlap.series.len());
                    if at_series == overlap.series.len() {
                        let slot = request.slots.get(i).copied().flatten();
                        overlap.series.push(SeriesChunks { column: i, slot, chunks: Vec::new() });
                    }
                    if let Some(series) = overlap.series.get_mut(at_series) {
                        series.chunks.push(at);
                    }
                }
                None => overlap.times.push(at),
            }
            let empty: Arc<str> = "".into();
            chunks.push(TaskChunk {
                chunk: kept.chunk.clone(),
                name: column.map_or(empty, |(_, c)| Arc::clone(&c.name)),
                data_type: column.map_or(DataType::Vector, |(_, c)| c.data_type),
                values: kept.values,
            });
        }
        overlaps.push(overlap);
    }
    let names = Arc::clone(&request.names);
    Box::new(ScanTask::new(
        archive,
        &data.path,
        Arc::clone(&request.projection),
        request.mode,
        Arc::clone(&request.pruner),
        names,
        chunks,
        overlaps,
        window,
    ))
}
