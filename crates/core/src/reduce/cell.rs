//! The cell types of the kernels: little-endian bytes at any alignment.

use std::marker::PhantomData;

use super::result::Values;

/// How cells of one type are stored.
pub(super) trait Cell: Send + Sync + 'static {
    /// The stored bytes of a cell.
    type Raw: Copy + Send + Sync;
    /// The type used for computation.
    type Value: Number;
    /// Bytes per cell.
    const SIZE: usize = size_of::<Self::Raw>();

    /// The whole cells of a slice.
    fn cells(bytes: &[u8]) -> &[Self::Raw];

    /// The value of a cell.
    fn load(raw: Self::Raw) -> Self::Value;
}

/// A number that kernels compare and widen.
pub(super) trait Number: Copy + PartialOrd + Send + Sync + 'static {
    /// Not above any other.
    const LEAST: Self;
    /// Not below any other.
    const MOST: Self;
    /// The initial value of a minimum: NaN if the type has it.
    const NONE_MIN: Self;
    /// The initial value of a maximum.
    const NONE_MAX: Self;
    /// Whether it is a float.
    const FLOAT: bool;

    fn to_f64(self) -> f64;

    fn is_nan(self) -> bool;

    fn values(list: Vec<Self>) -> Values;
}

/// How many integer parts can be added before their sum must be flushed.
pub(super) const SAFE_SUMS: usize = 1 << 14;

/// An integer.
pub(super) trait Integer: Number {
    /// The type in which its parts are added.
    type Part: Copy + Default + Send + Sync + Into<i64> + std::ops::Add<Output = Self::Part>;

    /// Two parts, `low + high * 2^32`; [`SAFE_SUMS`] of them add up in their type without an overflow.
    fn parts(self) -> (Self::Part, Self::Part);
}

/// Cells that are integers.
pub(super) struct Integral<T>(PhantomData<T>);

/// Cells that are stored as they are computed with.
macro_rules! native {
    ($cell:ty, $value:ty, $bytes:literal) => {
        impl Cell for $cell {
            type Raw = [u8; $bytes];
            type Value = $value;

            #[inline]
            fn cells(bytes: &[u8]) -> &[Self::Raw] {
                bytes.as_chunks().0
            }

            #[inline]
            fn load(raw: Self::Raw) -> $value {
                <$value>::from_le_bytes(raw)
            }
        }
    };
}

macro_rules! integers {
    ($($type:ty, $bytes:literal, $part:ty, |$x:ident| $parts:expr;)*) => {$(
        native!(Integral<$type>, $type, $bytes);

        impl Number for $type {
            const LEAST: Self = <$type>::MIN;
            const MOST: Self = <$type>::MAX;
            const NONE_MIN: Self = <$type>::MAX;
            const NONE_MAX: Self = <$type>::MIN;
            const FLOAT: bool = false;

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn is_nan(self) -> bool {
                false
            }

            fn values(list: Vec<Self>) -> Values {
                Values::Int(list.into_iter().map(i128::from).collect())
            }
        }

        impl Integer for $type {
            type Part = $part;

            #[inline]
            fn parts(self) -> ($part, $part) {
                let $x = self;
                $parts
            }
        }
    )*};
}

integers! {
    i8, 1, i32, |x| (i32::from(x), 0);
    i16, 2, i32, |x| (i32::from(x), 0);
    i32, 4, i64, |x| (i64::from(x), 0);
    i64, 8, i64, |x| (x & 0xffff_ffff, x >> 32);
    u8, 1, i32, |x| (i32::from(x), 0);
    u16, 2, i32, |x| (i32::from(x), 0);
    u32, 4, i64, |x| (i64::from(x), 0);
    u64, 8, i64, |x| ((x & 0xffff_ffff).cast_signed(), (x >> 32).cast_signed());
}

/// Half-precision cells.
pub(super) struct F16;
/// Single-precision cells.
pub(super) struct F32;
/// Double-precision cells.
pub(super) struct F64;

impl Cell for F16 {
    type Raw = [u8; 2];
    type Value = f32;

    #[inline]
    fn cells(bytes: &[u8]) -> &[Self::Raw] {
        bytes.as_chunks().0
    }

    /// Widens without a branch, so that loops vectorize: the exponent is rebased by one exact multiplication, which
    /// also handles subnormals.
    #[inline]
    fn load(raw: Self::Raw) -> f32 {
        let bits = u32::from(u16::from_le_bytes(raw));
        let (sign, rest) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
        let scaled = (f32::from_bits(rest) * f32::from_bits(0x7780_0000)).to_bits(); // 2^112
        let special = if rest >= 0x0f80_0000 { 0x7f80_0000 } else { 0 };
        f32::from_bits(sign | scaled | special)
    }
}

native!(F32, f32, 4);
native!(F64, f64, 8);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const LEAST: Self = <$type>::NEG_INFINITY;
            const MOST: Self = <$type>::INFINITY;
            const NONE_MIN: Self = <$type>::NAN;
            const NONE_MAX: Self = <$type>::NAN;
            const FLOAT: bool = true;

            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }

            fn values(list: Vec<Self>) -> Values {
                Values::Float(list.into_iter().map(f64::from).collect())
            }
        }
    )*};
}

floats!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_widens_to_the_right_single() {
        for bits in 0..=u16::MAX {
            let want = half::f16::from_bits(bits).to_f32();
            let got = F16::load(bits.to_le_bytes());
            assert!(got == want || (got.is_nan() && want.is_nan()), "{bits:#x}: {got} {want}");
            assert_eq!(got.is_sign_negative(), want.is_sign_negative(), "{bits:#x}");
        }
    }

    #[test]
    fn the_parts_of_an_integer_add_up() {
        fn check<T: Integer + Into<i128>>(value: T) {
            let (low, high) = value.parts();
            let (low, high): (i64, i64) = (low.into(), high.into());
            assert_eq!(i128::from(low) + (i128::from(high) << 32), value.into());
        }
        for value in [i64::MIN, i64::MIN + 1, -1, 0, 1, 1 << 32, i64::MAX] {
            check(value);
        }
        for value in [0, 1, u64::MAX, 1 << 63, (1 << 32) - 1] {
            check(value);
        }
        check(i32::MIN);
        check(u32::MAX);
        check(i8::MIN);
    }
}
