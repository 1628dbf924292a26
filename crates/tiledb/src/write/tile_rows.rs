//! Cells of a box that come in row-major order: a row of tiles is in memory at a time.

use std::sync::Arc;

use super::cells::Cells;
use super::dense::{CellOrder, Tiler};
use super::fragment::{FragmentEnd, FragmentWriter};
use crate::meta::schema::ArraySchema;
use crate::order::grid::{CellBox, Grid};
use crate::{Error, Result};

/// Collects the cells of a box until they fill a row of tiles.
pub(crate) struct TileRows {
    schema: Arc<ArraySchema>,
    grid: Grid,
    /// The box that the cells fill.
    region: CellBox,
    /// Per attribute, cells that are not written yet.
    pending: Vec<Vec<Cells>>,
    pending_cells: u64,
    /// Cells of one position along the first dimension.
    row: u64,
    /// Cells that are written.
    done: u64,
}

impl TileRows {
    /// For `columns` attributes of a box of an array whose tiles are in row-major order.
    pub(crate) fn new(schema: Arc<ArraySchema>, grid: Grid, region: CellBox, columns: usize) -> Self {
        let row = (1..grid.axes.len()).fold(1_u64, |cells, axis| cells.saturating_mul(region.len(axis)));
        let pending = vec![Vec::new(); columns];
        Self { schema, grid, region, pending, pending_cells: 0, row, done: 0 }
    }

    pub(crate) fn schema(&self) -> &Arc<ArraySchema> {
        &self.schema
    }

    /// The number of the next cell of the box.
    pub(crate) fn next(&self) -> u64 {
        self.done + self.pending_cells
    }

    /// The coordinate along `axis` of a cell of the box.
    pub(crate) fn coordinate(&self, cell: u64, axis: usize) -> i128 {
        let inner = (axis + 1..self.grid.axes.len())
            .fold(1_u64, |cells, axis| cells.saturating_mul(self.region.len(axis)));
        let low = self.grid.axes.get(axis).map_or(0, |axis| axis.low)
            + i128::from(self.region.low.get(axis).copied().unwrap_or(0));
        low + i128::from(cell / inner.max(1) % self.region.len(axis).max(1))
    }

    /// Takes the next `count` cells, a column per attribute, and writes the tiles that are complete.
    pub(crate) fn push(
        &mut self,
        columns: Vec<Cells>,
        count: u64,
        writer: &mut FragmentWriter,
    ) -> Result<()> {
        for (parts, cells) in self.pending.iter_mut().zip(columns) {
            parts.push(cells);
        }
        self.pending_cells += count;
        self.flush(false, writer)
    }

    /// Writes the remaining tiles. Returns the end of the fragment; `None` if there were no cells.
    pub(crate) fn finish(&mut self, writer: &mut FragmentWriter) -> Result<Option<FragmentEnd>> {
        self.flush(true, writer)?;
        if self.pending_cells > 0 {
            return Err(Error::invalid(format!(
                "the rows end in the middle of a line: {} of {} cells",
                self.pending_cells, self.row
            )));
        }
        if self.done == 0 {
            return Ok(None);
        }
        let mut region = self.region.clone();
        if let (Some(low), Some(high)) = (region.low.first(), region.high.first_mut()) {
            *high = low + self.done / self.row - 1;
        }
        Ok(Some(FragmentEnd {
            domain: Some(self.grid.ranges_of(&region)),
            last_tile_cells: self.grid.cells_per_tile()?,
            ..FragmentEnd::default()
        }))
    }

    /// Writes the tiles of the positions along the first dimension that are complete.
    fn flush(&mut self, last: bool, writer: &mut FragmentWriter) -> Result<()> {
        let extent = self.grid.axes.first().map_or(1, |axis| axis.extent);
        let first = self.region.low.first().copied().unwrap_or(0) + self.done / self.row;
        let mut positions = self.pending_cells / self.row;
        if !last {
            // Up to a border of the tile grid, on which the box need not start.
            positions = ((first + positions) / extent * extent).saturating_sub(first);
        }
        if positions == 0 {
            return Ok(());
        }
        let columns: Vec<Cells> =
            self.pending.iter_mut().filter_map(|parts| Cells::concat(std::mem::take(parts))).collect();
        let mut region = self.region.clone();
        if let (Some(low), Some(high)) = (region.low.first_mut(), region.high.first_mut()) {
            (*low, *high) = (first, first + positions - 1);
        }
        let tiler =
            Tiler { schema: &self.schema, grid: &self.grid, region: &region, order: CellOrder::RowMajor };
        tiler.write(&columns, writer)?;
        let written = positions * self.row;
        for (parts, column) in self.pending.iter_mut().zip(&columns) {
            if written < self.pending_cells {
                parts.push(column.slice(written as usize, self.pending_cells as usize));
            }
        }
        self.done += written;
        self.pending_cells -= written;
        Ok(())
    }
}
