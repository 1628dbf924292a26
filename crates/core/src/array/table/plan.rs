//! Planning of scans over a grid; only tile bounds are read.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::bands::{Cutting, bands};
use super::grid::Grid;
use super::task::BandTask;
use super::values::{GridValues, PartCost};
use crate::array::{TileGrid, narrow, touched};
use crate::at::At;
use crate::error::{Error, Result};
use crate::predicate::{ColumnBounds, Predicate, Verdict};
use crate::scalar::Scalar;
use crate::scan::Scan;
use crate::selection::Region;
use crate::task::Plan;

/// Default rows of a batch.
const BATCH_ROWS: usize = 64 << 10;
/// Maximum tiles whose bounds are checked. The shape stated in a file must not determine the memory of a plan.
const MOST_BOUNDS: u64 = 1 << 24;

/// A column of a plan.
pub(super) enum PlanColumn {
    /// The axis of this number.
    Axis(usize),
    Values(Arc<dyn GridValues>),
}

impl PlanColumn {
    /// The values of a column; `None` for an axis.
    pub(super) fn values(&self) -> Option<&dyn GridValues> {
        match self {
            Self::Axis(_) => None,
            Self::Values(values) => Some(&**values),
        }
    }
}

/// State shared by all tasks of a plan.
pub(super) struct Shared {
    pub(super) grid: Arc<Grid>,
    /// The columns to produce; those tested by the predicate come first.
    pub(super) columns: Vec<PlanColumn>,
    /// How many of them the predicate tests.
    pub(super) tested: usize,
    pub(super) tested_schema: SchemaRef,
    /// Positions in `columns` of the output.
    pub(super) output: Vec<usize>,
    pub(super) schema: SchemaRef,
    /// The condition that rows must satisfy.
    pub(super) predicate: Option<Predicate>,
    /// The tile shape that bands and `kept` follow.
    pub(super) tile_shape: Vec<u64>,
    /// The tiles that can contain a matching row; `None` if all can.
    pub(super) kept: Option<Kept>,
    pub(super) batch_rows: usize,
}

impl Shared {
    /// The columns that are read.
    pub(super) fn read(&self) -> impl Iterator<Item = &dyn GridValues> {
        self.columns.iter().filter_map(PlanColumn::values)
    }

    /// Whether a column is cut along the tiles that `kept` follows.
    pub(super) fn follows(&self, values: &dyn GridValues) -> bool {
        values.tile_shape() == self.tile_shape
    }

    /// The tiles of a band that can contain a matching row.
    pub(super) fn tiles(&self, band: &Region) -> Result<TileGrid> {
        TileGrid::try_new(&self.grid.shape, &self.tile_shape, band)
    }
}

/// The touched tiles that can contain a matching row.
pub(super) struct Kept {
    tiles: TileGrid,
    /// Row-major.
    keep: Vec<bool>,
}

impl Kept {
    /// Whether the tile at these grid coordinates can contain a matching row: one that is not known can.
    pub(super) fn has(&self, tile: &[u64]) -> bool {
        let linear = tile.iter().zip(&self.tiles.axes).try_fold(0, |n, (tile, axis)| {
            let at = axis.parts.binary_search_by_key(tile, |part| part.tile).ok()?;
            Some(n * axis.parts.len() + at)
        });
        linear.and_then(|linear| self.keep.get(linear)).is_none_or(|keep| *keep)
    }
}

/// Plans a scan.
pub(super) fn plan(
    grid: &Arc<Grid>,
    scan: &Scan,
    values: impl Fn(usize, &Region) -> Result<Arc<dyn GridValues>>,
) -> Result<Plan> {
    let mut region = grid.selected(scan)?;
    let exact = scan.predicate.as_ref().is_none_or(|predicate| narrow_axes(grid, predicate, &mut region));
    region.cells().ok_or_else(|| Error::limit("the selection has more cells than can be counted"))?;
    let mut shared =
        project(grid, scan, scan.predicate.clone().filter(|_| !exact), |at| values(at, &region))?;
    let lead = shared.read().next().map(|lead| lead.tile_shape().to_vec());
    if let Some(lead) = lead {
        shared.tile_shape = lead;
    }
    let tiles = TileGrid::try_new(&grid.shape, &shared.tile_shape, &region)?;
    let cutting = Cutting {
        element: shared.read().map(GridValues::cell_bytes).sum(),
        part: shared.read().map(GridValues::part_cost).max().unwrap_or(PartCost::Part),
        limit: scan.limit.filter(|_| exact).unwrap_or(u64::MAX),
    };
    let cut = bands(&tiles, &region, cutting)?;
    let mut plan = Plan::empty();
    for values in shared.read() {
        let tile = values.tile_shape();
        let (all, touched) = (touched(tile, &grid.rows), touched(tile, &region));
        plan.pieces = plan.pieces.saturating_add(all.max(touched));
        plan.pruned = plan.pruned.saturating_add(all.saturating_sub(touched));
    }
    if let Some(predicate) = &shared.predicate
        && tiles.count().is_some_and(|touched| (1..=MOST_BOUNDS).contains(&touched))
    {
        let keep = prune(&shared, predicate, &tiles, &region);
        let skipped = keep.iter().filter(|keep| !**keep).count() as u64;
        if skipped > 0 {
            let following = shared.read().filter(|values| shared.follows(*values)).count() as u64;
            plan.pruned = plan.pruned.saturating_add(skipped.saturating_mul(following));
            shared.kept = Some(Kept { tiles, keep });
        }
    }
    let shared = Arc::new(shared);
    for band in cut {
        if let Some(band) = shrink(&shared, band)? {
            plan.tasks.push(Box::new(BandTask::try_new(&shared, band)?));
        }
    }
    Ok(plan)
}

/// Narrows a region by conditions on axes; returns whether it then contains exactly the matching rows.
fn narrow_axes(grid: &Grid, predicate: &Predicate, region: &mut Region) -> bool {
    let names: Vec<&str> = grid.axis_names().collect();
    let origin: Vec<i128> = grid.axes.iter().map(|axis| axis.origin).collect();
    let exact = narrow(predicate, &names, &origin, region);
    let shown = |column: &str| {
        let axis = names.iter().position(|name| *name == column);
        axis.and_then(|axis| grid.axes.get(axis)).is_none_or(|axis| axis.integers)
    };
    exact && predicate.columns().into_iter().all(shown)
}

/// The columns of a scan: those that the predicate tests, then the others.
fn project(
    grid: &Arc<Grid>,
    scan: &Scan,
    predicate: Option<Predicate>,
    values: impl Fn(usize) -> Result<Arc<dyn GridValues>>,
) -> Result<Shared> {
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
    let columns = columns.into_iter().map(|column| {
        if column < grid.axes.len() {
            return Ok(PlanColumn::Axis(column));
        }
        values(column).map(PlanColumn::Values)
    });
    Ok(Shared {
        grid: Arc::clone(grid),
        columns: columns.collect::<Result<_>>()?,
        tested,
        tested_schema: Arc::new(tested_schema),
        output,
        schema: Arc::new(grid.schema.project(&wanted)?),
        predicate,
        tile_shape: grid.tile_shape.iter().map(|extent| (*extent).max(1)).collect(),
        kept: None,
        batch_rows: scan.batch_rows.unwrap_or(BATCH_ROWS).max(1),
    })
}

/// Whether a band can have a matching row by what conditions have learned since the scan was planned.
pub(super) fn may_match(shared: &Shared, band: &Region) -> Result<bool> {
    let Some(learned) = shared.predicate.as_ref().and_then(Predicate::learned) else { return Ok(true) };
    let tiles = shared.tiles(band)?;
    let is_known = tiles.count().is_some_and(|touched| (1..=MOST_BOUNDS).contains(&touched));
    Ok(!is_known || prune(shared, &learned, &tiles, band).contains(&true))
}

/// The touched tiles that can contain a matching row, row-major.
fn prune(shared: &Shared, predicate: &Predicate, tiles: &TileGrid, region: &Region) -> Vec<bool> {
    let grid = &shared.grid;
    let combinations = tiles.combinations(0..tiles.axes.len());
    combinations
        .map(|parts| {
            let tile: Vec<u64> = parts.iter().map(|part| part.tile).collect();
            let bounds = |column: &str| {
                let at = shared.tested_schema.index_of(column).ok()?;
                let axis = match shared.columns.get(at)? {
                    PlanColumn::Values(values) if shared.follows(&**values) => return values.bounds(&tile),
                    PlanColumn::Values(_) => return None,
                    PlanColumn::Axis(axis) => *axis,
                };
                let (part, span) = (parts.get(axis)?, region.spans.get(axis)?);
                let column = grid.axes.get(axis).filter(|column| column.complete)?;
                let first = span.start + part.index * span.step;
                let at = |position: u64| Scalar::Int(column.origin + i128::from(position));
                Some(ColumnBounds::range(at(first), at(first + (part.len - 1) * span.step)))
            };
            predicate.verdict(&bounds) != Verdict::Never
        })
        .collect()
}

/// Removes outer tiles of a band that cannot contain a matching row; `None` if none remain.
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
