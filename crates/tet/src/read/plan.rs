//! From a scan to tasks; nothing is read but, where a condition on values asks for them, the zone maps.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tesselle_core::array::{TileGrid, narrow};
use tesselle_core::{ColumnBounds, Plan, Predicate, Region, Result, Scan, Verdict};

use super::axes::VALUE;
use super::band::{AxisBand, Band, bands};
use super::table::TetTable;
use super::task::{BandTask, Column, Shared};
use crate::meta::index::Codec;

/// Rows of a batch, unless the scan says otherwise.
const BATCH_ROWS: usize = 64 << 10;

/// Plans a scan.
pub(crate) fn plan(table: &TetTable, scan: &Scan) -> Result<Plan> {
    let grid = table.array.grid();
    let mut region = match &scan.selection {
        Some(selection) => selection.resolve(&vec![0; grid.rank()], &grid.shape)?,
        None => Region::whole(&grid.shape),
    };
    let exact = scan.predicate.as_ref().is_none_or(|predicate| narrow(predicate, &table.names, &mut region));
    let (columns, schema) = project(table, scan)?;
    let reads = columns.contains(&Column::Value);
    let tiles = TileGrid::new(&grid.shape, &grid.chunk_shape, &region)?;
    let touched = tiles.count().unwrap_or(u64::MAX);
    let keep = scan
        .predicate
        .as_ref()
        .filter(|_| !exact && touched > 0)
        .map(|predicate| prune(table, predicate, &tiles, &region))
        .filter(|keep| keep.contains(&false));
    let kept = keep.as_ref().map_or(touched, |keep| keep.iter().filter(|keep| **keep).count() as u64);
    let raw = table.rows().is_none_or(|rows| rows.codec == Codec::Raw);
    let cut = bands(&tiles, grid.dtype.size() as u64, raw);
    let limit = scan.limit.filter(|_| exact);
    let shared = Arc::new(Shared {
        opened: Arc::clone(&table.opened),
        id: table.id,
        grid: grid.clone(),
        tiles,
        region,
        columns,
        schema,
        keep,
        batch_rows: scan.batch_rows.unwrap_or(BATCH_ROWS).max(1),
    });
    let mut plan = Plan::empty();
    if reads {
        plan.pieces = grid.tiles;
        plan.pruned = grid.tiles.saturating_sub(kept);
    }
    let mut rows = 0_u64;
    for band in cut {
        if limit.is_some_and(|limit| rows >= limit) {
            break;
        }
        if let Some(band) = shrink(&shared, band) {
            rows = rows.saturating_add(band.iter().map(|axis| axis.len).product());
            plan.tasks.push(Box::new(BandTask::new(&shared, band)));
        }
    }
    Ok(plan)
}

fn project(table: &TetTable, scan: &Scan) -> Result<(Vec<Column>, SchemaRef)> {
    let indices = scan.column_indices(&table.schema)?;
    let columns =
        indices.iter().map(|i| if *i < table.names.len() { Column::Axis(*i) } else { Column::Value });
    Ok((columns.collect(), Arc::new(table.schema.project(&indices)?)))
}

/// Which of the touched tiles can hold a matching row, row-major.
fn prune(table: &TetTable, predicate: &Predicate, tiles: &TileGrid, region: &Region) -> Vec<bool> {
    let zones = predicate.columns().contains(VALUE).then(|| table.opened.zones()).flatten();
    let grid = table.array.grid();
    let combinations = tiles.combinations(0..tiles.axes.len());
    combinations
        .map(|parts| {
            let bounds = |column: &str| {
                if column == VALUE {
                    let tile: Vec<u64> = parts.iter().map(|part| part.tile).collect();
                    return zones?.bounds(&table.opened, table.id, grid.linear(&tile)?);
                }
                let axis = table.names.iter().position(|name| name == column)?;
                let (part, span) = (parts.get(axis)?, region.spans.get(axis)?);
                let first = span.start + part.index * span.step;
                let last = first + (part.len - 1) * span.step;
                Some(ColumnBounds::range(first, last))
            };
            predicate.verdict(&bounds) != Verdict::Never
        })
        .collect()
}

/// Leaves out the outer tiles of a band that no row can come from; `None` when that is all of them.
fn shrink(shared: &Shared, mut band: Band) -> Option<Band> {
    if shared.keep.is_none() {
        return Some(band);
    }
    let mut kept: Vec<Option<(usize, usize)>> = vec![None; band.len()];
    shared.each_tile(&band, |numbers, keep| {
        if keep {
            for (range, number) in kept.iter_mut().zip(numbers) {
                *range =
                    Some(range.map_or((*number, *number), |(lo, hi)| (lo.min(*number), hi.max(*number))));
            }
        }
    });
    for ((axis, kept), parts) in band.iter_mut().zip(kept).zip(&shared.tiles.axes) {
        let (lo, hi) = kept?;
        if axis.parts != (lo..hi + 1) && axis.skip == 0 {
            *axis = AxisBand::of_parts(parts, lo..hi + 1);
        }
    }
    Some(band)
}
