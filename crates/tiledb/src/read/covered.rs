//! The statistics of the rows that a condition selects, from those of tiles that it selects as a whole.

use tesselle_core::{ColumnBounds, ColumnStats, Known, Predicate, Scalar, TableStats, Verdict};

use super::bounds::{tile_bounds, tile_sum, whole_fragments};
use super::schema::Column;
use crate::fragment::Fragment;
use crate::meta::value::Bounds;
use crate::open::Array;
use crate::write::advance;
use crate::{Error, Result};

/// The statistics of the rows where `predicate` is true, and of these columns of them. `None` if a tile has rows that
/// match and rows that may not, or if reads do not return every cell of every tile.
pub(crate) fn stats_where(
    array: &Array,
    columns: &[&str],
    predicate: &Predicate,
) -> Result<Option<TableStats>> {
    let Some(fragments) = whole_fragments(array) else { return Ok(None) };
    let asked = array.columns.iter().filter(|column| columns.contains(&column.name.as_str()));
    let mut sums: Vec<Sum<'_>> = asked.map(Sum::new).collect();
    let mut rows = 0_u64;
    for fragment in fragments {
        for tile in tiles(array, fragment)? {
            match tile.verdict(array, fragment, predicate)? {
                Verdict::Never => {}
                Verdict::Maybe => return Ok(None),
                Verdict::Always => {
                    rows = rows.saturating_add(tile.cells);
                    sums.iter_mut().try_for_each(|sum| sum.add(array, fragment, &tile))?;
                }
            }
        }
    }
    let columns = sums.into_iter().map(|sum| (sum.column.name.clone(), sum.stats())).collect();
    Ok(Some(TableStats { rows: Known::Exact(rows), columns, ..TableStats::default() }))
}

/// A tile that is full of rows.
struct Tile {
    number: u64,
    /// One range per dimension.
    ranges: Vec<Bounds>,
    cells: u64,
}

impl Tile {
    fn verdict(&self, array: &Array, fragment: &Fragment, predicate: &Predicate) -> Result<Verdict> {
        let mut tested = Vec::new();
        for name in predicate.columns() {
            let Ok(column) = array.column(name) else { return Ok(Verdict::Maybe) };
            tested.push((name, self.bounds(array, fragment, column)?));
        }
        Ok(predicate.verdict(&|name| {
            tested.iter().find(|(known, _)| *known == name).and_then(|(_, bounds)| bounds.clone())
        }))
    }

    /// The bounds of a column in this tile. Those of float dimensions do not show a NaN.
    fn bounds(&self, array: &Array, fragment: &Fragment, column: &Column) -> Result<Option<ColumnBounds>> {
        let Some((index, dimension)) = array.schema.dimension(&column.name) else {
            return tile_bounds(fragment, column, self.number);
        };
        let shown = !column.field.is_nullable() && !dimension.datatype.is_float();
        let range = self.ranges.get(index).filter(|_| shown);
        Ok(range.map(|range| ColumnBounds {
            min: Some(range.low.clone()),
            max: Some(range.high.clone()),
            nulls: Some(0),
            rows: Some(self.cells),
        }))
    }
}

/// The tiles of one of the fragments that make up the array.
fn tiles(array: &Array, fragment: &Fragment) -> Result<Vec<Tile>> {
    if fragment.tiles == 0 {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    if let Some(dense) = &fragment.dense {
        let grid = array.schema.grid()?;
        let cells = grid.cells_per_tile()?;
        let mut index = dense.tiles.low.clone();
        for number in 0..fragment.tiles {
            out.push(Tile { number, ranges: grid.ranges_of(&grid.tile_region(&index)), cells });
            advance(&mut index, &dense.tiles, grid.tile_order);
        }
        return Ok(out);
    }
    let tree = fragment.rtree()?;
    let leaves = tree.leaves().ok_or_else(|| Error::corrupt("a sparse fragment has no MBRs"))?;
    for number in 0..fragment.tiles {
        let at = usize::try_from(number).map_err(|_| Error::limit("a fragment has too many tiles"))?;
        let ranges = leaves.get(at, &array.schema.dimensions)?;
        out.push(Tile { number, ranges, cells: fragment.cells_of(number) });
    }
    Ok(out)
}

/// The totals of the tiles of a column.
struct Sum<'a> {
    column: &'a Column,
    pieces: Vec<Option<ColumnBounds>>,
    sum: Option<i128>,
}

impl<'a> Sum<'a> {
    fn new(column: &'a Column) -> Self {
        Self { column, pieces: Vec::new(), sum: Some(0) }
    }

    fn add(&mut self, array: &Array, fragment: &Fragment, tile: &Tile) -> Result<()> {
        self.pieces.push(tile.bounds(array, fragment, self.column)?);
        self.sum = match (self.sum, tile_sum(fragment, self.column, tile.number)?) {
            (Some(sum), Some(more)) => sum.checked_add(more),
            _ => None,
        };
        Ok(())
    }

    fn stats(self) -> ColumnStats {
        let known = self.pieces.iter().all(Option::is_some);
        let sum = self.sum.filter(|_| known).map_or(Known::Absent, |sum| Known::Exact(Scalar::Int(sum)));
        ColumnStats { sum, ..ColumnStats::of_pieces(self.pieces) }
    }
}
