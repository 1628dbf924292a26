//! The global order of sparse cells (spec §8.3): tiles, then coordinates, or the Hilbert curve.

use std::cmp::Ordering;

use rayon::prelude::*;
use tesselle_core::Scalar;

use super::cells::Cells;
use crate::meta::dimension::Dimension;
use crate::meta::layout::Layout;
use crate::meta::schema::ArraySchema;
use crate::meta::value::Range;
use crate::order::hilbert;
use crate::{Error, Physical, Result};

/// One criterion of the order.
#[derive(Debug)]
enum Key {
    Words(Vec<u64>),
    Texts(Cells),
}

/// The order of some cells: criteria from the most significant on, and how many of them are not coordinates.
#[derive(Debug)]
pub(crate) struct GlobalOrder {
    keys: Vec<Key>,
    coordinates: usize,
    count: usize,
}

impl GlobalOrder {
    /// The order of the cells with these coordinates, one column per dimension. Refuses what lies outside of the domain.
    pub(crate) fn new(schema: &ArraySchema, coords: &[Cells]) -> Result<Self> {
        for (i, (dimension, column)) in schema.dimensions.iter().zip(coords).enumerate() {
            let current = schema.current_domain.as_ref().and_then(|ranges| ranges.get(i));
            check_inside(dimension, current.or(dimension.domain.as_ref()), column)?;
        }
        let mut order = Self::comparable(schema, coords);
        // A criterion that all cells share decides nothing.
        let varies = |key: &Key| match key {
            Key::Words(words) => words.windows(2).any(|pair| pair.first() != pair.last()),
            Key::Texts(_) => true,
        };
        let coordinates = order.keys.split_off(order.coordinates);
        order.keys.retain(varies);
        order.coordinates = order.keys.len();
        order.keys.extend(coordinates);
        Ok(order)
    }

    /// An order that can be compared with that of other cells of the array.
    pub(crate) fn comparable(schema: &ArraySchema, coords: &[Cells]) -> Self {
        let count = coords.first().map_or(0, |column| column.count);
        let mut keys = Vec::new();
        if schema.cell_order == Layout::Hilbert {
            keys.push(Key::Words(hilbert_positions(schema, coords)));
        } else {
            let tiles =
                schema.dimensions.iter().zip(coords).filter_map(|(dim, column)| tile_indexes(dim, column));
            let mut tiles: Vec<Key> = tiles.map(Key::Words).collect();
            if schema.tile_order == Layout::ColMajor {
                tiles.reverse();
            }
            keys.append(&mut tiles);
        }
        let coordinates = keys.len();
        let mut columns: Vec<Key> = schema
            .dimensions
            .iter()
            .zip(coords)
            .map(
                |(dim, column)| {
                    if dim.is_var() { Key::Texts(column.clone()) } else { Key::Words(ranks(dim, column)) }
                },
            )
            .collect();
        if schema.cell_order == Layout::ColMajor {
            columns.reverse();
        }
        keys.append(&mut columns);
        Self { keys, coordinates, count }
    }

    fn compare_with(&self, first: usize, a: usize, other: &Self, b: usize) -> Ordering {
        for (mine, theirs) in self.keys.iter().zip(&other.keys).skip(first) {
            let order = match (mine, theirs) {
                (Key::Words(mine), Key::Words(theirs)) => mine.get(a).cmp(&theirs.get(b)),
                (Key::Texts(mine), Key::Texts(theirs)) => compare_texts(mine.cell(a), theirs.cell(b)),
                _ => Ordering::Equal,
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// How cell `a` lies to cell `b` of `other`; both orders must be comparable ones.
    pub(crate) fn compare_across(&self, a: usize, other: &Self, b: usize) -> Ordering {
        self.compare_with(0, a, other, b)
    }

    /// Whether cell `a` has the coordinates of cell `b` of `other`.
    pub(crate) fn same_across(&self, a: usize, other: &Self, b: usize) -> bool {
        self.compare_with(self.coordinates, a, other, b) == Ordering::Equal
    }

    fn compare_from(&self, first: usize, a: usize, b: usize) -> Ordering {
        for key in self.keys.iter().skip(first) {
            let order = match key {
                Key::Words(words) => words.get(a).cmp(&words.get(b)),
                Key::Texts(cells) => compare_texts(cells.cell(a), cells.cell(b)),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// How two cells lie to each other.
    pub(crate) fn compare(&self, a: usize, b: usize) -> Ordering {
        self.compare_from(0, a, b)
    }

    /// Whether two cells have the same coordinates.
    pub(crate) fn same(&self, a: usize, b: usize) -> bool {
        self.compare_from(self.coordinates, a, b) == Ordering::Equal
    }

    /// The cells in order; equal ones stay as they came.
    pub(crate) fn sorted(&self) -> Result<Vec<u32>> {
        let count =
            u32::try_from(self.count).map_err(|_| Error::limit("a write takes at most 2^32 cells"))?;
        let (packed, taken) = self.packed();
        let mut pairs: Vec<(u64, u32)> = packed.into_iter().zip(0..count).collect();
        if taken == self.keys.len() {
            pairs.par_sort_unstable();
        } else {
            pairs.par_sort_unstable_by(|(a, i), (b, j)| {
                a.cmp(b).then_with(|| self.compare_from(taken, *i as usize, *j as usize)).then(i.cmp(j))
            });
        }
        Ok(pairs.into_iter().map(|(_, index)| index).collect())
    }

    /// As many criteria as fit one word per cell, and how many they are: mostly all, so that sorting looks no further.
    fn packed(&self) -> (Vec<u64>, usize) {
        let mut packed = vec![0_u64; self.count];
        let mut room = u64::BITS;
        for (taken, key) in self.keys.iter().enumerate() {
            let Key::Words(words) = key else { return (packed, taken) };
            let (low, high) =
                words.iter().fold((u64::MAX, 0), |(low, high), word| (low.min(*word), high.max(*word)));
            let bits = u64::BITS - high.saturating_sub(low).leading_zeros();
            if bits > room {
                return (packed, taken);
            }
            for (slot, word) in packed.iter_mut().zip(words) {
                *slot = slot.checked_shl(bits).unwrap_or(0) | (word - low);
            }
            room -= bits;
        }
        (packed, self.keys.len())
    }

    /// The first cell that comes before its predecessor, if the cells are not in order.
    pub(crate) fn first_misplaced(&self) -> Option<usize> {
        (1..self.count).find(|i| self.compare(i - 1, *i) == Ordering::Greater)
    }
}

/// Bytewise as signed characters, then the shorter first.
pub(crate) fn compare_texts(a: &[u8], b: &[u8]) -> Ordering {
    let signed = |byte: &u8| byte.cast_signed();
    a.iter().map(signed).cmp(b.iter().map(signed))
}

/// Calls `$f::<T>` for the machine type of a dimension.
macro_rules! by_type {
    ($physical:expr, $f:ident ( $($arg:expr),* )) => {
        match $physical {
            Physical::I8 => $f::<i8>($($arg),*),
            Physical::I16 => $f::<i16>($($arg),*),
            Physical::I32 => $f::<i32>($($arg),*),
            Physical::I64 => $f::<i64>($($arg),*),
            Physical::U8 => $f::<u8>($($arg),*),
            Physical::U16 => $f::<u16>($($arg),*),
            Physical::U32 => $f::<u32>($($arg),*),
            Physical::U64 => $f::<u64>($($arg),*),
            Physical::F32 => $f::<f32>($($arg),*),
            Physical::F64 => $f::<f64>($($arg),*),
        }
    };
}

/// A coordinate.
trait Coordinate: Copy + PartialOrd + Send + Sync {
    const SIZE: usize;
    fn of(bytes: &[u8]) -> Self;
    fn from_scalar(value: &Scalar) -> Option<Self>;
    /// A number with the same order.
    fn rank(self) -> u64;
    /// The tile of the coordinate; it is not below `low`.
    fn tile(self, low: Self, extent: Self) -> u64;
    fn float(self) -> f64;
}

macro_rules! integer_coordinate {
    ($($t:ident, $u:ident, $flip:expr;)*) => {$(
        impl Coordinate for $t {
            const SIZE: usize = size_of::<$t>();
            #[inline]
            fn of(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |bytes| $t::from_le_bytes(*bytes))
            }
            fn from_scalar(value: &Scalar) -> Option<Self> {
                match value {
                    Scalar::Int(value) => $t::try_from(*value).ok(),
                    _ => None,
                }
            }
            #[inline]
            #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "one body for all integers")]
            fn rank(self) -> u64 {
                (self as $u as u64) ^ $flip
            }
            #[inline]
            #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "one body for all integers")]
            fn tile(self, low: Self, extent: Self) -> u64 {
                (self.wrapping_sub(low) as $u / (extent as $u).max(1)) as u64
            }
            #[inline]
            fn float(self) -> f64 {
                self as f64
            }
        }
    )*};
}
integer_coordinate! {
    i8, u8, 1 << 7; i16, u16, 1 << 15; i32, u32, 1 << 31; i64, u64, 1 << 63;
    u8, u8, 0; u16, u16, 0; u32, u32, 0; u64, u64, 0;
}

macro_rules! float_coordinate {
    ($($t:ident, $u:ident;)*) => {$(
        impl Coordinate for $t {
            const SIZE: usize = size_of::<$t>();
            #[inline]
            fn of(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0.0, |bytes| $t::from_le_bytes(*bytes))
            }
            fn from_scalar(value: &Scalar) -> Option<Self> {
                match value {
                    Scalar::Float(value) => Some(*value as $t),
                    _ => None,
                }
            }
            #[inline]
            #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "one body for both floats")]
            fn rank(self) -> u64 {
                const TOP: $u = 1 << ($u::BITS - 1);
                // Negative zero equals zero.
                let bits = (self + 0.0).to_bits();
                (if bits & TOP != 0 { !bits } else { bits | TOP }) as u64
            }
            #[inline]
            fn tile(self, low: Self, extent: Self) -> u64 {
                ((self - low) / extent) as u64
            }
            #[inline]
            #[allow(clippy::cast_lossless, reason = "one body for both floats")]
            fn float(self) -> f64 {
                self as f64
            }
        }
    )*};
}
float_coordinate! { f32, u32; f64, u64; }

fn typed<T: Coordinate>(column: &Cells) -> impl Iterator<Item = T> {
    column.data.chunks_exact(T::SIZE).map(T::of)
}

fn ranks(dimension: &Dimension, column: &Cells) -> Vec<u64> {
    fn of<T: Coordinate>(column: &Cells) -> Vec<u64> {
        typed::<T>(column).map(T::rank).collect()
    }
    by_type!(dimension.datatype.physical(), of(column))
}

/// The tile of each coordinate; `None` for dimensions without tiles.
fn tile_indexes(dimension: &Dimension, column: &Cells) -> Option<Vec<u64>> {
    fn of<T: Coordinate>(column: &Cells, low: &Scalar, extent: &Scalar) -> Option<Vec<u64>> {
        let (low, extent) = (T::from_scalar(low)?, T::from_scalar(extent)?);
        Some(typed::<T>(column).map(|value| value.tile(low, extent)).collect())
    }
    let (domain, extent) = (dimension.domain.as_ref()?, dimension.extent.as_ref()?);
    by_type!(dimension.datatype.physical(), of(column, &domain.low, extent))
}

fn check_inside(dimension: &Dimension, limit: Option<&Range>, column: &Cells) -> Result<()> {
    fn outside<T: Coordinate>(column: &Cells, limit: &Range) -> Option<usize> {
        let (low, high) = (T::from_scalar(&limit.low)?, T::from_scalar(&limit.high)?);
        // Written so that NaN is outside.
        typed::<T>(column).position(|value| !(low <= value && value <= high))
    }
    let Some(limit) = limit else { return Ok(()) };
    let row = if dimension.is_var() {
        let bytes = |end: &Scalar| match end {
            Scalar::Text(text) => text.as_bytes().to_vec(),
            Scalar::Bytes(bytes) => bytes.clone(),
            _ => Vec::new(),
        };
        let (low, high) = (bytes(&limit.low), bytes(&limit.high));
        (0..column.count)
            .find(|row| column.cell(*row) < low.as_slice() || column.cell(*row) > high.as_slice())
    } else {
        by_type!(dimension.datatype.physical(), outside(column, limit))
    };
    let Some(row) = row else { return Ok(()) };
    let cell = column.cell(row);
    let value = if dimension.is_var() {
        crate::meta::value::text_or_bytes(cell)
    } else {
        crate::meta::value::parse_scalar(dimension.datatype, cell)?
    };
    Err(Error::invalid(format!(
        "row {row} has the coordinate {value} in dimension '{}', outside of [{}, {}]",
        dimension.name, limit.low, limit.high
    )))
}

fn hilbert_positions(schema: &ArraySchema, coords: &[Cells]) -> Vec<u64> {
    fn buckets<T: Coordinate>(column: &Cells, domain: &Range, bits: u32) -> Vec<u64> {
        let bound = |end: &Scalar| T::from_scalar(end).map_or(0.0, T::float);
        let (low, high) = (bound(&domain.low), bound(&domain.high));
        typed::<T>(column).map(|value| hilbert::bucket_number(value.float(), low, high - low, bits)).collect()
    }
    let bits = hilbert::bits(coords.len());
    let columns: Vec<Vec<u64>> = schema
        .dimensions
        .iter()
        .zip(coords)
        .map(|(dimension, column)| match &dimension.domain {
            Some(domain) => by_type!(dimension.datatype.physical(), buckets(column, domain, bits)),
            None => (0..column.count).map(|row| hilbert::bucket_text(column.cell(row), bits)).collect(),
        })
        .collect();
    let count = coords.first().map_or(0, |column| column.count);
    (0..count)
        .into_par_iter()
        .with_min_len(4096)
        .map_init(Vec::new, |axes, row| {
            axes.clear();
            axes.extend(columns.iter().map(|column| column.get(row).copied().unwrap_or_default()));
            hilbert::position(axes, bits)
        })
        .collect()
}
