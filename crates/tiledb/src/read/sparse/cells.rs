//! The decoded cells of one field in one sparse tile.

use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::At;
use tesselle_core::ByteRange;

use crate::filter::Filter;
use crate::fragment::Fragment;
use crate::meta::datatype::{Datatype, Physical};
use crate::meta::dimension::Dimension;
use crate::meta::slots::Field;
use crate::meta::value::{Bounds, parse_scalar, string_or_bytes};
use crate::open::Array;
use crate::read::copy::gather;
use crate::read::tile::{FieldTiles, StoredTile, VarCells};
use crate::{Error, Result};

/// Maximum bytes of fill values for one tile.
const MOST_FILLED: usize = 1 << 28;

/// The source of a column's cells in one fragment.
#[derive(Debug, Clone)]
pub(crate) enum ColumnTiles {
    /// A separate field.
    Field(Arc<FieldTiles>),
    /// One dimension of the joint coordinates of old fragments.
    Coords { field: Arc<FieldTiles>, dim: usize, dims: usize, zipped: bool },
    /// The fragment lacks the attribute: every cell has this value, valid or not.
    Fill { value: Vec<u8>, valid: Option<bool>, is_var: bool },
}

impl ColumnTiles {
    /// The dimension `dim` of a fragment.
    pub(crate) fn dimension(array: &Array, fragment: &Fragment, dim: usize) -> Result<Self> {
        if fragment.version() >= 5 {
            return Ok(Self::Field(Arc::new(FieldTiles::try_new(array, fragment, Field::Dimension(dim))?)));
        }
        let field = Arc::new(FieldTiles::try_new(array, fragment, Field::Coords)?);
        // Version 1 interleaved coordinates unless they were compressed.
        let compressed = fragment.schema.coords_filters.filters.iter().any(is_compressor);
        let zipped = fragment.version() == 1 && !compressed;
        Ok(Self::Coords { field, dim, dims: fragment.schema.dimensions.len(), zipped })
    }

    /// The field to fetch, if any.
    fn field(&self) -> Option<&FieldTiles> {
        match self {
            Self::Field(field) | Self::Coords { field, .. } => Some(field),
            Self::Fill { .. } => None,
        }
    }

    pub(crate) fn ranges(&self, tile: u64, out: &mut Vec<ByteRange>) -> Result<()> {
        self.field().map_or(Ok(()), |field| field.ranges(tile, out))
    }

    pub(crate) fn stored_bytes(&self, tile: u64) -> u64 {
        self.field().map_or(0, |field| field.stored_bytes(tile))
    }

    /// Decoded bytes of a tile.
    pub(crate) fn decoded_bytes(&self, tile: u64, cells: u64) -> u64 {
        self.field().map_or(0, |field| {
            let fixed = if field.is_var() { 8 } else { field.cell_size() as u64 };
            cells.saturating_mul(fixed).saturating_add(field.var_size(tile))
        })
    }

    pub(crate) fn take(&self, fetched: &mut impl Iterator<Item = Bytes>) -> StoredTile {
        self.field().map(|field| field.take(fetched)).unwrap_or_default()
    }

    /// Decodes all cells of a tile.
    pub(crate) fn decode(&self, stored: &StoredTile, tile: u64, cells: u64) -> Result<Decoded> {
        let count = usize::try_from(cells).map_err(|_| Error::limit("a tile has too many cells"))?;
        match self {
            Self::Field(field) => {
                let validity = decode_validity(field, stored, tile, cells)?;
                if field.is_var() {
                    return Ok(Decoded::Var { cells: field.decode_var(stored, tile, cells)?, validity });
                }
                let len = field.fixed_len(stored, cells).map_err(|error| field.place(&error, tile, 0))?;
                let mut bytes = vec![0; len];
                field.decode_fixed(stored, tile, &mut bytes)?;
                Ok(Decoded::Fixed { bytes, width: field.cell_size(), validity })
            }
            Self::Coords { field, dim, dims, zipped } => {
                let len = field.fixed_len(stored, cells).map_err(|error| field.place(&error, tile, 0))?;
                let mut bytes = vec![0; len];
                field.decode_fixed(stored, tile, &mut bytes)?;
                let width = field.value_size();
                let bytes = if *zipped {
                    let cells = bytes.chunks_exact(width.saturating_mul(*dims));
                    let values = cells.filter_map(|cell| cell.get(dim * width..(dim + 1) * width));
                    values.collect::<Vec<_>>().concat()
                } else {
                    let one = count * width;
                    bytes.part(dim * one..(dim + 1) * one)?.to_vec()
                };
                Ok(Decoded::Fixed { bytes, width, validity: None })
            }
            Self::Fill { value, valid, is_var } => {
                // No stored bytes limit the number of cells here.
                if count.saturating_mul(value.len().max(8)) > MOST_FILLED {
                    return Err(Error::limit(format!("a tile of {count} cells has no stored values")));
                }
                let validity = valid.map(|valid| vec![u8::from(valid); count]);
                if *is_var {
                    let offsets = (0..=count as u64).map(|i| i * value.len() as u64).collect();
                    let cells = VarCells { offsets, data: value.repeat(count) };
                    return Ok(Decoded::Var { cells, validity });
                }
                Ok(Decoded::Fixed { bytes: value.repeat(count), width: value.len(), validity })
            }
        }
    }
}

fn is_compressor(filter: &Filter) -> bool {
    matches!(
        filter,
        Filter::Compress { .. } | Filter::Rle { .. } | Filter::DoubleDelta { .. } | Filter::Delta { .. }
    )
}

/// The validity of all cells of a tile, if the field is nullable.
pub(crate) fn decode_validity(
    field: &FieldTiles,
    stored: &StoredTile,
    tile: u64,
    cells: u64,
) -> Result<Option<Vec<u8>>> {
    if !field.is_nullable() {
        return Ok(None);
    }
    let len = field.validity_len(stored, cells).map_err(|error| field.place(&error, tile, 2))?;
    let mut validity = vec![0; len];
    field.decode_validity(stored, tile, &mut validity)?;
    Ok(Some(validity))
}

/// All cells of one field in one tile.
#[derive(Debug, Clone)]
pub(crate) enum Decoded {
    Fixed { bytes: Vec<u8>, width: usize, validity: Option<Vec<u8>> },
    Var { cells: VarCells, validity: Option<Vec<u8>> },
}

impl Decoded {
    pub(crate) fn validity(&self) -> Option<&[u8]> {
        match self {
            Self::Fixed { validity, .. } | Self::Var { validity, .. } => validity.as_deref(),
        }
    }

    /// The numbers of a column of `u64`s.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        match self {
            Self::Fixed { bytes, .. } => {
                bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect()
            }
            Self::Var { .. } => Vec::new(),
        }
    }

    /// Integers that order and compare equal as the values do; `None` for variable length.
    pub(crate) fn order_keys(&self, datatype: Datatype) -> Option<Vec<u64>> {
        match self {
            Self::Fixed { bytes, .. } => Some(order_keys(datatype.physical(), bytes)),
            Self::Var { .. } => None,
        }
    }

    /// Like [`Decoded::order_keys`], of some cells only, and keys of different bytes differ.
    pub(crate) fn identity_keys_of(&self, datatype: Datatype, cells: &[u32]) -> Option<Vec<u64>> {
        let Self::Fixed { bytes, width, .. } = self else { return None };
        if cells.len() * width == bytes.len() {
            return Some(keys(datatype.physical(), bytes, Zeros::Apart));
        }
        let mut picked = vec![0; cells.len() * width];
        // Picks are cells of this tile.
        gather(bytes, cells, *width, &mut picked).ok()?;
        Some(keys(datatype.physical(), &picked, Zeros::Apart))
    }

    /// The min and max coordinate as engines store them in MBRs: strings compare by unsigned bytes, regardless of the
    /// cell order.
    pub(crate) fn range(&self, dim: &Dimension) -> Option<Bounds> {
        match self {
            Self::Fixed { bytes, width, .. } => {
                let keys = order_keys(dim.datatype.physical(), bytes);
                let at = |cell: usize| {
                    parse_scalar(dim.datatype, bytes.get(cell * width..(cell + 1) * width)?).ok()
                };
                let low = keys.iter().enumerate().min_by_key(|(_, key)| **key)?.0;
                let high = keys.iter().enumerate().max_by_key(|(_, key)| **key)?.0;
                Some(Bounds { low: at(low)?, high: at(high)? })
            }
            Self::Var { cells, .. } => {
                let all = || (0..cells.offsets.len().saturating_sub(1)).map(|cell| cells.get(cell));
                Some(Bounds { low: string_or_bytes(all().min()?), high: string_or_bytes(all().max()?) })
            }
        }
    }

    /// The bytes of one variable-length cell.
    pub(crate) fn var_cell(&self, cell: usize) -> &[u8] {
        match self {
            Self::Var { cells, .. } => cells.get(cell),
            Self::Fixed { .. } => &[],
        }
    }
}

/// Maps values to integers in the same order; both float zeros map to one integer.
pub(crate) fn order_keys(physical: Physical, bytes: &[u8]) -> Vec<u64> {
    keys(physical, bytes, Zeros::Equal)
}

/// Whether the two zeros of floats are one value.
#[derive(Clone, Copy, PartialEq)]
enum Zeros {
    Equal,
    Apart,
}

fn keys(physical: Physical, bytes: &[u8], zeros: Zeros) -> Vec<u64> {
    macro_rules! map {
        ($type:ty, $width:literal, $key:expr) => {
            bytes.as_chunks::<$width>().0.iter().map(|chunk| $key(<$type>::from_le_bytes(*chunk))).collect()
        };
    }
    const TOP: u64 = 1 << 63;
    let signed = |v: i64| v.cast_unsigned() ^ TOP;
    let float = |v: f64| {
        let bits = if v == 0.0 && zeros == Zeros::Equal { 0 } else { v.to_bits() };
        if bits & TOP == 0 { bits | TOP } else { !bits }
    };
    match physical {
        Physical::I8 => map!(i8, 1, |v| signed(i64::from(v))),
        Physical::I16 => map!(i16, 2, |v| signed(i64::from(v))),
        Physical::I32 => map!(i32, 4, |v| signed(i64::from(v))),
        Physical::I64 => map!(i64, 8, signed),
        Physical::U8 => map!(u8, 1, u64::from),
        Physical::U16 => map!(u16, 2, u64::from),
        Physical::U32 => map!(u32, 4, u64::from),
        Physical::U64 => map!(u64, 8, |v| v),
        Physical::F32 => map!(f32, 4, |v| float(f64::from(v))),
        Physical::F64 => map!(f64, 8, float),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_keys_keep_the_order_of_values() {
        let values = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY];
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let keys = order_keys(Physical::F64, &bytes);
        assert!(keys.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(keys[2], keys[3]);
        let decoded = Decoded::Fixed { bytes: bytes.clone(), width: 8, validity: None };
        for cells in [&[0, 1, 2, 3, 4, 5, 6][..], &[0, 2, 3, 6]] {
            let keys = decoded.identity_keys_of(Datatype::Float64, cells).unwrap();
            assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        }
        let bytes: Vec<u8> = [i16::MIN, -1, 0, 1, i16::MAX].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert!(order_keys(Physical::I16, &bytes).windows(2).all(|pair| pair[0] < pair[1]));
    }
}
