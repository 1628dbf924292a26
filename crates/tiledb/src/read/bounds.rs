//! Attribute bounds from trusted tile statistics (spec §9.3, §20).

use std::sync::Arc;

use arrow_schema::DataType;
use tesselle_core::{ColumnBounds, ColumnStats, Known, Scalar};

use super::schema::Column;
use crate::Result;
use crate::filter::Filter;
use crate::fragment::Fragment;
use crate::meta::attribute::Attribute;
use crate::meta::datatype::{Datatype, Physical};
use crate::meta::slots::Field;
use crate::meta::statistics::TileValues;
use crate::meta::value::{parse_scalar, string_or_bytes};
use crate::open::Array;
use crate::write::cells::CellType;

/// The combined statistics of an attribute over all fragments, if a read returns every cell of every fragment.
pub(crate) fn attribute_stats(array: &Array, column: &Column) -> Result<ColumnStats> {
    let Some(fragments) = whole_fragments(array) else {
        let Some(fragment) = covering_fragment(array) else { return Ok(ColumnStats::default()) };
        // Its tiles also have cells outside of the rows: their bounds are not exact, but hold.
        let pieces = (0..fragment.tiles).map(|tile| tile_bounds(fragment, column, tile));
        let known = ColumnStats::of_pieces(pieces.collect::<Result<Vec<_>>>()?);
        let bound = |known: Known<Scalar>| match known {
            Known::Exact(value) | Known::Bound(value) => Known::Bound(value),
            Known::Absent => Known::Absent,
        };
        return Ok(ColumnStats { min: bound(known.min), max: bound(known.max), ..ColumnStats::default() });
    };
    let (mut pieces, mut sum) = (Vec::new(), Some(0_i128));
    for fragment in fragments {
        for tile in 0..fragment.tiles {
            let bounds = tile_bounds(fragment, column, tile)?;
            if bounds.is_none() {
                return Ok(ColumnStats::default());
            }
            pieces.push(bounds);
            sum = match (sum, tile_sum(fragment, column, tile)?) {
                (Some(sum), Some(more)) => sum.checked_add(more),
                _ => None,
            };
        }
    }
    let sum = sum.map_or(Known::Absent, |sum| Known::Exact(Scalar::Int(sum)));
    Ok(ColumnStats { sum, ..ColumnStats::of_pieces(pieces) })
}

/// The sum of the integers of a tile whose bounds are trusted. A sum that reached a limit of its type had stopped
/// adding, in a dense tile only for a while, and engines count nulls of dense tiles wrongly.
pub(super) fn tile_sum(fragment: &Fragment, column: &Column, tile: u64) -> Result<Option<i128>> {
    let Some((index, attribute)) = stored(fragment, column) else { return Ok(None) };
    if !attribute.datatype.is_integer() || (attribute.nullable && fragment.footer.dense) {
        return Ok(None);
    }
    let statistics = fragment.statistics(Field::Attribute(index))?;
    let Some(sum) = usize::try_from(tile).ok().and_then(|tile| statistics.sums.get(tile)) else {
        return Ok(None);
    };
    let signed = sum.cast_signed();
    if fragment.footer.dense && attribute.datatype.physical() == Physical::I64 {
        let cells = fragment.schema.grid()?.cells_per_tile()?;
        let at = usize::try_from(tile).ok();
        let of = |values: &TileValues| {
            let bytes = values.fixed_at(at?, attribute.datatype.size())?;
            bytes.try_into().ok().map(i64::from_le_bytes).map(i64::unsigned_abs)
        };
        let most = of(&statistics.mins).zip(of(&statistics.maxs)).map(|(min, max)| min.max(max));
        if most.and_then(|most| most.checked_mul(cells)).is_none_or(|sum| i64::try_from(sum).is_err()) {
            return Ok(None);
        }
    }
    Ok(match attribute.datatype.physical() {
        Physical::U8 | Physical::U16 | Physical::U32 | Physical::U64 => {
            (*sum != u64::MAX).then_some(i128::from(*sum))
        }
        _ => (signed != i64::MAX && signed != i64::MIN).then_some(i128::from(signed)),
    })
}

/// The attribute of a column in a fragment that stores cells of its type.
fn stored<'a>(fragment: &'a Fragment, column: &Column) -> Option<(usize, &'a Attribute)> {
    let stored = fragment.schema.attribute(&column.name);
    stored.filter(|(_, attribute)| CellType::of_attribute(attribute) == column.cell_type())
}

/// The fragments that make up the array, if a read returns exactly their cells.
pub(super) fn whole_fragments(array: &Array) -> Option<&[Arc<Fragment>]> {
    if !array.is_dense() {
        return array.rows().map(|_| &*array.fragments);
    }
    let newest = covering_fragment(array)?;
    let grid = array.schema.grid().ok()?;
    // Consolidated tiles also count cells outside the domain, so there must be none.
    let stored = grid.cells_per_tile().ok()?.checked_mul(newest.tiles);
    (stored == array.row_box(&grid).ok()??.cells()).then(|| std::slice::from_ref(newest))
}

/// The newest fragment of a dense array, if it covers every row: it hides all others.
fn covering_fragment(array: &Array) -> Option<&Arc<Fragment>> {
    let newest = array.fragments.last().filter(|_| array.is_dense())?;
    let rows = array.row_box(&array.schema.grid().ok()?).ok()??;
    newest.dense.as_ref().is_some_and(|extent| extent.region == rows).then_some(newest)
}

/// The known bounds of `column` in one tile; `None` if statistics are absent or not trusted.
///
/// Statistics describe values before a lossy filter, and a NaN invalidates the min and max of floats. String statistics
/// are trusted only for sparse tiles: engines mix up the others.
pub(crate) fn tile_bounds(fragment: &Fragment, column: &Column, tile: u64) -> Result<Option<ColumnBounds>> {
    let Some((index, attribute)) = stored(fragment, column) else { return Ok(None) };
    let datatype = attribute.datatype;
    let number =
        datatype.is_integer() || datatype.is_float() || datatype.is_time() || datatype == Datatype::Bool;
    let lossy = attribute.filters.filters.iter().any(|filter| matches!(filter, Filter::FloatScale { .. }));
    let is_date = *column.field.data_type() == DataType::Date32;
    // Unknown codes read as null, as do dates that are out of range.
    let shown_as_stored =
        column.dictionary.is_none() && (column.nullable || is_date || !column.field.is_nullable());
    let text = datatype == Datatype::StringAscii && attribute.is_var() && !fragment.footer.dense;
    let usable = text || (number && attribute.cell_val_num == 1);
    if !usable || lossy || !shown_as_stored {
        return Ok(None);
    }
    let statistics = fragment.statistics(Field::Attribute(index))?;
    let Ok(at) = usize::try_from(tile) else { return Ok(None) };
    let of = |values: &TileValues| {
        let bytes = if text { values.var_at(at) } else { values.fixed_at(at, datatype.size()) };
        // Engines compare strings up to a NUL, and inconsistently for non-ASCII bytes.
        let sure = |bytes: &Vec<u8>| !text || bytes.iter().all(|byte| (1..0x80).contains(byte));
        bytes.map(<[u8]>::to_vec).filter(sure)
    };
    let (Some(min), Some(max)) = (of(&statistics.mins), of(&statistics.maxs)) else { return Ok(None) };
    if datatype.is_float() {
        // A finite sum proves that there is no NaN; a saturated sum had stopped adding.
        let sum = statistics.sums.get(at).map(|bits| f64::from_bits(*bits));
        if !sum.is_some_and(|sum| sum.is_finite() && sum.abs() < f64::MAX) {
            return Ok(None);
        }
    }
    let scalar = |bytes: &[u8]| {
        if text {
            return Ok(string_or_bytes(bytes));
        }
        let value = parse_scalar(datatype, bytes)?;
        Ok::<_, crate::Error>(if datatype == Datatype::Bool {
            Scalar::Bool(value != Scalar::Int(0))
        } else {
            value
        })
    };
    let nulls = if attribute.nullable { statistics.null_counts.get(at).copied() } else { Some(0) };
    let rows = if fragment.footer.dense { None } else { Some(fragment.cells_of(tile)) };
    let (min, max) = (scalar(&min)?, scalar(&max)?);
    let is_day = |value: &Scalar| matches!(value, Scalar::Int(day) if i32::try_from(*day).is_ok());
    if is_date && !(is_day(&min) && is_day(&max)) {
        return Ok(None);
    }
    let bounds = ColumnBounds { min: Some(min), max: Some(max), nulls, rows };
    // A tile of only nulls has zeros as min and max.
    if nulls.is_none() || (nulls != Some(0) && rows.is_none_or(|rows| nulls == Some(rows))) {
        return Ok(Some(ColumnBounds { min: None, max: None, ..bounds }));
    }
    Ok(Some(bounds))
}
