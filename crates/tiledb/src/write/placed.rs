//! Dense writes from rows: rows are placed by their coordinates, or fill a box in row-major order.

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field as ArrowField, Schema};
use tesselle_core::{Action, At, Selection};

use super::array::{ArrayWriter, Written};
use super::cells::Cells;
use super::dense::{CellOrder, checked_region};
use super::outside::{domain_hint, limit_hint};
use crate::meta::datatype::Datatype;
use crate::meta::schema::ArrayKind;
use crate::meta::slots::Field;
use crate::meta::value::Bounds;
use crate::order::grid::{CellBox, Grid};
use crate::read::schema::{element_type, number_type};
use crate::{Error, Physical, Result};

impl ArrayWriter {
    /// The box of a dense array selected by `selection`, in half-open coordinates; without a selection, everything
    /// readable.
    pub fn dense_box(&self, selection: Option<&Selection>) -> Result<Vec<Bounds>> {
        if self.schema.kind != ArrayKind::Dense {
            return Err(Error::invalid("a sparse array has no boxes; its rows contain their coordinates"));
        }
        let grid = self.schema.grid()?;
        let mut region = self.schema.readable(&grid)?;
        let Some(selection) = selection else { return Ok(grid.ranges_of(&region)) };
        let axes = grid.axes.iter().zip(&region.low);
        let origin: Vec<i128> = axes.map(|(axis, low)| axis.low.saturating_add(i128::from(*low))).collect();
        let shape: Vec<u64> = (0..grid.axes.len()).map(|axis| region.len(axis)).collect();
        let fields = self.schema.dimensions.iter().map(|dimension| {
            ArrowField::new(&dimension.name, element_type(dimension.datatype, false), false)
        });
        // The error names the axis, not the dimension.
        let resolved = selection
            .bind(&Schema::new(fields.collect::<Vec<_>>()))?
            .resolve(&origin, &shape)
            .map_err(|error| error.hint(limit_hint(&self.schema, "NAME")))?;
        for ((span, low), high) in resolved.spans.iter().zip(&mut region.low).zip(&mut region.high) {
            if span.step != 1 || span.is_empty() {
                return Err(Error::invalid("a box to write to must not be empty or have steps"));
            }
            (*low, *high) = (*low + span.start, *low + span.stop - 1);
        }
        Ok(grid.ranges_of(&region))
    }

    /// Writes rows into a dense array as one box, which they must fill.
    ///
    /// Rows with a column for every dimension are placed by these columns, in any order; the box is `region`, or the
    /// smallest one that contains them. Other rows fill `region` in row-major order; without a region, everything
    /// readable.
    pub fn write_dense_rows(
        &self,
        region: Option<&[Bounds]>,
        batches: &[RecordBatch],
        timestamp: Option<u64>,
    ) -> Result<Written> {
        let whole = self.dense_box(None)?;
        let Some(first) = batches.first() else {
            return Err(Error::invalid("there are no rows to write"));
        };
        let batch = self.fit(&arrow_select::concat::concat_batches(&first.schema(), batches)?)?;
        if !self.places(&batch.schema()) {
            return self.write_dense(region.unwrap_or(&whole), &batch, CellOrder::RowMajor, timestamp);
        }
        let (region, batch) = self.in_their_box(region, &batch)?;
        let grid = self.schema.grid()?;
        self.write_dense(&grid.ranges_of(&region), &batch, CellOrder::RowMajor, timestamp)
    }

    /// The box of rows with a column for every dimension, which they must fill, and their attributes in row-major order.
    pub(super) fn in_their_box(
        &self,
        region: Option<&[Bounds]>,
        batch: &RecordBatch,
    ) -> Result<(CellBox, RecordBatch)> {
        let (batch, grid) = (self.fit(batch)?, self.schema.grid()?);
        let axes: Vec<Vec<u64>> =
            (0..grid.axes.len()).map(|axis| self.positions(&grid, axis, &batch)).collect::<Result<_>>()?;
        let region = match region {
            Some(ranges) => checked_region(&self.schema, &grid, ranges)?,
            None => hull(&axes).ok_or_else(|| Error::invalid("there are no rows to write"))?,
        };
        let order = row_major(&region, &axes, batch.num_rows())?;
        let attributes: Vec<usize> = self
            .schema
            .attributes
            .iter()
            .filter_map(|attribute| batch.schema().index_of(&attribute.name).ok())
            .collect();
        let mut batch = batch.project(&attributes)?;
        if order.iter().enumerate().any(|(place, row)| place != *row as usize) {
            batch = arrow_select::take::take_record_batch(&batch, &UInt32Array::from(order))?;
        }
        Ok((region, batch))
    }

    /// The same rows with numbers in the types of their fields, for sources without types (CSV). Numbers that do not
    /// fit are an error.
    pub fn fit(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let dimensions = self.schema.dimensions.iter().map(|dim| (&dim.name, dim.datatype, dim.cell_val_num));
        let attributes = self.schema.attributes.iter().filter(|attribute| attribute.enumeration.is_none());
        let attributes = attributes.map(|a| (&a.name, a.datatype, a.cell_val_num));
        let fields: Vec<(&String, Datatype, u32)> = dimensions.chain(attributes).collect();
        let schema = batch.schema();
        let (mut kept, mut columns): (Vec<ArrowField>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            let wanted = fields.iter().find(|(name, _, n)| *name == field.name() && *n == 1);
            let to =
                wanted.and_then(|(_, datatype, _)| number(*datatype)).filter(|to| to != field.data_type());
            let column = match to {
                Some(to) if fits(field.data_type(), &to) => {
                    let strict = CastOptions { safe: false, ..CastOptions::default() };
                    cast_with_options(column, &to, &strict)
                        .map_err(|e| Error::invalid(format!("column '{}': {e}", field.name())))?
                }
                _ => ArrayRef::clone(column),
            };
            kept.push(ArrowField::clone(field).with_data_type(column.data_type().clone()));
            columns.push(column);
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Schema::new(kept).into(), columns, &options)?)
    }

    /// The positions of rows on an axis.
    pub(super) fn positions(&self, grid: &Grid, axis: usize, batch: &RecordBatch) -> Result<Vec<u64>> {
        let (Some(grid_axis), Some(dimension)) = (grid.axes.get(axis), self.schema.dimensions.get(axis))
        else {
            return Err(Error::internal("an axis is missing"));
        };
        let cells = self.cells_of(batch, &[Field::Dimension(axis)])?.pop();
        let cells = cells.ok_or_else(|| Error::internal("a dimension has no cells"))?;
        let coordinates = integers(&cells, dimension.datatype);
        let place = |(row, coordinate): (usize, i128)| {
            let position = u64::try_from(coordinate.saturating_sub(grid_axis.low));
            position.ok().filter(|position| *position <= grid_axis.last).ok_or_else(|| {
                Error::invalid(format!(
                    "row {row} has the coordinate {coordinate} in dimension '{}', outside its domain",
                    dimension.name
                ))
                .hint(domain_hint(&dimension.name))
            })
        };
        coordinates.into_iter().enumerate().map(place).collect()
    }
}

/// The Arrow type of a plain number.
fn number(datatype: Datatype) -> Option<DataType> {
    (datatype.is_integer() || datatype.is_float()).then(|| number_type(datatype.physical()))
}

/// Whether numbers of one type can be cast to another: all except fractions to integers.
fn fits(from: &DataType, to: &DataType) -> bool {
    from.is_numeric() && to.is_numeric() && !(from.is_floating() && to.is_integer())
}

fn integers(cells: &Cells, datatype: Datatype) -> Vec<i128> {
    macro_rules! read {
        ($type:ty, $size:literal) => {{
            let (chunks, _) = cells.data.as_chunks::<$size>();
            chunks.iter().map(|chunk| i128::from(<$type>::from_le_bytes(*chunk))).collect()
        }};
    }
    match datatype.physical() {
        Physical::I8 => read!(i8, 1),
        Physical::I16 => read!(i16, 2),
        Physical::I32 => read!(i32, 4),
        Physical::I64 => read!(i64, 8),
        Physical::U8 => read!(u8, 1),
        Physical::U16 => read!(u16, 2),
        Physical::U32 => read!(u32, 4),
        Physical::U64 => read!(u64, 8),
        // Dense arrays have no float dimensions.
        Physical::F32 | Physical::F64 => Vec::new(),
    }
}

/// The smallest box that contains all rows.
fn hull(axes: &[Vec<u64>]) -> Option<CellBox> {
    let low = axes.iter().map(|axis| axis.iter().min().copied()).collect::<Option<_>>()?;
    let high = axes.iter().map(|axis| axis.iter().max().copied()).collect::<Option<_>>()?;
    Some(CellBox { low, high })
}

/// The rows in the row-major order of the box, which they must fill.
fn row_major(region: &CellBox, axes: &[Vec<u64>], rows: usize) -> Result<Vec<u32>> {
    const FREE: u32 = u32::MAX;
    let cells = region.cells().unwrap_or(u64::MAX);
    if cells != rows as u64 || u32::try_from(cells).is_err() {
        return Err(Error::invalid(format!("the box has {cells} cells, but there are {rows} rows")).suggest(
            "a dense write fills a box; select another with {}, or write several",
            [Action::Region],
        ));
    }
    let mut order = vec![FREE; rows];
    for row in 0..rows {
        let mut place = 0_u64;
        for (axis, positions) in axes.iter().enumerate() {
            let (low, len) = (*region.low.at(axis)?, region.len(axis));
            let offset = positions.get(row).and_then(|position| position.checked_sub(low));
            let offset = offset.filter(|offset| *offset < len).ok_or_else(|| {
                Error::invalid(format!("row {row} is outside the box"))
                    .suggest("omit {} or widen it", [Action::Region])
            })?;
            place = place * len + offset;
        }
        match order.get_mut(place as usize) {
            Some(slot) if *slot == FREE => *slot = row as u32,
            Some(other) => {
                return Err(Error::invalid(format!("rows {other} and {row} have the same coordinates")));
            }
            None => return Err(Error::internal("a row lies outside its box")),
        }
    }
    Ok(order)
}
