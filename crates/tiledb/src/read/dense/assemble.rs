//! Assembly of the tiles of one block, column by column.
//!
//! Later fragments overwrite earlier ones box by box, never cell by cell.

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;
use tesselle_core::array::fill;
use tesselle_core::{At, Region};

use super::plan::{Composition, DenseScan, Part};
use crate::order::grid::Runs;
use crate::read::build::{self, Cells};
use crate::read::copy::{copy_runs, fill_runs, spread};
use crate::read::schema::Column;
use crate::read::tile::{FieldTiles, StoredTile, VarCells};
use crate::{Error, Result};

pub(super) struct Assembler<'a> {
    scan: &'a DenseScan,
    block: &'a Region,
    composition: &'a Composition,
    runs: Vec<Option<Runs>>,
    rows: usize,
    scratch: Vec<u8>,
    /// The origin of each row: part + 1 (0 is unwritten) and cell. Computed for the first variable-length column.
    origins: Option<Vec<(u32, u32)>>,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(scan: &'a DenseScan, block: &'a Region, composition: &'a Composition) -> Result<Self> {
        let rows = block.cells().and_then(|cells| usize::try_from(cells).ok());
        let rows = rows.ok_or_else(|| Error::limit("a block has too many cells for this machine"))?;
        let runs = |part: &Part| scan.grid.runs(&part.index, &part.region, block);
        let runs = composition.parts.iter().map(runs).collect();
        Ok(Self { scan, block, composition, runs, rows, scratch: Vec::new(), origins: None })
    }

    /// The coordinates along one axis.
    pub(super) fn coordinates(&self, column: &Column, axis: usize) -> Result<ArrayRef> {
        let misfit = || Error::internal("a dense array lacks an axis");
        let grid_axis = self.scan.grid.axes.get(axis).ok_or_else(misfit)?;
        let span = self.block.spans.get(axis).ok_or_else(misfit)?;
        let size = column.datatype.size();
        let mut values = Vec::new();
        for i in 0..span.len() {
            let position = span.start.saturating_add(i.saturating_mul(span.step));
            let coordinate = grid_axis.low.saturating_add(i128::from(position));
            values.extend_from_slice(coordinate.to_le_bytes().get(..size).ok_or_else(misfit)?);
        }
        let later = self.block.spans.iter().skip(axis + 1);
        let inner = later.fold(1_usize, |product, span| product.saturating_mul(span.len() as usize));
        let mut data = MutableBuffer::from_len_zeroed(self.rows.saturating_mul(size));
        spread(&values, size, inner, data.as_slice_mut());
        build::array(column, Cells { data, offsets: None, validity: None, rows: self.rows })
    }

    /// The values of an attribute from the stored tiles of each part.
    pub(super) fn attribute(
        &mut self,
        at: usize,
        column: &Column,
        stored: &[Option<StoredTile>],
    ) -> Result<ArrayRef> {
        let validity = if column.nullable { Some(self.validity(at, column, stored)?) } else { None };
        if column.is_var() {
            let (data, offsets) = self.variable(at, column, stored)?;
            return build::array(column, Cells { data, offsets: Some(offsets), validity, rows: self.rows });
        }
        let size = self.rows.checked_mul(column.cell_size());
        let size = size.ok_or_else(|| Error::limit("a block has too many bytes for this machine"))?;
        let mut data = MutableBuffer::from_len_zeroed(size);
        self.fixed(at, &column.fill, stored, data.as_slice_mut())?;
        build::array(column, Cells { data, offsets: None, validity, rows: self.rows })
    }

    fn field(&self, at: usize, part: &Part) -> Option<&'a FieldTiles> {
        self.scan.fields.get(&part.fragment).and_then(|fields| fields.get(at)?.as_ref())
    }

    /// Fixed-size cells, decoded directly into the output if a tile is one run of the block.
    fn fixed(
        &mut self,
        at: usize,
        blank: &[u8],
        stored: &[Option<StoredTile>],
        dst: &mut [u8],
    ) -> Result<()> {
        if !self.composition.covered {
            fill(dst, blank);
        }
        let cells = self.scan.cells_per_tile;
        for (i, part) in self.composition.parts.iter().enumerate() {
            let Some(runs) = self.runs.get(i).and_then(Option::as_ref) else { continue };
            let (Some(field), Some(Some(tile))) = (self.field(at, part), stored.get(i)) else {
                fill_runs(runs, blank, dst);
                continue;
            };
            let width = field.cell_size();
            let len = field.fixed_len(tile, cells).map_err(|error| field.place(&error, part.tile, 0))?;
            if let ([run], 1) = (runs.starts.as_slice(), runs.step)
                && runs.len * width == len
            {
                let place = dst.get_mut(run.target * width..run.target * width + len);
                let place = place.ok_or_else(|| Error::internal("a tile lies outside its block"))?;
                field.decode_fixed(tile, part.tile, place)?;
                continue;
            }
            self.scratch.resize(len, 0);
            let scratch = self.scratch.as_mut_slice();
            field.decode_part(tile, part.tile, touched(runs), scratch)?;
            copy_runs(runs, scratch, dst, width)?;
        }
        Ok(())
    }

    fn validity(&mut self, at: usize, column: &Column, stored: &[Option<StoredTile>]) -> Result<Vec<u8>> {
        let mut out = vec![u8::from(column.fill_valid); self.rows];
        for (i, part) in self.composition.parts.iter().enumerate() {
            let Some(runs) = self.runs.get(i).and_then(Option::as_ref) else { continue };
            let (Some(field), Some(Some(tile))) = (self.field(at, part), stored.get(i)) else {
                fill_runs(runs, &[u8::from(column.fill_valid)], &mut out);
                continue;
            };
            let len = self.tile_cells(field, tile, part)?;
            self.scratch.resize(len, 0);
            field.decode_validity(tile, part.tile, &mut self.scratch)?;
            copy_runs(runs, &self.scratch, &mut out, 1)?;
        }
        Ok(out)
    }

    /// Cells of a tile; an error if the stored bytes cannot decode to that many.
    fn tile_cells(&self, field: &FieldTiles, tile: &StoredTile, part: &Part) -> Result<usize> {
        let cells = self.scan.cells_per_tile;
        field.validity_len(tile, cells).map_err(|error| field.place(&error, part.tile, 2))
    }

    fn variable(
        &mut self,
        at: usize,
        column: &Column,
        stored: &[Option<StoredTile>],
    ) -> Result<(MutableBuffer, Vec<i32>)> {
        let cells = self.scan.cells_per_tile;
        let mut decoded: Vec<Option<VarCells>> = Vec::with_capacity(stored.len());
        for (part, tile) in self.composition.parts.iter().zip(stored) {
            decoded.push(match (self.field(at, part), tile) {
                (Some(field), Some(tile)) => Some(field.decode_var(tile, part.tile, cells)?),
                _ => None,
            });
        }
        self.load_origins()?;
        let origins = self.origins.as_deref().unwrap_or_default();
        let mut data = MutableBuffer::new(0);
        let mut offsets = Vec::with_capacity(self.rows.saturating_add(1));
        offsets.push(0);
        let too_long = || Error::limit(format!("column '{}' exceeds 2 GiB in one block", column.name));
        for (part, cell) in origins {
            let source = (*part as usize).checked_sub(1).and_then(|part| decoded.get(part)?.as_ref());
            let bytes = source.map_or(column.fill.as_slice(), |cells| cells.get(*cell as usize));
            data.extend_from_slice(bytes);
            offsets.push(i32::try_from(data.len()).map_err(|_| too_long())?);
        }
        Ok((data, offsets))
    }

    fn load_origins(&mut self) -> Result<()> {
        if self.origins.is_some() {
            return Ok(());
        }
        let mut origins = vec![(0_u32, 0_u32); self.rows];
        for (i, runs) in self.runs.iter().enumerate() {
            let Some(runs) = runs else { continue };
            let part = u32::try_from(i + 1).map_err(|_| Error::limit("a block has too many tiles"))?;
            for run in &runs.starts {
                let places = origins.part_mut(run.target..run.target + runs.len)?;
                for (j, place) in places.iter_mut().enumerate() {
                    let cell = u32::try_from(run.source + j * runs.step);
                    *place = (part, cell.map_err(|_| Error::limit("a tile has more than 2^32 cells"))?);
                }
            }
        }
        self.origins = Some(origins);
        Ok(())
    }
}

/// The cells of a tile that runs touch.
pub(super) fn touched(runs: &Runs) -> std::ops::Range<usize> {
    let first = runs.starts.iter().map(|run| run.source).min().unwrap_or(0);
    let last = runs.starts.iter().map(|run| run.source).max().unwrap_or(0);
    first..last + (runs.len.saturating_sub(1)) * runs.step + 1
}
