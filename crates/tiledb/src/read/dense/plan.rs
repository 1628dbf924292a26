//! A dense array as a grid of columns: what core's table over a grid needs to plan and to read it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use tesselle_core::array::{AxisColumn, Coordinates, Grid, coordinates};
use tesselle_core::{Plan, Region, Scan, Span};

use super::column::DenseColumn;
use super::compose::DenseAttribute;
use crate::open::Array;
use crate::order::grid::{Axis, CellBox, Grid as Tiles};
use crate::read::build::{self, Cells};
use crate::read::schema::Column;
use crate::{Error, Result};

/// Plans a scan over a dense array whose columns have this schema.
pub(crate) fn plan(array: &Arc<Array>, schema: &SchemaRef, scan: &Scan) -> Result<Plan> {
    let tiles = Arc::new(array.schema.grid()?);
    let (_, shape) = corner_and_shape(tiles.axes.len(), Some(&tiles.domain()));
    let (first, extents) = corner_and_shape(tiles.axes.len(), array.row_box(&tiles)?.as_ref());
    let rows = first.iter().zip(&extents);
    let rows = rows.map(|(first, len)| Span { start: *first, stop: first.saturating_add(*len), step: 1 });
    let axes = tiles.axes.iter().zip(&array.columns);
    let grid = Arc::new(Grid {
        axes: axes.map(|(axis, column)| axis_column(axis, column)).collect(),
        shape: shape.clone(),
        tile_shape: tiles.axes.iter().map(|axis| axis.extent).collect(),
        rows: Region { spans: rows.collect() },
        schema: Arc::clone(schema),
    });
    grid.plan(scan, |at, region| {
        let bounds = Tiles::bounds_of(region);
        let column = array.columns.get(at).ok_or_else(|| Error::internal("an array lacks a column"))?;
        let attribute = DenseAttribute::try_new(array, &tiles, column, bounds.as_ref())?;
        Ok(Arc::new(DenseColumn::new(attribute, &shape)))
    })
}

/// A dimension as a column.
fn axis_column(axis: &Axis, column: &Column) -> AxisColumn {
    let (origin, complete) = (axis.low, !column.field.is_nullable());
    let integers = complete && column.field.data_type().is_integer();
    let low = origin as u64;
    let column = column.clone();
    let make: Coordinates =
        Arc::new(move |region, axis, cells| axis_values(&column, low, region, axis, cells));
    AxisColumn { origin, integers, complete, column: make }
}

/// The coordinates of some cells. Coordinates are whole numbers of up to 64 bits, which wrap as they are stored.
fn axis_values(
    column: &Column,
    low: u64,
    region: &Region,
    axis: usize,
    cells: Range<u64>,
) -> Result<ArrayRef> {
    let rows = usize::try_from(cells.end.saturating_sub(cells.start))
        .map_err(|_| Error::limit("a batch has too many rows for this machine"))?;
    let at = |position: u64| low.wrapping_add(position);
    let data = match column.datatype.size() {
        1 => Buffer::from_vec(coordinates(region, axis, cells, |position| at(position) as u8)),
        2 => Buffer::from_vec(coordinates(region, axis, cells, |position| at(position) as u16)),
        4 => Buffer::from_vec(coordinates(region, axis, cells, |position| at(position) as u32)),
        8 => Buffer::from_vec(coordinates(region, axis, cells, at)),
        _ => return Err(Error::internal("a dense array has a dimension of another width")),
    };
    build::array(column, Cells { data, offsets: None, validity: None, rows })
}

/// The first position and the shape of a box; without one the corner of the domain and no cells.
pub(super) fn corner_and_shape(rank: usize, region: Option<&CellBox>) -> (Vec<u64>, Vec<u64>) {
    match region {
        Some(region) => (region.low.clone(), (0..rank).map(|axis| region.len(axis)).collect()),
        None => (vec![0; rank], vec![0; rank]),
    }
}
