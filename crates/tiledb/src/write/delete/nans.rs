//! NaNs in the conditions of deletes.
//!
//! A comparison with NaN is false, but NaN is above all numbers in conditions: one that is true for greater numbers is
//! stored together with a list of NaNs, which compares bytes. The list contains those that computations yield, and those
//! that the array contains.

use std::collections::BTreeSet;

use crate::meta::condition::{Condition, Op};
use crate::meta::datatype::Physical;
use crate::open::Array;
use crate::read::bounds::tile_bounds;
use crate::read::sparse::Decoded;
use crate::write::consolidate::source;
use crate::{Datatype, Error, Result};

/// How many NaNs of different bytes a condition may list.
const MOST: usize = 1000;

/// Whether a float is one of these NaNs.
pub(super) fn listed(field: &str, datatype: Datatype, nans: &BTreeSet<Vec<u8>>) -> Condition {
    let value: Vec<u8> = nans.iter().flatten().copied().collect();
    let offsets = (0..nans.len()).map(|at| (at * datatype.size()) as u64).collect();
    Condition::Compare { field: field.to_owned(), op: Op::In, value, offsets }
}

/// The NaNs that computations yield.
pub(super) fn usual(datatype: Datatype) -> BTreeSet<Vec<u8>> {
    match datatype.physical() {
        Physical::F32 => [f32::NAN, -f32::NAN].map(|nan| nan.to_le_bytes().to_vec()).into(),
        _ => [f64::NAN, -f64::NAN].map(|nan| nan.to_le_bytes().to_vec()).into(),
    }
}

/// Adds the NaNs that the cells of an attribute have. Only tiles whose statistics do not exclude NaNs are read.
pub(super) fn add_stored(array: &Array, field: &str, nans: &mut BTreeSet<Vec<u8>>) -> Result<()> {
    let column = array.column(field)?;
    let Some((_, attribute)) = array.schema.attribute(field) else { return Ok(()) };
    let is_nan = |bytes: &[u8]| match attribute.datatype.physical() {
        Physical::F32 => bytes.try_into().is_ok_and(|bytes| f32::from_le_bytes(bytes).is_nan()),
        _ => bytes.try_into().is_ok_and(|bytes| f64::from_le_bytes(bytes).is_nan()),
    };
    for fragment in &array.fragments {
        let tiles = source::attribute(array, fragment, attribute)?;
        let (count, fill) = if fragment.lacks(field) { (1, true) } else { (fragment.tiles, false) };
        for tile in 0..count {
            let cells = if fill { 1 } else { fragment.cells_of(tile) };
            if cells == 0 || (!fill && tile_bounds(fragment, column, tile)?.is_some()) {
                continue;
            }
            let Decoded::Fixed { bytes, .. } = source::read(array, &tiles, tile, cells)? else { continue };
            let cells = bytes.chunks_exact(attribute.datatype.size());
            nans.extend(cells.filter(|cell| is_nan(cell)).map(<[u8]>::to_vec));
            if nans.len() > MOST {
                return Err(Error::unsupported(format!(
                    "'{field}' has more than {MOST} NaNs of different bytes, and TileDB would delete those that the condition does not list"
                ))
                .hint("delete by another field"));
            }
        }
    }
    Ok(())
}
