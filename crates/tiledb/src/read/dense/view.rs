//! The array face of a dense attribute of one number per cell.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::array::{Answer, Ask, Place};
use tesselle_core::{ArrayView, ColumnBounds, DType, Region, Span, Storage};

use super::compose::DenseAttribute;
use super::plan::corner_and_shape;
use crate::open::Array;
use crate::read::schema::{Column, Source, number_type};
use crate::{Datatype, Error, Physical, Result};

/// A dense attribute as a grid of numbers: the box of rows or the whole domain, cut along the tile grid.
pub(crate) struct DenseView {
    attribute: DenseAttribute,
    shape: Vec<u64>,
    tile_shape: Vec<u64>,
    names: Vec<String>,
    /// Position of the first cell on each axis.
    first: Vec<u64>,
    /// Whether no tile has filters, so that a part of one costs only that part.
    is_plain: bool,
}

impl DenseView {
    /// Whether a column is an array of numbers.
    pub(crate) fn suits(array: &Array, column: &Column) -> bool {
        Self::is_plain(array, column) && (column.datatype.is_integer() || column.datatype.is_float())
    }

    /// Whether a column has one value of a fixed size per cell.
    fn is_plain(array: &Array, column: &Column) -> bool {
        array.is_dense()
            && matches!(column.source, Source::Attribute(_))
            && column.cell_val_num == 1
            && !column.nullable
            && column.dictionary.is_none()
    }

    /// Whether the stored numbers of a column are what its Arrow type counts: Booleans, and times of a unit that Arrow has.
    fn stands_for_numbers(column: &Column) -> bool {
        let is_number = *column.field.data_type() == number_type(column.datatype.physical());
        column.datatype == Datatype::Bool
            || column.datatype.is_time() && (column.presentation.raw || !is_number)
    }

    /// The view of a column, if it can have one: of its rows, or of the whole `domain`. Booleans and times have one of the
    /// numbers that are stored for them.
    pub(crate) fn try_new(array: &Arc<Array>, name: &str, domain: bool) -> Result<Option<Self>> {
        let column = array.column(name)?;
        let is_shown = Self::is_plain(array, column) && Self::stands_for_numbers(column);
        if !Self::suits(array, column) && !is_shown {
            return Ok(None);
        }
        let grid = Arc::new(array.schema.grid()?);
        let whole = grid.domain();
        let rows = if domain { Some(whole.clone()) } else { array.row_box(&grid)? };
        let (first, shape) = corner_and_shape(grid.axes.len(), rows.as_ref());
        let attribute = DenseAttribute::try_new(array, &grid, column, Some(&whole))?;
        Ok(Some(Self::over(attribute, first, shape)))
    }

    /// The cells of an attribute of one value per cell, `shape` of them from position `first` on.
    fn over(attribute: DenseAttribute, first: Vec<u64>, shape: Vec<u64>) -> Self {
        // Tiles of the view are those of the grid when the box starts on a border; otherwise they are
        // shifted and read from up to two tiles per axis.
        let tile_shape = attribute.grid.axes.iter().map(|axis| axis.extent).collect();
        let names = attribute.array.schema.dimensions.iter().map(|dim| dim.name.clone()).collect();
        let is_plain = attribute.fields().all(|(_, field)| field.is_plain());
        Self { attribute, shape, tile_shape, names, first, is_plain }
    }

    /// The positions of the rows `rows` of a tile of the view.
    fn piece(&self, tile: &[u64], rows: &Range<u64>) -> Region {
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
}

impl ArrayView for DenseView {
    fn dtype(&self) -> DType {
        match self.attribute.column.datatype.physical() {
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
        }
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
        let axes = self.attribute.grid.axes.iter().zip(&self.first);
        axes.map(|(axis, first)| axis.low.saturating_add(i128::from(*first))).collect()
    }

    fn storage(&self) -> Option<Arc<dyn Storage>> {
        Some(Arc::clone(self.attribute.array.root.storage()))
    }

    fn locate(&self, tile: &[u64], rows: &Range<u64>) -> Result<Place> {
        let piece = self.piece(tile, rows);
        let composition = self.attribute.compose(&piece);
        if composition.parts.is_empty() {
            return Ok(Place::Fill);
        }
        if let Some(plain) = self.attribute.plain(&piece, &composition)? {
            return Ok(Place::Ask(Ask::Bytes(plain.range().clone())));
        }
        self.attribute.ranges(&composition).map(Place::Encoded)
    }

    fn locate_with(&self, tile: &[u64], rows: &Range<u64>, _ask: &Ask, answer: &Answer) -> Result<Place> {
        let piece = self.piece(tile, rows);
        let composition = self.attribute.compose(&piece);
        let plain = self.attribute.plain(&piece, &composition)?;
        let plain = plain.ok_or_else(|| Error::internal("a tile has no cells to be fetched alone"))?;
        match plain.take(answer.bytes()?)? {
            Some(place) => Ok(place),
            None => self.attribute.ranges(&composition).map(Place::Encoded),
        }
    }

    fn decode(&self, tile: &[u64], rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        let piece = self.piece(tile, &rows);
        let composition = self.attribute.compose(&piece);
        let stored = self.attribute.stored(&composition, fetched);
        self.attribute.fixed(&piece, &composition, &stored, dst)
    }

    fn decodes_rows(&self) -> bool {
        true
    }

    fn is_raw(&self) -> bool {
        self.is_plain
    }

    fn fill(&self) -> &[u8] {
        &self.attribute.column.fill
    }

    fn bounds(&self, tile: &[u64]) -> Option<ColumnBounds> {
        self.attribute.bounds(&self.piece(tile, &(0..u64::MAX)))
    }
}
