//! Fields of older fragments as cells of the newest schema.

use std::sync::Arc;

use arrow_buffer::Buffer;
use bytes::Bytes;
use tesselle_core::ByteRange;

use crate::Result;
use crate::fragment::Fragment;
use crate::meta::attribute::Attribute;
use crate::meta::slots::Field;
use crate::open::Array;
use crate::read::sparse::{ColumnTiles, Decoded};
use crate::read::tile::FieldTiles;
use crate::write::cells::{CellType, Cells};

/// The tiles of a field of the fragment that stores it.
pub(super) fn field(array: &Array, fragment: &Fragment, field: Field) -> Result<ColumnTiles> {
    Ok(ColumnTiles::Field(Arc::new(FieldTiles::try_new(array, fragment, field)?)))
}

/// The tiles of an attribute, or its fill value where the fragment does not have it.
pub(in crate::write) fn attribute(
    array: &Array,
    fragment: &Fragment,
    wanted: &Attribute,
) -> Result<ColumnTiles> {
    match fragment.attribute(&wanted.name, CellType::of_attribute(wanted))? {
        Some(index) => field(array, fragment, Field::Attribute(index)),
        None => Ok(ColumnTiles::Fill {
            value: wanted.fill.clone(),
            valid: wanted.nullable.then_some(wanted.fill_valid),
            is_var: wanted.is_var(),
        }),
    }
}

/// Reads and decodes one tile.
pub(in crate::write) fn read(array: &Array, tiles: &ColumnTiles, tile: u64, cells: u64) -> Result<Decoded> {
    let mut ranges: Vec<ByteRange> = Vec::new();
    tiles.ranges(tile, &mut ranges)?;
    let mut fetched: Vec<Bytes> = Vec::with_capacity(ranges.len());
    for range in &ranges {
        fetched.extend(array.root.storage().read(&range.file, std::slice::from_ref(&range.range))?);
    }
    let stored = tiles.take(&mut fetched.into_iter());
    tiles.decode(&stored, tile, cells)
}

/// Decoded cells in the form for writing.
pub(super) fn cells_of(decoded: Decoded, count: usize, value_size: usize) -> Cells {
    match decoded {
        Decoded::Fixed { bytes, width, validity } => {
            Cells { count, size: width, data: Buffer::from_vec(bytes), offsets: None, validity }
        }
        Decoded::Var { mut cells, validity } => {
            // The end is known from the data.
            cells.offsets.truncate(count);
            let data = Buffer::from_vec(cells.data);
            Cells { count, size: value_size, data, offsets: Some(cells.offsets), validity }
        }
    }
}

/// One tile of a field as it is stored, for comparisons.
#[cfg(test)]
pub(in crate::write) fn read_cells(
    array: &Array,
    fragment: &Fragment,
    wanted: Field,
    tile: u64,
    count: u64,
) -> Result<crate::write::cells::TileCells> {
    let decoded = read(array, &field(array, fragment, wanted)?, tile, count)?;
    let cells = cells_of(decoded, usize::try_from(count).unwrap_or(usize::MAX), 1);
    Ok(crate::write::cells::TileCells {
        data: cells.data.to_vec(),
        offsets: cells.offsets,
        validity: cells.validity,
    })
}
