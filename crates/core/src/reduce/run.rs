//! Running a reduction: groups and chunks of tiles on the driver's threads.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ReduceOp;
use super::fold::Fold;
use super::result::Values;
use super::shape::Shape;
use super::tile::{Axis, fold_box};
use crate::array::{ArrayView, Cut, Piece, Request, Target, TileGrid, TilePart};
use crate::driver::{Driver, Lease, parallel};
use crate::error::{Error, Result};
use crate::selection::Region;
use crate::stats::RunStats;

/// Work units that few groups are split into, and the memory of their accumulators. Both are independent of the
/// machine: the grouping of sums must not depend on it.
const UNITS: usize = 512;
const UNIT_MEMORY: usize = 64 << 20;

/// A reduction, planned.
pub(super) struct Reduction<'a> {
    cut: Cut<'a>,
    grid: TileGrid,
    op: ReduceOp,
    shape: &'a Shape,
    /// For each axis, the stride in the result (kept) or among the indexes (reduced).
    strides: Vec<u64>,
    groups: usize,
    /// Tiles per group.
    tiles: usize,
    size: usize,
    driver: &'a Driver,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Reduction<'a> {
    pub(super) fn try_new(
        array: &'a dyn ArrayView,
        region: &Region,
        op: ReduceOp,
        shape: &'a Shape,
        driver: &'a Driver,
    ) -> Result<Self> {
        let cut = Cut::try_new(array, region, driver)?;
        let grid = cut.grid(region)?;
        let count = |reduced: bool| {
            let lists = grid.axes.iter().zip(&shape.reduced).filter(|(_, r)| **r == reduced);
            let count = lists.map(|(axis, _)| axis.parts.len()).try_fold(1_usize, usize::checked_mul);
            count
                .filter(|n| *n < usize::MAX / UNITS)
                .ok_or_else(|| Error::limit("the region has too many tiles"))
        };
        let (groups, tiles) = (count(false)?, count(true)?);
        let mut strides = vec![0; shape.reduced.len()];
        let (mut kept, mut reduced) = (1_u64, 1_u64);
        for (axis, extent) in region.shape().into_iter().enumerate().rev() {
            let next = if shape.reduced[axis] { &mut reduced } else { &mut kept };
            strides[axis] = *next;
            *next *= extent;
        }
        Ok(Self { cut, grid, op, shape, strides, groups, tiles, size: array.dtype().size(), driver })
    }

    pub(super) fn op(&self) -> ReduceOp {
        self.op
    }

    /// Runs the kernel over all tiles.
    pub(super) fn run<F: Fold>(&self) -> Result<Values> {
        let outputs = self.largest(|axis| !self.shape.reduced[axis], |part| part.len);
        let accumulators = outputs.saturating_mul(F::BYTES);
        let chunks = (UNITS / self.groups).min(UNIT_MEMORY / accumulators.max(1)).clamp(1, self.tiles);
        let values = Values::of_nothing(self.op.is_float(self.cut.array.dtype()), self.shape.kept_cells)?;
        let run = FoldRun::<F> {
            reduction: self,
            chunks,
            next: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            merges: (0..if chunks > 1 { self.groups } else { 0 }).map(|_| Mutex::default()).collect(),
            result: Mutex::new(values),
        };
        let cells = self.shape.reduced_cells.saturating_mul(self.shape.kept_cells as u64);
        self.driver.progress().expect(cells.saturating_mul(self.size as u64));
        let units = self.groups * chunks;
        self.driver.check_piece(self.tile_bytes())?;
        let (workers, _lease) = self.workers(units, accumulators);
        if workers == 1 && units == 1 {
            run.work()?;
        } else {
            self.driver.install(|| parallel::try_for_each(0..workers, |_| run.work()))?;
        }
        Ok(run.result.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The memory of the largest tile, if tiles are decoded.
    fn tile_bytes(&self) -> u64 {
        if self.cut.held().is_some() {
            return 0;
        }
        self.largest(|_| true, |part| part.extent).saturating_mul(self.size) as u64
    }

    /// The number of threads, by the memory they need and what is free. At least one: it needs the memory of one tile.
    fn workers(&self, units: usize, accumulators: usize) -> (usize, Option<Lease>) {
        let each = (accumulators as u64).saturating_add(self.tile_bytes());
        let most = self.driver.threads().min(units);
        for workers in (1..=most).rev() {
            let bytes = each.saturating_mul(workers as u64);
            let fits = workers == 1 || bytes <= self.driver.budget().total();
            if let Some(lease) = fits.then(|| self.driver.budget().try_take(bytes)).flatten() {
                return (workers, Some(lease));
            }
        }
        (1, None)
    }

    /// The product over some axes of the largest of their parts.
    fn largest(&self, axes: impl Fn(usize) -> bool, of: impl Fn(&TilePart) -> u64) -> usize {
        let lists = self.grid.axes.iter().enumerate().filter(|(axis, _)| axes(*axis));
        lists.fold(1_usize, |n, (_, axis)| {
            n.saturating_mul(axis.parts.iter().map(&of).max().unwrap_or(0) as usize)
        })
    }

    /// Sets `parts` to the parts number `position`, row-major, of the kept or reduced axes.
    fn locate(&self, reduced: bool, mut position: usize, parts: &mut [TilePart]) {
        let axes = self.grid.axes.iter().zip(&self.shape.reduced).zip(parts);
        for ((axis, _), part) in axes.rev().filter(|((_, r), _)| **r == reduced) {
            let n = axis.parts.len().max(1);
            if let Some(found) = axis.parts.get(position % n) {
                *part = *found;
            }
            position /= n;
        }
    }

    /// Outputs of a group.
    fn outputs(&self, parts: &[TilePart]) -> usize {
        let kept = parts.iter().zip(&self.shape.reduced).filter(|(_, reduced)| !**reduced);
        kept.map(|(part, _)| part.len as usize).product()
    }

    /// Writes the results of a group to the output.
    fn place(&self, parts: &[TilePart], part: &Values, result: &mut Values) {
        let axes: Vec<(usize, usize)> = self
            .strides
            .iter()
            .zip(parts)
            .zip(&self.shape.reduced)
            .filter(|(_, reduced)| !**reduced)
            .map(|((stride, part), _)| (part.len as usize, *stride as usize))
            .collect();
        let start: usize = self
            .strides
            .iter()
            .zip(parts)
            .zip(&self.shape.reduced)
            .filter(|(_, reduced)| !**reduced)
            .map(|((stride, part), _)| part.index as usize * *stride as usize)
            .sum();
        let (run, outer) = axes.split_last().map_or((1, &[][..]), |((len, _), outer)| (*len, outer));
        let rows = outer.iter().map(|(len, _)| *len).product::<usize>();
        let places = (0..rows).map(|row| {
            let (mut rest, mut place) = (row, start);
            for (len, stride) in outer.iter().rev() {
                place += rest % len * stride;
                rest /= len;
            }
            place
        });
        result.scatter(part, run, places);
    }
}

/// State shared by the threads of one run.
struct FoldRun<'a, F> {
    reduction: &'a Reduction<'a>,
    chunks: usize,
    next: AtomicUsize,
    stopped: AtomicBool,
    merges: Vec<Mutex<Merge<F>>>,
    result: Mutex<Values>,
}

/// The finished chunks of a group: the first ones merged, the others waiting for their turn.
struct Merge<F> {
    next: usize,
    merged: Option<F>,
    waiting: BTreeMap<usize, F>,
}

impl<F> Default for Merge<F> {
    fn default() -> Self {
        Self { next: 0, merged: None, waiting: BTreeMap::new() }
    }
}

/// Reused buffers of a thread.
#[derive(Default)]
struct Buffers {
    tile: Vec<u8>,
    gathered: Vec<u8>,
    axes: Vec<Axis>,
}

impl<F: Fold> FoldRun<'_, F> {
    /// Processes units until none are left.
    fn work(&self) -> Result<()> {
        let done = self.units();
        if done.is_err() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        done
    }

    fn units(&self) -> Result<()> {
        let reduction = self.reduction;
        let mut buffers = Buffers::default();
        let none = TilePart { tile: 0, first: 0, len: 0, index: 0, extent: 0 };
        let mut parts = vec![none; reduction.grid.axes.len()];
        while !self.stopped.load(Ordering::Relaxed) {
            let unit = self.next.fetch_add(1, Ordering::Relaxed);
            let (group, chunk) = (unit / self.chunks, unit % self.chunks);
            if group >= reduction.groups {
                break;
            }
            reduction.locate(false, group, &mut parts);
            let outputs = reduction.outputs(&parts);
            let mut fold = F::new(outputs);
            let mut tiles =
                chunk * reduction.tiles / self.chunks..(chunk + 1) * reduction.tiles / self.chunks;
            while !tiles.is_empty() {
                self.tiles(&mut fold, &mut tiles, &mut parts, &mut buffers)?;
            }
            if let Some(fold) = self.merged(group, chunk, fold, outputs) {
                let answers = fold.finish(reduction.op, reduction.shape.reduced_cells);
                reduction.place(&parts, &answers, &mut lock(&self.result));
            }
        }
        Ok(())
    }

    /// The accumulators of the whole group, once its last chunk is merged.
    fn merged(&self, group: usize, chunk: usize, fold: F, outputs: usize) -> Option<F> {
        let Some(merge) = self.merges.get(group) else { return Some(fold) };
        let mut merge = lock(merge);
        let merge = &mut *merge;
        merge.waiting.insert(chunk, fold);
        while let Some(later) = merge.waiting.remove(&merge.next) {
            merge.next += 1;
            match &mut merge.merged {
                Some(merged) => merged.merge(0, &later, 0, outputs),
                first => *first = Some(later),
            }
        }
        if merge.next == self.chunks { merge.merged.take() } else { None }
    }

    /// Folds the next tiles of a group: as many as are fetched at once.
    fn tiles(
        &self,
        fold: &mut F,
        tiles: &mut Range<usize>,
        parts: &mut [TilePart],
        buffers: &mut Buffers,
    ) -> Result<()> {
        let reduction = self.reduction;
        let (most, most_bytes) = reduction.cut.group();
        let (mut pieces, mut places, mut bytes) = (Vec::new(), Vec::new(), 0_u64);
        // No target: the tile itself is folded.
        let nowhere = Target { first: &[], shape: &[] };
        while pieces.len() < most && bytes < most_bytes {
            let Some(tile) = tiles.next() else { break };
            reduction.locate(true, tile, parts);
            let piece = reduction.cut.piece(&reduction.grid, parts, nowhere)?;
            bytes = bytes.saturating_add(piece.bytes);
            pieces.push(piece);
            places.push(parts.to_vec());
        }
        let mut request = Request::try_new(&reduction.cut, pieces)?;
        let fetched = request.fetch(reduction.cut.array, reduction.driver)?;
        for (at, (piece, parts)) in request.pieces().iter().zip(&places).enumerate() {
            reduction.driver.check_canceled()?;
            let cells = request.cells(at, reduction.cut.array, &fetched, &mut buffers.tile)?;
            self.tile(fold, piece, parts, &cells, (&mut buffers.axes, &mut buffers.gathered));
        }
        Ok(())
    }

    fn tile(
        &self,
        fold: &mut F,
        piece: &Piece,
        parts: &[TilePart],
        cells: &[u8],
        (axes, gathered): (&mut Vec<Axis>, &mut Vec<u8>),
    ) {
        let reduction = self.reduction;
        axes.clear();
        let (mut out, mut index, mut count) = (1, 0, 1_u64);
        for (axis, part) in parts.iter().enumerate().rev() {
            let (len, reduced) = (part.len as usize, reduction.shape.reduced[axis]);
            let src = piece.copy.axes[axis].src;
            let stride = reduction.strides[axis];
            count *= part.len;
            if reduced {
                index += part.index * stride;
                axes.push(Axis { len, src, out: 0, index: stride, reduced });
            } else {
                axes.push(Axis { len, src, out, index: 0, reduced });
                out *= len;
            }
        }
        axes.reverse();
        fold_box(fold, cells, axes, index, gathered);
        let bytes = count * reduction.size as u64;
        reduction.driver.counters().add(&RunStats { read: 1, bytes_decoded: bytes, ..RunStats::default() });
        reduction.driver.progress().advance(bytes);
    }
}
