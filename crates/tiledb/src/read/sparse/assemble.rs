//! One output column of a group of sparse tiles: whole tiles are decoded directly into the buffer, others cell by cell.

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;
use bytes::Bytes;
use tesselle_core::driver::parallel;
use tesselle_core::{At, ValueBuffer, Within};

use super::cells::{ColumnTiles, Decoded, decode_validity};
use super::plan::SparseScan;
use super::task::Chosen;
use crate::read::build::{self, Cells};
use crate::read::copy::gather;
use crate::read::schema::Column;
use crate::read::tile::{StoredTile, VarCells};
use crate::{Error, Result};

/// The selected rows of a column. Tiles that are not decoded yet take their bytes from `fetched`.
pub(super) fn assemble(
    scan: &SparseScan,
    at: usize,
    column: &Column,
    chosen: &[Chosen],
    fetched: &mut dyn Iterator<Item = Bytes>,
) -> Result<ArrayRef> {
    let mut parts = Vec::with_capacity(chosen.len());
    for tile in chosen.iter().filter(|tile| tile.rows() > 0) {
        let fields = scan.fields(tile.tile.fragment);
        let fields = fields.ok_or_else(|| Error::internal("a tile belongs to no fragment"))?;
        let key = fields.keys.iter().position(|key| key.name == column.name);
        let cells = if let Some(decoded) = key.and_then(|key| tile.keys.get(key)) {
            TileCells::Decoded(decoded)
        } else {
            let tiles = fields.columns.get(at).ok_or_else(|| Error::internal("a fragment lacks a column"))?;
            TileCells::Stored(tiles, tiles.take(&mut &mut *fetched))
        };
        parts.push(Part { tile, cells });
    }
    let rows: usize = chosen.iter().map(Chosen::rows).sum();
    let cells = if column.is_var() { variable(column, &parts, rows)? } else { fixed(column, parts, rows)? };
    build::array(column, cells)
}

/// A tile with selected rows, and its cells of one column.
struct Part<'a> {
    tile: &'a Chosen,
    cells: TileCells<'a>,
}

enum TileCells<'a> {
    Decoded(&'a Decoded),
    Stored(&'a ColumnTiles, StoredTile),
}

/// A column of fixed-size cells: every tile has its own place, which threads fill at once.
fn fixed(column: &Column, parts: Vec<Part<'_>>, rows: usize) -> Result<Cells> {
    let size = rows.checked_mul(column.cell_size());
    let size = size.ok_or_else(|| Error::limit("a batch exceeds this machine's memory"))?;
    let mut data = ValueBuffer::zeroed(size);
    let mut validity = column.nullable.then(|| vec![0_u8; rows]);
    let (mut data_left, mut validity_left) = (data.as_slice_mut(), validity.as_deref_mut());
    let mut places = Vec::with_capacity(parts.len());
    for part in parts {
        let rows = part.tile.rows();
        let place = std::mem::take(&mut data_left).split_at_mut_checked(rows * column.cell_size());
        let (place, rest) = place.ok_or_else(too_many)?;
        data_left = rest;
        let valid = match validity_left.take() {
            Some(left) => {
                let (valid, rest) = left.split_at_mut_checked(rows).ok_or_else(too_many)?;
                validity_left = Some(rest);
                Some(valid)
            }
            None => None,
        };
        places.push((part, place, valid));
    }
    parallel::try_for_each(places, |(part, place, valid)| part.put(place, valid))?;
    Ok(Cells { data: data.into(), offsets: None, validity, rows })
}

impl Part<'_> {
    /// Puts the selected fixed-size cells into their place, and their validity.
    fn put(&self, place: &mut [u8], valid: Option<&mut [u8]>) -> Result<()> {
        let (number, count) = (self.tile.tile.tile, self.tile.tile.cells);
        let decoded;
        let cells = match &self.cells {
            TileCells::Decoded(decoded) => decoded,
            TileCells::Stored(ColumnTiles::Field(field), stored) if self.tile.picks.is_none() => {
                if let Some(valid) = valid {
                    let own = decode_validity(field, stored, number, count)?.unwrap_or_default();
                    copy(&own, valid)?;
                }
                let len = field.fixed_len(stored, count).map_err(|error| field.place(&error, number, 0))?;
                return if len == place.len() {
                    field.decode_fixed(stored, number, place)
                } else {
                    Err(too_many())
                };
            }
            TileCells::Stored(tiles, stored) => {
                decoded = tiles.decode(stored, number, count)?;
                &decoded
            }
        };
        if let Some(valid) = valid {
            let own = cells.validity().ok_or_else(without_validity)?;
            match &self.tile.picks {
                None => copy(own, valid)?,
                Some(picks) => {
                    picks.iter().zip(valid).for_each(|(cell, valid)| *valid = own.value(*cell as usize));
                }
            }
        }
        match (cells, &self.tile.picks) {
            (Decoded::Fixed { bytes, .. }, None) => copy(bytes, place),
            (Decoded::Fixed { bytes, width, .. }, Some(picks)) if picks.len() * width == place.len() => {
                gather(bytes, picks, *width, place)
            }
            (Decoded::Fixed { .. }, Some(_)) => Err(too_many()),
            (Decoded::Var { .. }, _) => Err(Error::internal("a column and its tiles disagree on their kind")),
        }
    }
}

fn copy(cells: &[u8], place: &mut [u8]) -> Result<()> {
    if cells.len() != place.len() {
        return Err(too_many());
    }
    place.copy_from_slice(cells);
    Ok(())
}

fn too_many() -> Error {
    Error::internal("the cells of a column do not fit their place")
}

fn without_validity() -> Error {
    Error::internal("the tiles of a nullable column have no validity")
}

/// A column of variable-length cells.
fn variable(column: &Column, parts: &[Part<'_>], rows: usize) -> Result<Cells> {
    let mut out = Output {
        column,
        data: MutableBuffer::new(0),
        offsets: vec![0_i32],
        validity: column.nullable.then(Vec::new),
    };
    for part in parts {
        let (number, count) = (part.tile.tile.tile, part.tile.tile.cells);
        match &part.cells {
            TileCells::Decoded(decoded) => out.push(decoded, part.tile)?,
            TileCells::Stored(ColumnTiles::Field(field), stored) if part.tile.picks.is_none() => {
                if let Some(validity) = &mut out.validity {
                    validity.extend(decode_validity(field, stored, number, count)?.unwrap_or_default());
                }
                let len = field.var_len(stored, number)?;
                let start = out.data.len();
                out.check_len(start.saturating_add(len))?;
                out.data.resize(start + len, 0);
                let place = out.data.as_slice_mut().part_mut(start..)?;
                let offsets = field.decode_var_into(stored, number, count, place)?;
                out.offsets.extend(offsets.iter().skip(1).map(|offset| (start as u64 + offset) as i32));
            }
            TileCells::Stored(tiles, stored) => out.push(&tiles.decode(stored, number, count)?, part.tile)?,
        }
    }
    Ok(Cells { data: out.data.into(), offsets: Some(out.offsets), validity: out.validity, rows })
}

struct Output<'a> {
    column: &'a Column,
    data: MutableBuffer,
    offsets: Vec<i32>,
    validity: Option<Vec<u8>>,
}

impl Output<'_> {
    fn check_len(&self, len: usize) -> Result<()> {
        if i32::try_from(len).is_ok() {
            return Ok(());
        }
        Err(Error::limit(format!("column '{}' exceeds 2 GiB in one batch", self.column.name)))
    }

    /// Appends the selected cells of a decoded tile.
    fn push(&mut self, decoded: &Decoded, tile: &Chosen) -> Result<()> {
        let Decoded::Var { cells, validity } = decoded else {
            return Err(Error::internal("a column and its tiles disagree on their kind"));
        };
        if let Some(all) = &mut self.validity {
            let validity = validity.as_deref().ok_or_else(without_validity)?;
            match &tile.picks {
                None => all.extend_from_slice(validity),
                Some(picks) => all.extend(picks.iter().map(|cell| validity.value(*cell as usize))),
            }
        }
        match &tile.picks {
            None => (0..tile.tile.cells as usize).try_for_each(|cell| self.push_var(cells, cell)),
            Some(picks) => picks.iter().try_for_each(|cell| self.push_var(cells, *cell as usize)),
        }
    }

    fn push_var(&mut self, cells: &VarCells, cell: usize) -> Result<()> {
        let bytes = cells.get(cell);
        self.check_len(self.data.len().saturating_add(bytes.len()))?;
        self.data.extend_from_slice(bytes);
        self.offsets.push(self.data.len() as i32);
        Ok(())
    }
}
