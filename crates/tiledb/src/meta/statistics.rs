//! Tile and fragment statistics (spec §9.3).
//!
//! ```text
//! mins, maxs   u64 fixed bytes | u64 var bytes | fixed buffer | var buffer
//! sums         u64 count | 8 bytes each
//! null counts  u64 count | u64 each
//! summary      per slot: u64 len, min | u64 len, max | 8-byte sum | u64 null count
//! ```

use super::datatype::Datatype;
use super::dimension::VAR;
use super::wire::{bytes64, numbers, put_bytes64, put_numbers};
use crate::{Cursor, Result};

/// The minimum or the maximum value of each tile of a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TileValues {
    /// One cell per tile; of variable-length fields one `u64` start per tile.
    pub fixed: Vec<u8>,
    /// The values of variable-length fields.
    pub var: Vec<u8>,
}

impl TileValues {
    /// Reads the payload of a generic tile.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(payload, 0, "tile min/max values");
        let (fixed, var) = (cursor.u64_le()?, cursor.u64_le()?);
        Ok(Self { fixed: cursor.bytes_u64(fixed)?.to_vec(), var: cursor.bytes_u64(var)?.to_vec() })
    }

    /// The payload of a generic tile.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = (self.fixed.len() as u64).to_le_bytes().to_vec();
        out.extend_from_slice(&(self.var.len() as u64).to_le_bytes());
        out.extend_from_slice(&self.fixed);
        out.extend_from_slice(&self.var);
        out
    }

    /// The value of one tile of a fixed-size field.
    pub(crate) fn fixed_at(&self, tile: usize, cell_size: usize) -> Option<&[u8]> {
        let start = tile.checked_mul(cell_size)?;
        self.fixed.get(start..start.checked_add(cell_size)?)
    }

    /// The value of one tile of a variable-length field.
    pub(crate) fn var_at(&self, tile: usize) -> Option<&[u8]> {
        let start_of = |tile: usize| {
            let at = tile.checked_mul(8)?;
            let bytes = self.fixed.get(at..at.checked_add(8)?)?;
            usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
        };
        let end = start_of(tile.checked_add(1)?).unwrap_or(self.var.len());
        self.var.get(start_of(tile)?..end)
    }
}

/// The statistics of one field, tile by tile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TileStatistics {
    /// Minimum values.
    pub mins: TileValues,
    /// Maximum values.
    pub maxs: TileValues,
    /// Sums: `i64`, `u64` or `f64` by the field's type.
    pub sums: Vec<u64>,
    /// Null counts.
    pub null_counts: Vec<u64>,
}

/// The statistics of one field over the whole fragment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FieldSummary {
    /// The minimum value.
    pub min: Vec<u8>,
    /// The maximum value.
    pub max: Vec<u8>,
    /// Sum.
    pub sum: u64,
    /// Null count.
    pub null_count: u64,
}

/// Reads a list of sums or of null counts.
pub(crate) fn parse_numbers(payload: &[u8], what: &'static str) -> Result<Vec<u64>> {
    numbers(&mut Cursor::new(payload, 0, what))
}

/// Writes a list of numbers.
pub(crate) fn write_numbers(list: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    put_numbers(&mut out, list);
    out
}

/// Reads the summary of a fragment with this many slots.
pub(crate) fn parse_summary(payload: &[u8], slots: usize) -> Result<Vec<FieldSummary>> {
    let mut cursor = Cursor::new(payload, 0, "fragment summary");
    let cursor = &mut cursor;
    cursor.count(slots as u64, 32)?;
    (0..slots)
        .map(|_| {
            let min = bytes64(cursor)?.to_vec();
            let max = bytes64(cursor)?.to_vec();
            Ok(FieldSummary { min, max, sum: cursor.u64_le()?, null_count: cursor.u64_le()? })
        })
        .collect()
}

/// Writes the summary of a fragment.
pub(crate) fn write_summary(summary: &[FieldSummary]) -> Vec<u8> {
    let mut out = Vec::new();
    for field in summary {
        put_bytes64(&mut out, &field.min);
        put_bytes64(&mut out, &field.max);
        out.extend_from_slice(&field.sum.to_le_bytes());
        out.extend_from_slice(&field.null_count.to_le_bytes());
    }
    out
}

/// Whether tiles of a field have min and max values. Dimensions never do.
pub(crate) fn has_min_max(datatype: Datatype, cell_val_num: u32) -> bool {
    match datatype {
        Datatype::Char | Datatype::StringAscii => true,
        _ => cell_val_num == 1 && is_number(datatype),
    }
}

/// Whether tiles of a field have sums.
pub(crate) fn has_sum(datatype: Datatype, cell_val_num: u32) -> bool {
    cell_val_num == 1 && cell_val_num != VAR && (is_number(datatype) || datatype == Datatype::Char)
}

fn is_number(datatype: Datatype) -> bool {
    datatype.is_integer() || datatype.is_float() || datatype.is_time() || datatype == Datatype::Bool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn min_and_max_of_both_kinds_are_found() {
        let fixed = TileValues { fixed: vec![1, 0, 2, 0], var: Vec::new() };
        assert_eq!(TileValues::parse(&fixed.write()).unwrap(), fixed);
        assert_eq!(fixed.fixed_at(1, 2), Some(&[2, 0][..]));
        assert_eq!(fixed.fixed_at(2, 2), None);
        let mut starts = 0_u64.to_le_bytes().to_vec();
        starts.extend_from_slice(&2_u64.to_le_bytes());
        let var = TileValues { fixed: starts, var: b"abcde".to_vec() };
        assert_eq!(var.var_at(0), Some(&b"ab"[..]));
        assert_eq!(var.var_at(1), Some(&b"cde"[..]));
        assert_eq!(var.var_at(2), None);
    }

    #[test]
    fn the_table_of_presence() {
        assert!(has_min_max(Datatype::Char, VAR) && has_min_max(Datatype::StringAscii, 3));
        assert!(!has_min_max(Datatype::StringUtf8, VAR) && !has_min_max(Datatype::Int32, 2));
        assert!(has_min_max(Datatype::Bool, 1) && !has_min_max(Datatype::Blob, 1));
        assert!(
            has_sum(Datatype::Char, 1)
                && !has_sum(Datatype::StringAscii, 1)
                && !has_sum(Datatype::Int32, VAR)
        );
    }
}
