//! The array view of a dense, fixed-size, numeric attribute.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::array::{Place, fill};
use tesselle_core::{ArrayView, DType, Region, Scan, Span, Storage};

use super::plan::{DenseScan, Part, coordinates, corner_and_shape, field_of};
use crate::open::Array;
use crate::read::copy::{copy_runs, fill_runs};
use crate::read::projection::Projection;
use crate::read::schema::{Column, Source};
use crate::read::tile::FieldTiles;
use crate::{Datatype, Physical, Result};

/// A dense attribute as a grid of numbers over the row box or the whole domain, divided along the tile grid.
pub(crate) struct DenseView {
    scan: DenseScan,
    dtype: DType,
    shape: Vec<u64>,
    tile_shape: Vec<u64>,
    names: Vec<String>,
    /// Position of the first cell on each axis.
    first: Vec<u64>,
    /// A cell that was never written.
    fill: Vec<u8>,
}

impl DenseView {
    /// Whether a column can have a view.
    pub(crate) fn suits(array: &Array, column: &Column) -> bool {
        array.is_dense()
            && matches!(column.source, Source::Attribute(_))
            && column.cell_val_num == 1
            && !column.nullable
            && column.dictionary.is_none()
            && dtype_of(column.datatype).is_some()
    }

    /// The view of a column, if it has one: over its rows, or over the whole `domain`.
    pub(crate) fn try_new(array: &Arc<Array>, name: &str, domain: bool) -> Result<Option<Self>> {
        let column = array.column(name)?;
        let Some(dtype) = dtype_of(column.datatype).filter(|_| Self::suits(array, column)) else {
            return Ok(None);
        };
        let grid = array.schema.grid()?;
        let rows = if domain { Some(grid.domain()) } else { array.row_box(&grid)? };
        let (first, shape) = corner_and_shape(&grid, rows.as_ref());
        let projection = Projection::new(array, &Scan::all().columns([name]))?;
        let mut fields = HashMap::new();
        for (position, fragment) in array.fragments.iter().enumerate() {
            fields.insert(position, vec![field_of(array, fragment, column)?]);
        }
        // Tiles of the view are those of the grid when the box starts on a border; otherwise they are
        // shifted and read from up to two tiles per axis.
        let tile_shape: Vec<u64> = grid.axes.iter().map(|axis| axis.extent).collect();
        let names = array.schema.dimensions.iter().map(|dim| dim.name.clone()).collect();
        let cells_per_tile = grid.cells_per_tile()?;
        let scan = DenseScan { array: Arc::clone(array), grid, cells_per_tile, projection, fields };
        let fill = column.fill.clone();
        Ok(Some(Self { scan, dtype, shape, tile_shape, names, first, fill }))
    }

    /// The positions of the rows `rows` of a tile of the view.
    fn block(&self, tile: &[u64], rows: &Range<u64>) -> Region {
        let axes = tile.iter().zip(&self.tile_shape).zip(self.first.iter().zip(&self.shape)).enumerate();
        let spans = axes.map(|(axis, ((index, extent), (first, shape)))| {
            let low = index.saturating_mul(*extent);
            let high = low.saturating_add(*extent).min(*shape);
            let (low, high) = if axis == 0 {
                (low.saturating_add(rows.start), low.saturating_add(rows.end).min(high))
            } else {
                (low, high)
            };
            Span { start: first.saturating_add(low), stop: first.saturating_add(high), step: 1 }
        });
        Region { spans: spans.collect() }
    }

    /// The tiles of a field in a part; `None` if its fragment does not have the field.
    fn field(&self, part: &Part) -> Option<&FieldTiles> {
        self.scan.fields.get(&part.fragment).and_then(|fields| fields.first()?.as_ref())
    }

    fn compose(&self, block: &Region, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        let scan = &self.scan;
        let composition = scan.compose(block);
        if !composition.covered {
            fill(dst, &self.fill);
        }
        let width = self.dtype.size();
        let (mut fetched, mut scratch) = (fetched.iter().cloned(), Vec::new());
        for part in &composition.parts {
            let runs = scan.grid.runs(&part.index, &part.region, block);
            let tile = self.field(part).map(|field| (field, field.take(&mut fetched)));
            let Some(runs) = runs else { continue };
            let Some((field, tile)) = tile else {
                fill_runs(&runs, &self.fill, dst);
                continue;
            };
            let len = field.fixed_len(&tile, scan.cells_per_tile)?;
            if let ([run], 1) = (runs.starts.as_slice(), runs.step)
                && let Some(place) = dst.get_mut(run.target * width..(run.target + runs.len) * width)
            {
                field.decode_run(&tile, part.tile, run.source..run.source + runs.len, len, place)?;
                continue;
            }
            scratch.resize(len, 0);
            field.decode_part(&tile, part.tile, super::assemble::touched(&runs), &mut scratch)?;
            copy_runs(&runs, &scratch, dst, width)?;
        }
        Ok(())
    }
}

impl ArrayView for DenseView {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn tile_shape(&self) -> &[u64] {
        &self.tile_shape
    }

    fn axis_names(&self) -> &[String] {
        &self.names
    }

    fn origin(&self) -> Vec<i128> {
        coordinates(&self.scan.grid, &self.first)
    }

    fn storage(&self) -> Option<Arc<dyn Storage>> {
        Some(Arc::clone(self.scan.array.root.storage()))
    }

    fn locate(&self, tile: &[u64], rows: &Range<u64>) -> Result<Place> {
        let composition = self.scan.compose(&self.block(tile, rows));
        if composition.parts.is_empty() {
            return Ok(Place::Fill);
        }
        let mut ranges = Vec::with_capacity(composition.parts.len());
        for part in &composition.parts {
            if let Some(field) = self.field(part) {
                field.ranges(part.tile, &mut ranges)?;
            }
        }
        Ok(Place::Encoded(ranges))
    }

    fn decode(&self, tile: &[u64], rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        self.compose(&self.block(tile, &rows), fetched, dst)
    }

    fn decodes_rows(&self) -> bool {
        true
    }

    fn fill(&self) -> &[u8] {
        &self.fill
    }
}

fn dtype_of(datatype: Datatype) -> Option<DType> {
    if !(datatype.is_integer() || datatype.is_float()) {
        return None;
    }
    Some(match datatype.physical() {
        Physical::I8 => DType::I8,
        Physical::I16 => DType::I16,
        Physical::I32 => DType::I32,
        Physical::I64 => DType::I64,
        Physical::U8 => DType::U8,
        Physical::U16 => DType::U16,
        Physical::U32 => DType::U32,
        Physical::U64 => DType::U64,
        Physical::F32 => DType::F32,
        Physical::F64 => DType::F64,
    })
}
