//! Planning of dense reads: the tiles of each block. No I/O.

use std::collections::HashMap;
use std::sync::Arc;

use tesselle_core::array::narrow;
use tesselle_core::{ColumnBounds, Plan, Region, Scalar, Scan, Span, Task, Verdict};

use super::task::DenseTask;
use crate::fragment::Fragment;
use crate::meta::slots::Field;
use crate::open::Array;
use crate::order::grid::{CellBox, Grid};
use crate::read::bounds::tile_bounds;
use crate::read::projection::Projection;
use crate::read::schema::{Column, Source};
use crate::read::tile::FieldTiles;
use crate::{Error, Result};

/// Cells per block: enough to keep a thread busy, few enough to run many at once.
const BLOCK_CELLS: u64 = 1 << 19;
/// Bytes per block, for wide rows.
const BLOCK_BYTES: u64 = 32 << 20;
/// Most blocks of a plan.
const MAX_BLOCKS: usize = 1 << 20;

/// State shared by all tasks of a dense read.
pub(crate) struct DenseScan {
    pub(crate) array: Arc<Array>,
    pub(crate) grid: Grid,
    pub(crate) cells_per_tile: u64,
    pub(crate) projection: Projection,
    /// For each fragment in use, the tiles of each column; `None` where the fragment lacks it.
    pub(crate) fields: HashMap<usize, Vec<Option<FieldTiles>>>,
}

/// A tile that contributes to a block.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The fragment, by position.
    pub(crate) fragment: usize,
    /// The tile's number in it.
    pub(crate) tile: u64,
    /// The tile's place on the grid.
    pub(crate) index: Vec<u64>,
    /// The cells it contributes.
    pub(crate) region: CellBox,
}

/// The tiles of one block, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Composition {
    pub(crate) parts: Vec<Part>,
    /// Whether they leave no cell unwritten.
    pub(crate) covered: bool,
}

/// Plans a dense read.
pub(crate) fn plan(array: &Arc<Array>, scan: &Scan) -> Result<Plan> {
    let grid = array.schema.grid()?;
    let cells_per_tile = grid.cells_per_tile()?;
    let projection = Projection::new(array, scan)?;
    let mut selected = selection(array, &grid, scan)?;
    if let Some(predicate) = &scan.predicate {
        let names: Vec<&str> = array.schema.dimensions.iter().map(|dim| dim.name.as_str()).collect();
        let origin: Vec<i128> = grid.axes.iter().map(|axis| axis.low).collect();
        narrow(predicate, &names, &origin, &mut selected);
    }
    let all_tiles: u64 = array.fragments.iter().map(|fragment| fragment.tiles).fold(0, u64::saturating_add);
    let Some(bounds) = Grid::bounds_of(&selected) else {
        return Ok(Plan { tasks: Vec::new(), pieces: all_tiles, pruned: all_tiles });
    };
    let fields = fields_of(array, &projection, &bounds)?;
    let row_bytes: u64 = projection.columns.iter().map(|column| column.cell_size().max(16) as u64).sum();
    let wanted = scan.batch_rows.map_or(BLOCK_CELLS, |rows| rows as u64);
    let cells = wanted.min(BLOCK_BYTES / row_bytes.max(1)).max(1);
    let mut blocks = grid.split(&selected, cells, MAX_BLOCKS)?;
    if let Some(limit) = scan.limit.filter(|_| scan.predicate.is_none()) {
        truncate(&mut blocks, limit);
    }
    let scan = Arc::new(DenseScan { array: Arc::clone(array), grid, cells_per_tile, projection, fields });
    let mut tasks: Vec<Box<dyn Task>> = Vec::with_capacity(blocks.len());
    let mut read = std::collections::HashSet::new();
    for block in blocks {
        let composition = scan.compose(&block);
        if scan.verdict(&block, &composition)? == Verdict::Never {
            continue;
        }
        read.extend(composition.parts.iter().map(|part| (part.fragment, part.tile)));
        tasks.push(Box::new(DenseTask::new(Arc::clone(&scan), block, composition)));
    }
    Ok(Plan { tasks, pieces: all_tiles, pruned: all_tiles.saturating_sub(read.len() as u64) })
}

/// The positions that the scan selects.
pub(crate) fn selection(array: &Array, grid: &Grid, scan: &Scan) -> Result<Region> {
    let rows = array.row_box(grid)?;
    let Some(selection) = &scan.selection else {
        let Some(rows) = rows else {
            return Ok(Region { spans: vec![Span { start: 0, stop: 0, step: 1 }; grid.axes.len()] });
        };
        let spans = rows.low.iter().zip(&rows.high);
        let spans = spans.map(|(low, high)| Span { start: *low, stop: high.saturating_add(1), step: 1 });
        return Ok(Region { spans: spans.collect() });
    };
    // The selection is in domain coordinates; its open bounds are those of the rows.
    let (first, shape) = corner_and_shape(grid, rows.as_ref());
    let bounded = selection.bounded(&coordinates(grid, &first), &shape);
    let (first, shape) = corner_and_shape(grid, Some(&grid.domain()));
    bounded.resolve(&coordinates(grid, &first), &shape)
}

/// The first position and the shape of a box; without a box, the corner of the domain and zero cells.
pub(crate) fn corner_and_shape(grid: &Grid, region: Option<&CellBox>) -> (Vec<u64>, Vec<u64>) {
    let axes = 0..grid.axes.len();
    match region {
        Some(region) => (region.low.clone(), axes.map(|axis| region.len(axis)).collect()),
        None => (vec![0; axes.len()], vec![0; axes.len()]),
    }
}

/// The coordinates of a position.
pub(crate) fn coordinates(grid: &Grid, position: &[u64]) -> Vec<i128> {
    let axes = grid.axes.iter().zip(position);
    axes.map(|(axis, position)| axis.low.saturating_add(i128::from(*position))).collect()
}

/// Drops blocks after the first `limit` rows.
fn truncate(blocks: &mut Vec<Region>, limit: u64) {
    let mut rows = 0_u64;
    let mut keep = 0;
    for block in blocks.iter() {
        if rows >= limit {
            break;
        }
        rows = rows.saturating_add(block.cells().unwrap_or(u64::MAX));
        keep += 1;
    }
    blocks.truncate(keep);
}

/// The tiles of the selected attributes in every fragment that intersects `bounds`.
fn fields_of(
    array: &Array,
    projection: &Projection,
    bounds: &CellBox,
) -> Result<HashMap<usize, Vec<Option<FieldTiles>>>> {
    let mut out = HashMap::new();
    for (position, fragment) in array.fragments.iter().enumerate() {
        let Some(dense) = &fragment.dense else { continue };
        if dense.region.intersect(bounds).is_none() {
            continue;
        }
        let fields = projection.columns.iter().map(|column| field_of(array, fragment, column));
        out.insert(position, fields.collect::<Result<_>>()?);
    }
    Ok(out)
}

/// The tiles of an attribute in a fragment; `None` when its schema lacks the attribute.
pub(crate) fn field_of(array: &Array, fragment: &Fragment, column: &Column) -> Result<Option<FieldTiles>> {
    let Source::Attribute(_) = column.source else { return Ok(None) };
    let Some((index, attribute)) = fragment.schema.attribute(&column.name) else { return Ok(None) };
    let same = attribute.datatype == column.datatype
        && attribute.cell_val_num == column.cell_val_num
        && attribute.nullable == column.nullable;
    if !same {
        return Err(Error::unsupported(format!(
            "attribute '{}' has a different type in an older fragment",
            column.name
        ))
        .file(fragment.path.clone()));
    }
    FieldTiles::new(array, fragment, Field::Attribute(index)).map(Some)
}

impl DenseScan {
    /// The tiles that make up `block`.
    pub(crate) fn compose(&self, block: &Region) -> Composition {
        let none = Composition { parts: Vec::new(), covered: false };
        let Some(bounds) = Grid::bounds_of(block) else { return Composition { covered: true, ..none } };
        let mut fragments: Vec<(usize, &Fragment, &CellBox)> = Vec::new();
        for (position, fragment) in self.array.fragments.iter().enumerate() {
            if let Some(dense) = fragment.dense.as_ref().filter(|_| self.fields.contains_key(&position))
                && dense.region.intersect(&bounds).is_some()
            {
                fragments.push((position, fragment, &dense.region));
            }
        }
        if fragments.is_empty() {
            return none;
        }
        let tiles = self.grid.tiles_of(&bounds);
        // Only tiles that some fragment stores are visited: the domain can be far larger than the written part.
        let mut visited: Option<CellBox> = None;
        for (_, fragment, _) in &fragments {
            let Some(stored) = fragment.dense.as_ref().and_then(|dense| dense.tiles.intersect(&tiles)) else {
                continue;
            };
            match &mut visited {
                None => visited = Some(stored),
                Some(all) => all.include(&stored),
            }
        }
        let Some(visited) = visited else { return none };
        let mut covered = visited == tiles;
        let mut parts = Vec::new();
        let mut index = visited.low.clone();
        loop {
            covered &= self.compose_tile(&index, block, &bounds, &fragments, &mut parts);
            if !advance(&mut index, &visited) {
                return Composition { parts, covered };
            }
        }
    }

    /// Adds the parts of one tile, oldest first; returns whether they cover it.
    fn compose_tile(
        &self,
        index: &[u64],
        block: &Region,
        bounds: &CellBox,
        fragments: &[(usize, &Fragment, &CellBox)],
        parts: &mut Vec<Part>,
    ) -> bool {
        let Some(wanted) = self.grid.tile_region(index).intersect(bounds) else { return true };
        // With steps, whole tiles may lie between selected positions.
        let hits = block.spans.iter().zip(wanted.low.iter().zip(&wanted.high));
        if hits.into_iter().any(|(span, (low, high))| span.within(*low, high.saturating_add(1)).is_none()) {
            return true;
        }
        let first = parts.len();
        let mut covered = false;
        for (position, fragment, region) in fragments.iter().rev() {
            let Some(part) = region.intersect(&wanted) else { continue };
            let Some(tile) = fragment.dense_tile(&self.grid, index) else { continue };
            covered = part == wanted;
            parts.push(Part { fragment: *position, tile, index: index.to_vec(), region: part });
            if covered {
                break;
            }
        }
        if let Some(new) = parts.get_mut(first..) {
            new.reverse();
        }
        covered
    }

    /// Whether any row of the block can match, from coordinates and tile statistics.
    fn verdict(&self, block: &Region, composition: &Composition) -> Result<Verdict> {
        let Some(predicate) = &self.projection.predicate else { return Ok(Verdict::Maybe) };
        let mut bounds: HashMap<&str, ColumnBounds> = HashMap::new();
        for (at, column) in self.projection.tested().iter().enumerate() {
            let found = match column.source {
                Source::Dimension(axis) => self.axis_bounds(column, axis, block),
                Source::Attribute(_) => self.attribute_bounds(at, column, composition)?,
            };
            if let Some(found) = found {
                bounds.insert(&column.name, found);
            }
        }
        Ok(predicate.verdict(&|name| bounds.get(name).cloned()))
    }

    fn axis_bounds(&self, column: &Column, axis: usize, block: &Region) -> Option<ColumnBounds> {
        // Dates can be null, and then compare with nothing.
        if column.field.is_nullable() {
            return None;
        }
        let (grid_axis, bounds) = (self.grid.axes.get(axis)?, Grid::bounds_of(block)?);
        let at = |position: &u64| Scalar::Int(grid_axis.low.saturating_add(i128::from(*position)));
        Some(ColumnBounds {
            min: Some(at(bounds.low.get(axis)?)),
            max: Some(at(bounds.high.get(axis)?)),
            nulls: Some(0),
            rows: None,
        })
    }

    /// The bounds of an attribute over tiles that are used entirely and not overwritten.
    fn attribute_bounds(
        &self,
        at: usize,
        column: &Column,
        composition: &Composition,
    ) -> Result<Option<ColumnBounds>> {
        let mut seen = std::collections::HashSet::new();
        let disputed = !composition.parts.iter().all(|part| seen.insert(&part.index));
        if !composition.covered || disputed {
            return Ok(None);
        }
        let mut all: Option<ColumnBounds> = None;
        for part in &composition.parts {
            let has = self.fields.get(&part.fragment).and_then(|f| f.get(at)).is_some_and(Option::is_some);
            let Some(fragment) = self.array.fragments.get(part.fragment).filter(|_| has) else {
                return Ok(None);
            };
            let Some(tile) = tile_bounds(fragment, column, part.tile)? else { return Ok(None) };
            all = Some(match all {
                None => tile,
                Some(all) => ColumnBounds {
                    min: all.min.zip(tile.min).map(|(a, b)| a.min(b)),
                    max: all.max.zip(tile.max).map(|(a, b)| a.max(b)),
                    nulls: all.nulls.zip(tile.nulls).map(|(a, b)| a.saturating_add(b)),
                    rows: None,
                },
            });
        }
        // Null counts cover whole tiles, of which the block may use a part, so only a count of zero is exact.
        Ok(all.map(|all| ColumnBounds { nulls: all.nulls.filter(|n| *n == 0), ..all }))
    }
}

/// The next grid position of a box, the last axis fastest; `false` at the end.
pub(crate) fn advance(index: &mut [u64], within: &CellBox) -> bool {
    for (axis, position) in index.iter_mut().enumerate().rev() {
        let (Some(low), Some(high)) = (within.low.get(axis), within.high.get(axis)) else { return false };
        if *position < *high {
            *position += 1;
            return true;
        }
        *position = *low;
    }
    false
}
