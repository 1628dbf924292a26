//! Dense writes (spec §8.2): a box of cells into tiles.

use std::ops::Range as Span;

use arrow_array::RecordBatch;
use tesselle_core::driver::parallel;
use tesselle_core::{At, Within};

use super::array::{ArrayWriter, Written};
use super::cells::{Cells, TileCells};
use super::fragment::{FinishedFragment, FragmentEnd, FragmentWriter, Spare, TileSet, stored_fields};
use super::label::check_order;
use super::name::stamp;
use super::outside::limit_hint;
use crate::filter::Filter;
use crate::meta::layout::Layout;
use crate::meta::schema::{ArrayKind, ArraySchema};
use crate::meta::value::Bounds;
use crate::order::grid::{CellBox, Grid};
use crate::{Error, Result};

/// The order of the cells given to a dense write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CellOrder {
    /// The last dimension runs fastest.
    #[default]
    RowMajor,
    /// The first dimension runs fastest.
    ColMajor,
    /// As the array stores them: tile by tile, each tile's cells in cell order.
    Global,
}

/// Bytes of tiles that are filtered and not written yet.
const GROUP: usize = 16 << 20;
/// The same for tiles so large that fewer of them than threads are in a group.
const LARGE_GROUP: usize = 256 << 20;
/// The largest tile that is written.
const LARGEST_TILE: u64 = 1 << 32;

impl ArrayWriter {
    /// Writes the box `region`, one inclusive range of coordinates per dimension. `batch` has one column per attribute
    /// and one row per cell of the box, in `order`.
    pub fn write_dense(
        &self,
        region: &[Bounds],
        batch: &RecordBatch,
        order: CellOrder,
        timestamp: Option<u64>,
    ) -> Result<Written> {
        let timestamps = stamp(timestamp);
        let written = self.write_box(region, batch, order, timestamps)?;
        self.commit_all(vec![written], timestamps)
    }

    /// Writes a box as a fragment that is not committed yet; its cells are counted.
    pub(super) fn write_box(
        &self,
        region: &[Bounds],
        batch: &RecordBatch,
        order: CellOrder,
        timestamps: (u64, u64),
    ) -> Result<(FinishedFragment, u64)> {
        if self.schema.kind != ArrayKind::Dense {
            return Err(Error::invalid("a sparse array takes cells with their coordinates, not a box"));
        }
        let grid = self.schema.grid()?;
        let region = checked_region(&self.schema, &grid, region)?;
        let cells = region.cells().unwrap_or(u64::MAX);
        if cells != batch.num_rows() as u64 {
            return Err(Error::invalid(format!(
                "the box has {cells} cells, the batch {} rows",
                batch.num_rows()
            )));
        }
        let columns = self.cells_of(batch, &stored_fields(&self.schema, false, false))?;
        for (attribute, column) in self.schema.attributes.iter().zip(&columns) {
            check_order(attribute, column)?;
        }
        let mut writer = FragmentWriter::create(self.plan(timestamps))?;
        let tiles = Tiler { schema: &self.schema, grid: &grid, region: &region, order };
        let end = FragmentEnd {
            domain: Some(grid.ranges_of(&region)),
            last_tile_cells: grid.cells_per_tile()?,
            ..FragmentEnd::default()
        };
        let fragment = self.install(|| {
            tiles.write(&columns, &mut writer)?;
            self.check_canceled()?;
            writer.finish(&end)
        })?;
        Ok((fragment, cells))
    }
}

/// The positions of a box; an error if it exceeds the domain.
pub(crate) fn checked_region(schema: &ArraySchema, grid: &Grid, ranges: &[Bounds]) -> Result<CellBox> {
    if ranges.len() != schema.dimensions.len() {
        return Err(Error::invalid(format!(
            "a box of {} ranges in an array of {} dimensions",
            ranges.len(),
            schema.dimensions.len()
        )));
    }
    for (i, (range, dimension)) in ranges.iter().zip(&schema.dimensions).enumerate() {
        let current = schema.current_domain.as_ref().and_then(|ranges| ranges.get(i));
        if let Some(limit) = current.or(dimension.domain.as_ref())
            && (!limit.covers(range) || range.low.compare(&range.high).is_none_or(std::cmp::Ordering::is_gt))
        {
            return Err(Error::invalid(format!(
                "the range [{}, {}] of dimension '{}' is empty or leaves [{}, {}]",
                range.low, range.high, dimension.name, limit.low, limit.high
            ))
            .hint(limit_hint(schema, &dimension.name)));
        }
    }
    grid.region_of(ranges)
}

/// Cuts the cells of a box into tiles.
pub(crate) struct Tiler<'a> {
    pub(crate) schema: &'a ArraySchema,
    pub(crate) grid: &'a Grid,
    pub(crate) region: &'a CellBox,
    pub(crate) order: CellOrder,
}

/// Cells that are consecutive in the tile and `step` apart in the source.
#[derive(Debug, Clone, Copy)]
struct CopyRun {
    tile: usize,
    source: usize,
    len: usize,
    step: usize,
}

/// One tile to fill: its index and, for global order, where its cells start in the source.
struct Job {
    index: Vec<u64>,
    source: usize,
}

impl Tiler<'_> {
    /// Appends the tiles of the box in tile order.
    pub(crate) fn write(&self, columns: &[Cells], writer: &mut FragmentWriter) -> Result<()> {
        let cells = self.grid.cells_per_tile()?;
        let widest = columns.iter().map(|column| column.size as u64).max().unwrap_or(1);
        if cells.saturating_mul(widest) > LARGEST_TILE {
            return Err(Error::limit(format!("tiles of {cells} cells are too large to write"))
                .hint("create the array with smaller tile extents"));
        }
        let cells = cells as usize;
        let per_tile = columns.iter().map(|column| cells.saturating_mul(column.size)).sum::<usize>().max(1);
        let ahead = tiles_ahead(per_tile, parallel::threads());
        writer.append_each(self.jobs()?, ahead, |job, spare| self.tile(&job, columns, cells, spare))
    }

    fn jobs(&self) -> Result<Vec<Job>> {
        let span = self.grid.tiles_of(self.region);
        let count =
            span.cells().and_then(|count| usize::try_from(count).ok()).filter(|count| *count < 1 << 32);
        let count = count.ok_or_else(|| Error::limit("the box touches too many tiles to write at once"))?;
        let (mut jobs, mut index, mut source) = (Vec::with_capacity(count), span.low.clone(), 0);
        loop {
            jobs.push(Job { index: index.clone(), source });
            let part = self.part(&index)?;
            let cells = part.cells().and_then(|cells| usize::try_from(cells).ok());
            source += cells.ok_or_else(|| Error::limit("a part of a tile has too many cells"))?;
            if !advance(&mut index, &span, self.grid.tile_order) {
                return Ok(jobs);
            }
        }
    }

    fn part(&self, index: &[u64]) -> Result<CellBox> {
        self.grid
            .tile_region(index)
            .intersect(self.region)
            .ok_or_else(|| Error::internal("a tile lies outside the box it was made for"))
    }

    fn tile(&self, job: &Job, columns: &[Cells], cells: usize, spare: &Spare) -> Result<TileSet> {
        let runs = self.runs(job)?;
        let covered: usize = runs.iter().map(|run| run.len).sum();
        let mut real: Vec<Span<usize>> = Vec::new();
        for run in &runs {
            match real.last_mut() {
                Some(last) if last.end == run.tile => last.end += run.len,
                _ => real.push(run.tile..run.tile + run.len),
            }
        }
        let fields = columns
            .iter()
            .zip(&self.schema.attributes)
            .map(|(column, attribute)| {
                let mut tile = fill(column, &runs, cells, spare);
                // The engine writes zero padding, but these filters fail on outliers.
                let picky = |filter: &Filter| {
                    matches!(filter, Filter::PositiveDelta { .. } | Filter::FloatScale { .. })
                };
                if covered < cells && column.offsets.is_none() && attribute.filters.filters.iter().any(picky)
                {
                    pad_like_neighbors(&mut tile.data, column.size, &real);
                }
                tile
            })
            .collect();
        Ok(TileSet { fields, real })
    }

    /// Where the cells of a tile come from, in the order of the tile's cells.
    fn runs(&self, job: &Job) -> Result<Vec<CopyRun>> {
        let too_large = || Error::limit("the box is too large for the memory of this machine");
        let tile = self.grid.tile_region(&job.index);
        let part = self.part(&job.index)?;
        let dims = self.grid.axes.len();
        let lens = |region: &CellBox| -> Result<Vec<usize>> {
            (0..dims).map(|axis| usize::try_from(region.len(axis)).map_err(|_| too_large())).collect()
        };
        let part_lens = lens(&part)?;
        let tile_steps = steps(&lens(&tile)?, self.grid.cell_order);
        let (source_box, source_order, base) = match self.order {
            CellOrder::RowMajor => (self.region, Layout::RowMajor, 0),
            CellOrder::ColMajor => (self.region, Layout::ColMajor, 0),
            CellOrder::Global => (&part, self.grid.cell_order, job.source),
        };
        let source_steps = steps(&lens(source_box)?, source_order);
        let start = |corner: &CellBox, steps: &[usize]| -> usize {
            let offsets = part.low.iter().zip(&corner.low).map(|(a, b)| (a - b) as usize);
            offsets.zip(steps).map(|(offset, step)| offset * step).sum()
        };
        // The axis along which adjacent cells are adjacent in the tile.
        let inner = if self.grid.cell_order == Layout::ColMajor { 0 } else { dims - 1 };
        let outer: Vec<usize> = if self.grid.cell_order == Layout::ColMajor {
            (1..dims).collect()
        } else {
            (0..dims - 1).rev().collect()
        };
        let (len, step) = (*part_lens.at(inner)?, *source_steps.at(inner)?);
        let mut run = CopyRun {
            tile: start(&tile, &tile_steps),
            source: base + start(source_box, &source_steps),
            len,
            step,
        };
        let mut runs: Vec<CopyRun> = Vec::new();
        let mut odometer = vec![0_usize; dims];
        loop {
            match runs.last_mut() {
                Some(last)
                    if last.step == 1
                        && step == 1
                        && last.tile + last.len == run.tile
                        && last.source + last.len == run.source =>
                {
                    last.len += len;
                }
                _ => runs.push(run),
            }
            let mut wrapped = true;
            for axis in &outer {
                let (digit, limit) = (&mut odometer[*axis], &part_lens[*axis]);
                let (tile_step, source_step) = (tile_steps[*axis], source_steps[*axis]);
                *digit += 1;
                run.tile += tile_step;
                run.source += source_step;
                if *digit < *limit {
                    wrapped = false;
                    break;
                }
                run.tile -= tile_step * limit;
                run.source -= source_step * limit;
                *digit = 0;
            }
            if wrapped {
                return Ok(runs);
            }
        }
    }
}

/// The next tile index in tile order; `false` after the last.
pub(crate) fn advance(index: &mut [u64], span: &CellBox, order: Layout) -> bool {
    let dims = index.len();
    for i in 0..dims {
        let axis = if order == Layout::ColMajor { i } else { dims - 1 - i };
        if let (Some(digit), Some(low), Some(high)) =
            (index.get_mut(axis), span.low.get(axis), span.high.get(axis))
        {
            if *digit < *high {
                *digit += 1;
                return true;
            }
            *digit = *low;
        }
    }
    false
}

/// The distance of neighbors along each axis of a box.
fn steps(lens: &[usize], order: Layout) -> Vec<usize> {
    let mut out = vec![1; lens.len()];
    let mut step = 1_usize;
    let mut set = |axis: usize| {
        if let (Some(slot), Some(len)) = (out.get_mut(axis), lens.get(axis)) {
            *slot = step;
            step = step.saturating_mul(*len);
        }
    };
    match order {
        Layout::ColMajor => (0..lens.len()).for_each(&mut set),
        _ => (0..lens.len()).rev().for_each(&mut set),
    }
    out
}

/// How many tiles of this size are filtered and not written yet: at least two, so that one is filtered while another is written.
fn tiles_ahead(bytes: usize, threads: usize) -> usize {
    (GROUP / bytes).max(threads.min(LARGE_GROUP / bytes)).max(2)
}

fn fill(column: &Cells, runs: &[CopyRun], cells: usize, spare: &Spare) -> TileCells {
    let validity = column.validity.as_ref().map(|validity| copy_fixed(validity, 1, runs, cells, Vec::new()));
    if column.offsets.is_none() {
        return TileCells {
            data: copy_fixed(&column.data, column.size, runs, cells, spare.take()),
            offsets: None,
            validity,
        };
    }
    let (mut data, mut offsets) = (Vec::new(), Vec::with_capacity(cells));
    let pad = |data: &mut Vec<u8>, offsets: &mut Vec<u64>, until: usize| {
        while offsets.len() < until {
            offsets.push(data.len() as u64);
            data.resize(data.len() + column.size, 0);
        }
    };
    for run in runs {
        pad(&mut data, &mut offsets, run.tile);
        for i in 0..run.len {
            offsets.push(data.len() as u64);
            data.extend_from_slice(column.cell(run.source + i * run.step));
        }
    }
    pad(&mut data, &mut offsets, cells);
    TileCells { data, offsets: Some(offsets), validity }
}

/// The cells of a tile, in the empty buffer `tile`.
fn copy_fixed(source: &[u8], size: usize, runs: &[CopyRun], cells: usize, mut tile: Vec<u8>) -> Vec<u8> {
    fn strided<const N: usize>(source: &[u8], run: &CopyRun, out: &mut [u8]) {
        let (from, _) = source.as_chunks::<N>();
        let (to, _) = out.as_chunks_mut::<N>();
        for (slot, cell) in to.iter_mut().zip(from.iter().skip(run.source).step_by(run.step)) {
            *slot = *cell;
        }
    }
    tile.reserve_exact(cells * size);
    for run in runs {
        if run.step == 1 && tile.len() == run.tile * size {
            // The common case: consecutive cells.
            let cells = source.within(run.source * size..(run.source + run.len) * size);
            tile.extend_from_slice(cells);
            continue;
        }
        if tile.len() < cells * size {
            tile.resize(cells * size, 0);
        }
        let out = tile.within_mut(run.tile * size..(run.tile + run.len) * size);
        match (run.step, size) {
            (1, _) => {
                let cells = source.within(run.source * size..(run.source + run.len) * size);
                if cells.len() == out.len() {
                    out.copy_from_slice(cells);
                }
            }
            (_, 1) => strided::<1>(source, run, out),
            (_, 2) => strided::<2>(source, run, out),
            (_, 4) => strided::<4>(source, run, out),
            (_, 8) => strided::<8>(source, run, out),
            _ => {
                for (i, slot) in out.chunks_exact_mut(size).enumerate() {
                    let start = (run.source + i * run.step) * size;
                    slot.copy_from_slice(source.within(start..start + size));
                }
            }
        }
    }
    tile.resize(cells * size, 0);
    tile
}

/// Sets padding to the value of the real cell before it, or to the first one.
fn pad_like_neighbors(data: &mut [u8], size: usize, real: &[Span<usize>]) {
    let Some(first) = real.first() else { return };
    let mut from = first.start;
    let mut at = 0;
    let ends = data.len() / size.max(1);
    for run in real.iter().cloned().chain(std::iter::once(ends..ends)) {
        for cell in at..run.start {
            data.copy_within(from * size..(from + 1) * size, cell * size);
        }
        at = run.end;
        from = run.end.saturating_sub(1).min(ends.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_large_tiles_are_in_memory_at_once() {
        assert_eq!(tiles_ahead(1 << 10, 4), 1 << 14);
        assert_eq!(tiles_ahead(12 << 20, 8), 8);
        assert_eq!(tiles_ahead(100 << 20, 64), 2);
        assert_eq!(tiles_ahead(usize::MAX, 64), 2);
    }
}
