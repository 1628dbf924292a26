//! One output column of a group of sparse tiles: whole tiles are decoded directly into the buffer, others cell by cell.

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;
use bytes::Bytes;
use tesselle_core::At;

use super::cells::{ColumnTiles, Decoded, decode_validity};
use super::plan::SparseScan;
use super::task::Chosen;
use crate::read::build::{self, Cells};
use crate::read::copy::gather;
use crate::read::schema::Column;
use crate::read::tile::VarCells;
use crate::{Error, Result};

/// The selected rows of a column. Tiles that are not decoded yet take their bytes from `fetched`.
pub(super) fn assemble(
    scan: &SparseScan,
    at: usize,
    column: &Column,
    chosen: &[Chosen],
    fetched: &mut dyn Iterator<Item = Bytes>,
) -> Result<ArrayRef> {
    let rows: usize = chosen.iter().map(Chosen::rows).sum();
    let mut out = Output {
        column,
        data: if column.is_var() {
            MutableBuffer::new(0)
        } else {
            let size = rows.checked_mul(column.cell_size());
            MutableBuffer::from_len_zeroed(
                size.ok_or_else(|| Error::limit("a batch exceeds this machine's memory"))?,
            )
        },
        offsets: column.is_var().then(|| vec![0_i32]),
        validity: column.nullable.then(Vec::new),
        filled: 0,
    };
    for tile in chosen.iter().filter(|tile| tile.rows() > 0) {
        let fields = scan.fragments.get(&tile.tile.fragment);
        let fields = fields.ok_or_else(|| Error::internal("a tile belongs to no fragment"))?;
        let key = fields.keys.iter().position(|key| key.name == column.name);
        if let Some(decoded) = key.and_then(|key| tile.keys.get(key)) {
            out.push(decoded, tile)?;
            continue;
        }
        let tiles = fields.columns.get(at).ok_or_else(|| Error::internal("a fragment lacks a column"))?;
        let stored = tiles.take(&mut &mut *fetched);
        match (tiles, &tile.picks) {
            (ColumnTiles::Field(field), None) => {
                let (number, cells) = (tile.tile.tile, tile.tile.cells);
                if let Some(validity) = &mut out.validity {
                    validity.extend(decode_validity(field, &stored, number, cells)?.unwrap_or_default());
                }
                if field.is_var() {
                    let len = field.var_len(&stored, number)?;
                    let start = out.data.len();
                    out.check_len(start.saturating_add(len))?;
                    out.data.resize(start + len, 0);
                    let place = out.data.as_slice_mut().part_mut(start..)?;
                    let offsets = field.decode_var_into(&stored, number, cells, place)?;
                    let shifted = offsets.iter().skip(1).map(|offset| (start as u64 + offset) as i32);
                    if let Some(all) = &mut out.offsets {
                        all.extend(shifted);
                    }
                } else {
                    let len =
                        field.fixed_len(&stored, cells).map_err(|error| field.place(&error, number, 0))?;
                    field.decode_fixed(&stored, number, out.place(len)?)?;
                }
            }
            _ => out.push(&tiles.decode(&stored, tile.tile.tile, tile.tile.cells)?, tile)?,
        }
    }
    build::array(column, Cells { data: out.data.into(), offsets: out.offsets, validity: out.validity, rows })
}

struct Output<'a> {
    column: &'a Column,
    data: MutableBuffer,
    offsets: Option<Vec<i32>>,
    validity: Option<Vec<u8>>,
    /// Bytes of fixed cells that are in place.
    filled: usize,
}

impl Output<'_> {
    /// The next `len` bytes of fixed cells.
    fn place(&mut self, len: usize) -> Result<&mut [u8]> {
        let start = self.filled;
        self.filled = start.saturating_add(len);
        let place = self.data.as_slice_mut().get_mut(start..self.filled);
        place.ok_or_else(|| Error::internal("a column has more cells than rows"))
    }

    fn check_len(&self, len: usize) -> Result<()> {
        if i32::try_from(len).is_ok() {
            return Ok(());
        }
        Err(Error::limit(format!("column '{}' exceeds 2 GiB in one batch", self.column.name)))
    }

    /// Appends the selected cells of a decoded tile.
    fn push(&mut self, decoded: &Decoded, tile: &Chosen) -> Result<()> {
        if let Some(all) = &mut self.validity {
            let validity = decoded.validity().unwrap_or_default();
            match &tile.picks {
                None => all.extend_from_slice(validity),
                Some(picks) => {
                    all.extend(picks.iter().map(|cell| validity.get(*cell as usize).copied().unwrap_or(1)));
                }
            }
        }
        match decoded {
            Decoded::Fixed { bytes, width, .. } => match &tile.picks {
                None => self.place(bytes.len())?.copy_from_slice(bytes),
                Some(picks) => gather(bytes, picks, *width, self.place(picks.len() * width)?)?,
            },
            Decoded::Var { cells, .. } => match &tile.picks {
                None => (0..tile.tile.cells as usize).try_for_each(|cell| self.push_var(cells, cell))?,
                Some(picks) => picks.iter().try_for_each(|cell| self.push_var(cells, *cell as usize))?,
            },
        }
        Ok(())
    }

    fn push_var(&mut self, cells: &VarCells, cell: usize) -> Result<()> {
        let bytes = cells.get(cell);
        self.check_len(self.data.len().saturating_add(bytes.len()))?;
        self.data.extend_from_slice(bytes);
        let end = self.data.len() as i32;
        if let Some(offsets) = &mut self.offsets {
            offsets.push(end);
        }
        Ok(())
    }
}
