//! From a scan over a grid to tasks; nothing is read but what bounds of tiles take.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::Grid;
use super::bands::{Cutting, bands};
use super::task::BandTask;
use super::values::Values;
use crate::At;
use crate::array::{TileGrid, narrow, touched};
use crate::error::{Error, Result};
use crate::predicate::{ColumnBounds, Predicate, Verdict};
use crate::scan::Scan;
use crate::selection::Region;
use crate::task::Plan;

/// Rows of a batch, unless the scan states otherwise.
const BATCH_ROWS: usize = 64 << 10;

/// What all tasks of a plan share.
pub(super) struct Shared {
    pub(super) grid: Arc<Grid>,
    /// The columns to produce, by their position in the table: those that the predicate tests come first.
    pub(super) columns: Vec<usize>,
    /// How many of them the predicate tests.
    pub(super) tested: usize,
    pub(super) tested_schema: SchemaRef,
    /// Positions in `columns` of what comes out.
    pub(super) output: Vec<usize>,
    pub(super) schema: SchemaRef,
    /// What rows must satisfy.
    pub(super) predicate: Option<Predicate>,
    /// The tile shape that bands and `kept` follow.
    pub(super) tile_shape: Vec<u64>,
    /// The tiles that can hold a matching row; `None` when all can.
    pub(super) kept: Option<Kept>,
    pub(super) batch_rows: usize,
}

impl Shared {
    /// The values of a column; `None` for an axis.
    pub(super) fn values(&self, column: usize) -> Option<&Values> {
        self.grid.columns.get(column.checked_sub(self.grid.axes.len())?)
    }

    /// Whether a column is cut along the tiles that `kept` follows.
    pub(super) fn follows(&self, values: &Values) -> bool {
        values.tile_shape() == self.tile_shape
    }

    /// The tiles of a band that can hold a matching row.
    pub(super) fn tiles(&self, band: &Region) -> Result<TileGrid> {
        TileGrid::new(&self.grid.shape, &self.tile_shape, band)
    }
}

/// Which of the touched tiles can hold a matching row.
pub(super) struct Kept {
    tiles: TileGrid,
    /// Row-major.
    keep: Vec<bool>,
}

impl Kept {
    /// Whether the tile at these grid coordinates can hold a matching row.
    pub(super) fn has(&self, tile: &[u64]) -> bool {
        let linear = tile.iter().zip(&self.tiles.axes).try_fold(0, |n, (tile, axis)| {
            let at = axis.parts.binary_search_by_key(tile, |part| part.tile).ok()?;
            Some(n * axis.parts.len() + at)
        });
        linear.and_then(|linear| self.keep.get(linear)).copied().unwrap_or(false)
    }
}

/// Plans a scan.
pub(super) fn plan(grid: &Arc<Grid>, scan: &Scan) -> Result<Plan> {
    let whole = Region::whole(&grid.shape);
    whole.cells().ok_or_else(|| Error::limit("the array has more cells than can be counted"))?;
    let mut region = match &scan.selection {
        Some(selection) => selection.resolve(&vec![0; grid.shape.len()], &grid.shape)?,
        None => whole.clone(),
    };
    let axes: Vec<&str> = grid.axes.iter().map(String::as_str).collect();
    let exact = scan.predicate.as_ref().is_none_or(|predicate| narrow(predicate, &axes, &[], &mut region));
    let mut shared = project(grid, scan, scan.predicate.clone().filter(|_| !exact))?;
    let read: Vec<Values> =
        shared.columns.iter().filter_map(|column| shared.values(*column).cloned()).collect();
    if let Some(lead) = read.first().or(grid.columns.first()) {
        shared.tile_shape = lead.tile_shape().to_vec();
    }
    let tiles = TileGrid::new(&grid.shape, &shared.tile_shape, &region)?;
    let cutting = Cutting {
        element: read.iter().map(Values::cell_bytes).sum(),
        raw: read.iter().all(|values| values.array.is_raw()),
        limit: scan.limit.filter(|_| exact).unwrap_or(u64::MAX),
    };
    let cut = bands(&tiles, &region, cutting)?;
    let mut plan = Plan::empty();
    for values in &read {
        let (all, touched) = (touched(values.tile_shape(), &whole), touched(values.tile_shape(), &region));
        plan.pieces = plan.pieces.saturating_add(all);
        plan.pruned = plan.pruned.saturating_add(all.saturating_sub(touched));
    }
    if let Some(predicate) = &shared.predicate
        && tiles.count().is_some_and(|touched| touched > 0)
    {
        let keep = prune(&shared, predicate, &tiles, &region);
        let left_out = keep.iter().filter(|keep| !**keep).count() as u64;
        if left_out > 0 {
            let following = read.iter().filter(|values| shared.follows(values)).count() as u64;
            plan.pruned = plan.pruned.saturating_add(left_out.saturating_mul(following));
            shared.kept = Some(Kept { tiles, keep });
        }
    }
    let shared = Arc::new(shared);
    for band in cut {
        if let Some(band) = shrink(&shared, band)? {
            plan.tasks.push(Box::new(BandTask::new(&shared, band)?));
        }
    }
    Ok(plan)
}

/// The columns of a scan: those that the predicate tests, then the others.
fn project(grid: &Arc<Grid>, scan: &Scan, predicate: Option<Predicate>) -> Result<Shared> {
    let wanted = scan.column_indices(&grid.schema)?;
    let mut columns = match &predicate {
        Some(predicate) => Scan::all().columns(predicate.columns()).column_indices(&grid.schema)?,
        None => Vec::new(),
    };
    let tested = columns.len();
    let mut output = Vec::with_capacity(wanted.len());
    for column in &wanted {
        let at = columns.iter().position(|known| known == column).unwrap_or(columns.len());
        if at == columns.len() {
            columns.push(*column);
        }
        output.push(at);
    }
    let tested_schema: Schema = grid.schema.project(columns.part(..tested)?)?;
    Ok(Shared {
        grid: Arc::clone(grid),
        columns,
        tested,
        tested_schema: Arc::new(tested_schema),
        output,
        schema: Arc::new(grid.schema.project(&wanted)?),
        predicate,
        tile_shape: grid.shape.iter().map(|extent| (*extent).max(1)).collect(),
        kept: None,
        batch_rows: scan.batch_rows.unwrap_or(BATCH_ROWS).max(1),
    })
}

/// Which of the touched tiles can hold a matching row, row-major.
fn prune(shared: &Shared, predicate: &Predicate, tiles: &TileGrid, region: &Region) -> Vec<bool> {
    let grid = &shared.grid;
    let combinations = tiles.combinations(0..tiles.axes.len());
    combinations
        .map(|parts| {
            let tile: Vec<u64> = parts.iter().map(|part| part.tile).collect();
            let bounds = |column: &str| {
                let at = grid.schema.index_of(column).ok()?;
                if let Some(values) = shared.values(at) {
                    return if shared.follows(values) { values.bounds(&tile) } else { None };
                }
                let (part, span) = (parts.get(at)?, region.spans.get(at)?);
                let first = span.start + part.index * span.step;
                Some(ColumnBounds::range(first, first + (part.len - 1) * span.step))
            };
            predicate.verdict(&bounds) != Verdict::Never
        })
        .collect()
}

/// Leaves out the outer tiles of a band that no row can come from; `None` when that is all of them.
fn shrink(shared: &Shared, mut band: Region) -> Result<Option<Region>> {
    let Some(kept) = &shared.kept else { return Ok(Some(band)) };
    let tiles = shared.tiles(&band)?;
    let mut ends: Vec<Option<(u64, u64)>> = vec![None; band.spans.len()];
    for parts in tiles.combinations(0..tiles.axes.len()) {
        let tile: Vec<u64> = parts.iter().map(|part| part.tile).collect();
        if !kept.has(&tile) {
            continue;
        }
        for (ends, part) in ends.iter_mut().zip(&parts) {
            let (first, end) = (part.index, part.index + part.len);
            *ends = Some(ends.map_or((first, end), |(lo, hi)| (lo.min(first), hi.max(end))));
        }
    }
    for (span, ends) in band.spans.iter_mut().zip(ends) {
        let Some((first, end)) = ends else { return Ok(None) };
        span.start += first * span.step;
        span.stop = span.start + (end - first - 1) * span.step + 1;
    }
    Ok(Some(band))
}
