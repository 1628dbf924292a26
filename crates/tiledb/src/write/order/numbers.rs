//! Coordinates as order-preserving words, computed on access.

use std::ops::Range as Span;

use arrow_buffer::Buffer;
use tesselle_core::Scalar;
use tesselle_core::Within;
use tesselle_core::driver::parallel;

use crate::Physical;
use crate::meta::dimension::Dimension;
use crate::write::cells::Cells;

/// Cells that a thread processes at once.
pub(super) const STRIDE_CELLS: usize = 1 << 16;

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
pub(super) trait Coordinate: Copy + PartialOrd + Send + Sync {
    const SIZE: usize;
    /// Whether it is an integer.
    const EXACT: bool;
    fn of(bytes: &[u8]) -> Self;
    fn from_scalar(value: &Scalar) -> Option<Self>;
    /// A number with the same order.
    fn rank(self) -> u64;
    /// The tile of the coordinate, which is not below `low`.
    fn tile(self, low: Self, extent: Self) -> u64;
    /// A number that preserves the order of coordinates inside one tile.
    fn within(self, low: Self, extent: Self) -> u64;
    fn float(self) -> f64;
}

macro_rules! integer_coordinate {
    ($($t:ident, $u:ident, $flip:expr;)*) => {$(
        impl Coordinate for $t {
            const SIZE: usize = size_of::<$t>();
            const EXACT: bool = true;
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
            #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "one body for all integers")]
            fn within(self, low: Self, extent: Self) -> u64 {
                (self.wrapping_sub(low) as $u % (extent as $u).max(1)) as u64
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
            const EXACT: bool = false;
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
                let tile = (self - low) / extent;
                // Far from the low end of an unbounded tile; the engine's platform produces this value.
                if tile.is_nan() { 1 << 63 } else { tile as u64 }
            }
            #[inline]
            fn within(self, _low: Self, _extent: Self) -> u64 {
                self.rank()
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

pub(super) use by_type;

/// The coordinates of a column.
pub(super) fn typed<T: Coordinate>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes.chunks_exact(T::SIZE).map(T::of)
}

/// The meaning of a word.
#[derive(Debug, Clone)]
enum What {
    /// The position of the coordinate.
    Rank,
    /// The tile of the coordinate.
    Tile { low: Scalar, extent: Scalar },
    /// The position in its tile: fewer bits than the rank.
    Within { low: Scalar, extent: Scalar },
}

/// A column of coordinates as words.
#[derive(Debug)]
pub(super) struct Numbers {
    data: Buffer,
    physical: Physical,
    what: What,
    /// The min and max word of a coordinate inside the domain.
    pub(super) limits: Option<(u64, u64)>,
}

impl Numbers {
    /// The tile of each coordinate; `None` for dimensions without tiles.
    pub(super) fn tiles(dimension: &Dimension, column: &Cells) -> Option<Self> {
        let (low, extent) = grid(dimension)?;
        Some(Self::new(dimension, column, What::Tile { low, extent }))
    }

    /// The position of each coordinate. With `tiled` the tiles are compared first, so the position in the tile is
    /// enough.
    pub(super) fn places(dimension: &Dimension, column: &Cells, tiled: bool) -> Self {
        let what = match grid(dimension).filter(|_| tiled) {
            Some((low, extent)) => What::Within { low, extent },
            None => What::Rank,
        };
        Self::new(dimension, column, what)
    }

    fn new(dimension: &Dimension, column: &Cells, what: What) -> Self {
        let physical = dimension.datatype.physical();
        let limits = by_type!(physical, limits(dimension, &what));
        Self { data: column.data.clone(), physical, what, limits }
    }

    /// Shows the words of some cells, in order.
    pub(super) fn each(&self, cells: Span<usize>, put: impl FnMut(u64)) {
        fn of<T: Coordinate>(numbers: &Numbers, cells: Span<usize>, mut put: impl FnMut(u64)) {
            let bytes = numbers.data.within(cells.start * T::SIZE..cells.end * T::SIZE);
            let ends = |low: &Scalar, extent: &Scalar| T::from_scalar(low).zip(T::from_scalar(extent));
            match &numbers.what {
                What::Tile { low, extent } => {
                    if let Some((low, extent)) = ends(low, extent) {
                        typed::<T>(bytes).for_each(|value| put(value.tile(low, extent)));
                    }
                }
                What::Within { low, extent } => {
                    if let Some((low, extent)) = ends(low, extent) {
                        typed::<T>(bytes).for_each(|value| put(value.within(low, extent)));
                    }
                }
                What::Rank => typed::<T>(bytes).for_each(|value| put(value.rank())),
            }
        }
        by_type!(self.physical, of(self, cells, put));
    }

    /// All words.
    pub(super) fn words(&self, count: usize) -> Vec<u64> {
        let mut words = vec![0; count];
        parallel::for_each(words.chunks_mut(STRIDE_CELLS).enumerate(), |(i, words)| {
            let mut slots = words.iter_mut();
            let start = i * STRIDE_CELLS;
            self.each(start..(start + STRIDE_CELLS).min(count), |word| {
                if let Some(slot) = slots.next() {
                    *slot = word;
                }
            });
        });
        words
    }
}

fn limits<T: Coordinate>(dimension: &Dimension, what: &What) -> Option<(u64, u64)> {
    let domain = dimension.domain.as_ref()?;
    let (low, high) = (T::from_scalar(&domain.low)?, T::from_scalar(&domain.high)?);
    Some(match what {
        What::Tile { extent, .. } => (0, high.tile(low, T::from_scalar(extent)?)),
        What::Within { extent, .. } if T::EXACT => {
            let last = T::from_scalar(extent)?.rank().wrapping_sub(T::from_scalar(&Scalar::Int(1))?.rank());
            (0, last.min(high.rank().wrapping_sub(low.rank())))
        }
        What::Within { .. } | What::Rank => (low.rank(), high.rank()),
    })
}

/// The start of the first tile and the tile size. A single tile larger than its type contains all coordinates.
fn grid(dimension: &Dimension) -> Option<(Scalar, Scalar)> {
    fn fits<T: Coordinate>(low: &Scalar, extent: &Scalar) -> bool {
        T::from_scalar(low).is_some() && T::from_scalar(extent).is_some()
    }
    let (low, extent) = (&dimension.domain.as_ref()?.low, dimension.extent.as_ref()?);
    by_type!(dimension.datatype.physical(), fits(low, extent)).then(|| (low.clone(), extent.clone()))
}
