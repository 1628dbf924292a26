//! Bounds and sums of blocks of numbers that have no surprise in them. The bounds are found in several lanes; floats are
//! added one after the other, for their sum depends on the order.

use super::statistics::{Number, widen};

/// Cells of a block.
pub(super) const BLOCK: usize = 1024;
/// Cells compared at once.
pub(super) const LANES: usize = 8;

/// The smallest and the largest value.
pub(super) type Bounds<T> = (T, T);

/// The type in which numbers are added.
pub(super) trait Sum: Copy {
    /// A sum from its bits.
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
    /// The sum, which need not be right if it does not fit.
    fn plus(self, value: Self) -> Self;
    /// Whether the sum `self`, and all those on the way to it, are certain: `count` values within `bounds` were added to
    /// `before`.
    fn is_certain(self, before: Self, count: usize, bounds: Bounds<Self>) -> bool;
    /// Whether this is zero with a sign.
    fn is_signed_zero(self) -> bool;
}

macro_rules! whole {
    ($($t:ty)*) => {$(
        impl Sum for $t {
            fn of(bits: u64) -> Self {
                <$t>::from_le_bytes(bits.to_le_bytes())
            }
            fn bits(self) -> u64 {
                u64::from_le_bytes(self.to_le_bytes())
            }
            #[inline]
            fn plus(self, value: Self) -> Self {
                self.wrapping_add(value)
            }
            fn is_certain(self, before: Self, count: usize, (low, high): Bounds<Self>) -> bool {
                let reach = |bound: Self| i128::from(before) + i128::from(bound) * count as i128;
                [low, high].map(reach).into_iter().all(|sum| <$t>::try_from(sum).is_ok())
            }
            fn is_signed_zero(self) -> bool {
                false
            }
        }
    )*};
}
whole! { i64 u64 }

impl Sum for f64 {
    fn of(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }

    #[inline]
    fn plus(self, value: Self) -> Self {
        self + value
    }

    fn is_certain(self, before: Self, count: usize, (low, high): Bounds<Self>) -> bool {
        // The sum is finite only if all values are.
        self.is_finite() && before.abs() + low.abs().max(high.abs()) * (count as f64) < Self::MAX / 2.0
    }

    fn is_signed_zero(self) -> bool {
        self == 0.0
    }
}

/// See [`Number::block`]. `GROUP` is the bytes of [`LANES`] cells.
pub(super) fn block<T: Number, S: Sum + From<T>, const GROUP: usize>(
    cells: &[u8],
    before: u64,
) -> Option<(Bounds<T>, u64)> {
    let (mut low, mut high) = ([T::HIGHEST; LANES], [T::LOWEST; LANES]);
    let mut sum = S::of(before);
    let (groups, rest) = cells.as_chunks::<GROUP>();
    for group in groups {
        for ((low, high), cell) in low.iter_mut().zip(&mut high).zip(group.chunks_exact(T::SIZE)) {
            let value = T::of(cell);
            *low = if *low < value { *low } else { value };
            *high = if *high > value { *high } else { value };
            sum = sum.plus(value.into());
        }
    }
    let [mut min, ..] = low;
    let [mut max, ..] = high;
    for value in rest.chunks_exact(T::SIZE).map(T::of) {
        (min, max) = widen((min, max), value);
        sum = sum.plus(value.into());
    }
    for (low, high) in low.into_iter().zip(high) {
        (min, max) = (widen((min, max), low).0, widen((min, max), high).1);
    }
    let count = cells.len() / T::SIZE;
    if !sum.is_certain(S::of(before), count, (min.into(), max.into())) {
        return None;
    }
    // Of equal zeros with different signs the last one counts.
    for bound in [&mut min, &mut max] {
        if S::from(*bound).is_signed_zero() {
            let last = cells.rchunks_exact(T::SIZE).map(T::of).find(|value| *value == *bound);
            *bound = last.unwrap_or(*bound);
        }
    }
    Some(((min, max), sum.bits()))
}
