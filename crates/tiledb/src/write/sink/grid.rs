//! Rows that fill the domain of a dense array, or a box of it, in row-major order.

use std::sync::Arc;

use arrow_array::RecordBatch;
use tesselle_core::{Error, Result, Scalar};

use super::options::SinkSettings;
use super::schema::{ColumnPlan, DimensionPlan};
use super::{Cells as Rows, Target, schema_of};
use crate::meta::layout::Layout;
use crate::meta::schema::ArraySchema;
use crate::meta::value::{Bounds, parse_scalar};
use crate::order::grid::{CellBox, Grid};
use crate::write::cells::Cells;
use crate::write::dense::{CellOrder, Tiler, checked_region};
use crate::write::fragment::{FinishedFragment, FragmentEnd, FragmentWriter};

/// Default tile extent of a dimension.
const EXTENT: i128 = 100;

/// Collects a row of tiles at a time.
pub(super) struct GridCells {
    schema: Arc<ArraySchema>,
    grid: Grid,
    /// The box that the rows fill.
    rows: CellBox,
    dims: Vec<DimensionPlan>,
    pending: Vec<Vec<Cells>>,
    pending_rows: u64,
    /// Cells of one position along the first dimension.
    row: u64,
    /// Cells that came before the pending ones.
    done: u64,
    writer: FragmentWriter,
}

impl GridCells {
    pub(super) fn new(
        target: &Target,
        settings: &SinkSettings,
        mut dims: Vec<DimensionPlan>,
        columns: &[ColumnPlan],
    ) -> Result<Self> {
        for plan in &mut dims {
            let dimension = &mut plan.dimension;
            let Some(Bounds { low: Scalar::Int(low), high: Scalar::Int(high) }) = &dimension.domain else {
                return Err(Error::invalid(format!(
                    "dimension '{}' of a dense array needs a domain",
                    dimension.name
                ))
                .hint(format!("add domain.{}=low:high, or set kind=sparse", dimension.name)));
            };
            let size = (high - low + 1).max(1);
            dimension.extent.get_or_insert(Scalar::Int(size.min(EXTENT)));
        }
        if settings.tile_order != Layout::RowMajor {
            return Err(Error::invalid("rows can be streamed only into tiles in row-major order"));
        }
        let schema = schema_of(settings, &dims, columns)?;
        crate::write::schema::check(&schema_without_enumerations(&schema), &[])?;
        let grid = schema.grid()?;
        let rows = row_box(&schema, &grid, &dims, settings)?;
        let row = (1..grid.axes.len()).fold(1_u64, |cells, axis| cells.saturating_mul(rows.len(axis)));
        let schema = Arc::new(schema);
        let writer = FragmentWriter::create(target.plan(&schema))?;
        let pending = vec![Vec::new(); columns.len()];
        Ok(Self { schema, grid, rows, dims, pending, pending_rows: 0, row, done: 0, writer })
    }

    /// Refuses rows that are not at their place.
    fn check_places(&self, batch: &RecordBatch) -> Result<()> {
        let mut stride = self.row.saturating_mul(self.rows.len(0));
        for (axis, plan) in self.dims.iter().enumerate() {
            let len = self.rows.len(axis);
            stride /= len.max(1);
            let cells = plan.cells(batch)?;
            let low = self.grid.axes.get(axis).map_or(0, |axis| axis.low)
                + i128::from(self.rows.low.get(axis).copied().unwrap_or(0));
            for row in 0..cells.count {
                let number = self.done + self.pending_rows + row as u64;
                let expected = low + i128::from(number / stride.max(1) % len);
                let found = parse_scalar(plan.dimension.datatype, cells.cell(row))?;
                if found != Scalar::Int(expected) {
                    return Err(Error::invalid(format!(
                        "row {number} has the coordinate {found} in dimension '{}', expected {expected}",
                        plan.dimension.name
                    ))
                    .hint("rows must fill the domain in row-major order; otherwise set kind=sparse"));
                }
            }
        }
        Ok(())
    }

    /// Writes the tiles of the complete positions along the first dimension.
    fn flush(&mut self, last: bool) -> Result<()> {
        let extent = self.grid.axes.first().map_or(1, |axis| axis.extent);
        let first = self.rows.low.first().copied().unwrap_or(0) + self.done / self.row;
        let mut positions = self.pending_rows / self.row;
        if !last {
            // Up to a border of the tile grid, where the box need not start.
            positions = ((first + positions) / extent * extent).saturating_sub(first);
        }
        if positions == 0 {
            return Ok(());
        }
        let columns: Vec<Cells> =
            self.pending.iter_mut().filter_map(|parts| Cells::concat(std::mem::take(parts))).collect();
        let mut region = self.rows.clone();
        if let (Some(low), Some(high)) = (region.low.first_mut(), region.high.first_mut()) {
            (*low, *high) = (first, first + positions - 1);
        }
        let tiler =
            Tiler { schema: &self.schema, grid: &self.grid, region: &region, order: CellOrder::RowMajor };
        tiler.write(&columns, &mut self.writer)?;
        let written = positions * self.row;
        for (parts, column) in self.pending.iter_mut().zip(&columns) {
            if written < self.pending_rows {
                parts.push(column.slice(written as usize, self.pending_rows as usize));
            }
        }
        self.done += written;
        self.pending_rows -= written;
        Ok(())
    }
}

/// The box given by the settings, or the whole domain.
fn row_box(
    schema: &ArraySchema,
    grid: &Grid,
    dims: &[DimensionPlan],
    settings: &SinkSettings,
) -> Result<CellBox> {
    let mut ranges = Vec::with_capacity(dims.len());
    for DimensionPlan { dimension, .. } in dims {
        let given = settings.row_range(&dimension.name, dimension.datatype)?;
        let range = given.or_else(|| dimension.domain.clone());
        ranges.push(range.ok_or_else(|| Error::internal("a dimension was checked, but has no domain"))?);
    }
    checked_region(schema, grid, &ranges)
}

fn schema_without_enumerations(schema: &ArraySchema) -> ArraySchema {
    let mut schema = schema.clone();
    for attribute in &mut schema.attributes {
        attribute.enumeration = None;
    }
    schema
}

impl Rows for GridCells {
    fn write(&mut self, batch: &RecordBatch, attributes: Vec<Cells>) -> Result<()> {
        self.check_places(batch)?;
        for (parts, cells) in self.pending.iter_mut().zip(attributes) {
            parts.push(cells);
        }
        self.pending_rows += batch.num_rows() as u64;
        self.flush(false)
    }

    fn finish(mut self: Box<Self>) -> Result<(Vec<FinishedFragment>, ArraySchema)> {
        self.flush(true)?;
        if self.pending_rows > 0 {
            return Err(Error::invalid(format!(
                "the rows end in the middle of a grid line: {} of {} cells",
                self.pending_rows, self.row
            )));
        }
        let schema = ArraySchema::clone(&self.schema);
        if self.done == 0 {
            return Ok((Vec::new(), schema));
        }
        let mut region = self.rows.clone();
        if let (Some(low), Some(high)) = (region.low.first(), region.high.first_mut()) {
            *high = low + self.done / self.row - 1;
        }
        let end = FragmentEnd {
            domain: Some(self.grid.ranges_of(&region)),
            last_tile_cells: self.grid.cells_per_tile()?,
            ..FragmentEnd::default()
        };
        Ok((vec![self.writer.finish(&end)?], schema))
    }
}
