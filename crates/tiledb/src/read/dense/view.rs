//! The array face of a dense, fixed-size, numeric attribute.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tesselle_core::array::TileBytes;
use tesselle_core::{ArrayView, DType, Region as Selected, Scan, Span};

use super::plan::{DenseScan, coordinates, corner_and_shape, field_of};
use crate::array::Array;
use crate::order::grid::Grid;
use crate::read::column::{Column, Source};
use crate::read::copy::{copy_runs, fill, fill_runs};
use crate::read::projection::Projection;
use crate::{Datatype, Error, Physical, Result};

/// A dense attribute as a grid of numbers: the box of rows or the whole domain, cut along the tile grid.
pub(crate) struct DenseView {
    scan: DenseScan,
    dtype: DType,
    shape: Vec<u64>,
    tile_shape: Vec<u64>,
    names: Vec<String>,
    /// Position of the first cell on each axis.
    first: Vec<u64>,
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

    /// The view of a column, if it can have one: of its rows, or of the whole `domain`.
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
        Ok(Some(Self { scan, dtype, shape, tile_shape, names, first }))
    }

    /// The positions of the rows `rows` of a tile of the view.
    fn piece(&self, tile: &[u64], rows: &Range<u64>) -> Selected {
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
        Selected { spans: spans.collect() }
    }

    fn read(&self, piece: &Selected, dst: &mut [u8], scratch: &mut Vec<u8>) -> Result<()> {
        let scan = &self.scan;
        let column =
            scan.projection.columns.first().ok_or_else(|| Error::internal("a view has no column"))?;
        let composition = scan.compose(piece);
        if !composition.covered {
            fill(dst, &column.fill);
        }
        let width = column.cell_size();
        for part in &composition.parts {
            let Some(runs) = scan.grid.runs(&part.index, &part.region, piece) else { continue };
            let field = scan.fields.get(&part.fragment).and_then(|fields| fields.first()?.as_ref());
            let Some(field) = field else {
                fill_runs(&runs, &column.fill, dst);
                continue;
            };
            let mut ranges = Vec::new();
            field.ranges(part.tile, &mut ranges)?;
            let storage = scan.array.root.storage();
            let mut fetched = Vec::with_capacity(ranges.len());
            for range in &ranges {
                fetched.extend(storage.read(&range.file, std::slice::from_ref(&range.range))?);
            }
            let tile = field.take(&mut fetched.into_iter());
            let len = field.fixed_len(&tile, scan.cells_per_tile)?;
            if let ([run], 1) = (runs.starts.as_slice(), runs.step)
                && let Some(place) = dst.get_mut(run.target * width..(run.target + runs.len) * width)
            {
                field.decode_run(&tile, part.tile, run.source..run.source + runs.len, len, place)?;
                continue;
            }
            scratch.resize(len, 0);
            field.decode_part(&tile, part.tile, super::assemble::touched(&runs), scratch)?;
            copy_runs(&runs, scratch, dst, width)?;
        }
        Ok(())
    }

    fn size_of(&self, piece: &Selected) -> Result<usize> {
        let cells = piece.cells().and_then(|cells| usize::try_from(cells).ok());
        cells
            .and_then(|cells| cells.checked_mul(self.dtype.size()))
            .filter(|_| Grid::bounds_of(piece).is_some())
            .ok_or_else(|| Error::internal("a tile outside of the array was asked for"))
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

    fn tile<'s>(&self, tile: &[u64], rows: Range<u64>, scratch: &'s mut Vec<u8>) -> Result<TileBytes<'s>> {
        let piece = self.piece(tile, &rows);
        let len = self.size_of(&piece)?;
        // What is in it stays: every cell is written, with a value or the fill value.
        scratch.resize(len, 0);
        self.read(&piece, scratch, &mut Vec::new())?;
        Ok(TileBytes::Scratch(scratch))
    }

    fn tile_into(&self, tile: &[u64], dst: &mut [u8]) -> Result<()> {
        let rows = self.tile_shape.first().copied().unwrap_or(1);
        let piece = self.piece(tile, &(0..rows));
        if self.size_of(&piece)? != dst.len() {
            return Err(Error::internal("a tile has another size than its place"));
        }
        self.read(&piece, dst, &mut Vec::new())
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
