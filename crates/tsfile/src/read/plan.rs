//! Planning a device: which chunks a scan needs, cut into tasks along the axis of time.
//!
//! Chunks that overlap in time form a component; components are disjoint, so tasks give rows in the order of time
//! and need nothing of each other. Small components share a task.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tesselle_core::{Plan, Task};

use super::assemble::{ColumnData, DeviceData};
use super::loaded::ChunkRef;
use super::output::Shape;
use super::prune::{Piece, Pruner};
use super::source::TaskChunk;
use super::task::{Component, ScanTask, Share, Strand};
use crate::meta::DataType;
use crate::open::Archive;

/// Values a task should have; less is joined with the next component.
const TASK_VALUES: u64 = 1 << 18;

/// Values a task may have; chunks with more are shared by several tasks.
const SHARED_VALUES: u64 = 1 << 18;
/// Tasks that share chunks; each of them looks at all page headers.
const MAX_SHARES: u64 = 64;

/// What the rows of a scan are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A row per time.
    Rows,
    /// A row per point.
    Points,
}

/// A scan of one device.
pub(crate) struct Request {
    /// What comes out.
    pub(crate) shape: Arc<Shape>,
    /// Rows or points.
    pub(crate) mode: Mode,
    /// For each column of the device the slot it fills.
    pub(crate) slots: Vec<Option<usize>>,
    /// For each column of the device what the predicate calls it.
    pub(crate) names: Arc<[Arc<str>]>,
    /// What statistics can rule out.
    pub(crate) pruner: Arc<Pruner>,
}

/// A chunk that is kept, with the column it belongs to; `None` is the time column.
struct Kept {
    column: Option<usize>,
    chunk: ChunkRef,
    values: bool,
}

/// Adds the tasks that scan a device to `plan`.
pub(crate) fn plan_device(archive: &Arc<Archive>, data: &DeviceData, request: &Request, plan: &mut Plan) {
    if request.pruner.rules_out_all() {
        plan.pruned += data.columns.iter().map(|c| c.chunks.len() as u64).sum::<u64>();
        plan.pieces += data.columns.iter().map(|c| c.chunks.len() as u64).sum::<u64>();
        return;
    }
    let kept = choose(data, request, plan);
    let mut components = cut(kept);
    let mut pending: Vec<Vec<Kept>> = Vec::new();
    let mut size = 0_u64;
    let cell_count =
        |part: &[Kept]| part.iter().fold(0_u64, |n, k| n.saturating_add(k.chunk.statistics.count));
    while let Some(component) = components.pop() {
        size = size.saturating_add(cell_count(&component));
        pending.push(component);
        if size >= TASK_VALUES || components.is_empty() {
            let parts = std::mem::take(&mut pending);
            for share in shares(archive, &request.pruner, &parts, size) {
                plan.tasks.push(task(archive, data, request, &parts, &share));
            }
            size = 0;
        }
    }
}

/// The tasks that read these components. One component of many values is read by several tasks, each for a stretch of
/// time; that takes pages whose bounds can be trusted, and a storage where asking again for the same bytes is free.
fn shares(archive: &Archive, pruner: &Pruner, parts: &[Vec<Kept>], values: u64) -> Vec<Share> {
    let loaded = Arc::default();
    let whole = vec![Share { window: None, parts: 1, first: true, loaded: Arc::clone(&loaded) }];
    let count = (values / SHARED_VALUES).min(MAX_SHARES);
    let ([component], true) = (parts, count > 1) else { return whole };
    let one_each = {
        let mut columns: Vec<_> = component.iter().map(|k| k.column).collect();
        columns.sort_unstable();
        columns.windows(2).all(|pair| pair[0] != pair[1])
    };
    let bounded = archive.files.iter().all(|f| !f.file.version.is_flat());
    if !one_each || !bounded || archive.location.storage().hints().concurrency > 1 {
        return whole;
    }
    let lo = component.iter().map(|k| k.chunk.lo).min().unwrap_or(i64::MIN);
    let hi = component.iter().map(|k| k.chunk.hi).max().unwrap_or(i64::MAX);
    let slices = wanted_slices(pruner, lo, hi);
    let wanted = u128::from(values) * slices.len() as u128 / u128::from(SLICES);
    let count = u64::try_from(wanted).unwrap_or(u64::MAX).div_ceil(SHARED_VALUES).min(count).max(1);
    if count == 1 {
        return whole;
    }
    // As many slices for each. Those that nobody wants may lie between: they are the task's before them.
    let groups = slices.chunks(slices.len().div_ceil(count as usize).max(1));
    let starts: Vec<i64> = groups.filter_map(|group| group.first()).map(|slice| slice.0).skip(1).collect();
    let firsts = std::iter::once(i64::MIN).chain(starts.iter().copied());
    let lasts = starts.iter().map(|start| start.saturating_sub(1)).chain(std::iter::once(i64::MAX));
    let windows = firsts.zip(lasts);
    windows
        .enumerate()
        .map(|(i, window)| Share {
            window: Some(window),
            parts: count,
            first: i == 0,
            loaded: Arc::clone(&loaded),
        })
        .collect()
}

/// Slices of time in which it is looked for rows before the work is shared out.
const SLICES: u64 = 64;

/// The slices of the stretch from `lo` to `hi` that may have wanted rows, the outer ones open.
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

/// The chunks that may hold what the scan asks for.
fn choose(data: &DeviceData, request: &Request, plan: &mut Plan) -> Vec<Kept> {
    let pruner = &request.pruner;
    let mentioned = pruner.columns();
    let is_mentioned = |i: usize| request.names.get(i).is_some_and(|name| mentioned.contains(&&**name));
    // A row that lacks a value in a column where the predicate needs one never matches: the times of columns that
    // nobody asked for are then of no interest.
    let needed = request.mode == Mode::Rows
        && (0..data.columns.len())
            .any(|i| is_mentioned(i) && request.names.get(i).is_some_and(|n| pruner.rejects_null(n)));
    // Where a column has no chunk it has no value. What bounds of values rule out is judged once the encodings are
    // known, which stand in the headers of the chunks: some keep values only roughly.
    let excluded = if request.mode == Mode::Rows {
        let columns = data.columns.iter().enumerate().filter(|(i, _)| is_mentioned(*i));
        pruner.excluded(columns.filter_map(|(i, column)| Some((&**request.names.get(i)?, pieces(column)))))
    } else {
        super::prune::Stretches::default()
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

fn pieces(column: &ColumnData) -> Vec<Piece> {
    column.chunks.iter().map(|c| Piece { lo: c.lo, hi: c.hi, bounds: None }).collect()
}

/// Cuts chunks into components that are disjoint in time, the last one first.
fn cut(mut kept: Vec<Kept>) -> Vec<Vec<Kept>> {
    kept.sort_by_key(|k| (k.chunk.lo, k.chunk.hi));
    let mut components: Vec<Vec<Kept>> = Vec::new();
    let mut end = i64::MIN;
    for chunk in kept {
        match components.last_mut() {
            Some(component) if chunk.chunk.lo <= end => {
                end = end.max(chunk.chunk.hi);
                component.push(chunk);
            }
            _ => {
                end = chunk.chunk.hi;
                components.push(vec![chunk]);
            }
        }
    }
    components.reverse();
    components
}

fn task(
    archive: &Arc<Archive>,
    data: &DeviceData,
    request: &Request,
    parts: &[Vec<Kept>],
    share: &Share,
) -> Box<dyn Task> {
    let mut chunks = Vec::new();
    let mut components = Vec::with_capacity(parts.len());
    for part in parts {
        let mut component = Component::default();
        let mut strands: HashMap<usize, usize> = HashMap::new();
        for kept in part {
            let at = chunks.len();
            let column = kept.column.and_then(|i| Some((i, data.columns.get(i)?)));
            match column {
                Some((i, _)) => {
                    let strand = *strands.entry(i).or_insert(component.strands.len());
                    if strand == component.strands.len() {
                        let slot = request.slots.get(i).copied().flatten();
                        component.strands.push(Strand { column: i, slot, chunks: Vec::new() });
                    }
                    if let Some(strand) = component.strands.get_mut(strand) {
                        strand.chunks.push(at);
                    }
                }
                None => component.times.push(at),
            }
            let empty: Arc<str> = "".into();
            chunks.push(TaskChunk {
                chunk: kept.chunk.clone(),
                name: column.map_or(empty, |(_, c)| Arc::clone(&c.name)),
                data_type: column.map_or(DataType::Vector, |(_, c)| c.data_type),
                values: kept.values,
            });
        }
        components.push(component);
    }
    let names = Arc::clone(&request.names);
    Box::new(ScanTask::new(
        archive,
        &data.path,
        Arc::clone(&request.shape),
        request.mode,
        Arc::clone(&request.pruner),
        names,
        chunks,
        components,
        share,
    ))
}
