//! Statistics of a tile (spec §9.3): min, max, sum and null count.
//!
//! They match the reference exactly, NaN and overflow included, because readers compare and verifiers recompute them.

use std::cmp::Ordering;
use std::ops::Range;

use tesselle_core::Within;

use super::cells::{CellType, TileCells};
use super::number_block::{BLOCK, Bounds, LANES, block};
use crate::meta::statistics::{FieldSummary, has_min_max, has_sum};
use crate::{Datatype, Physical};

/// The statistics of one tile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TileStats {
    /// The minimum; empty if the field has none or all cells are null.
    pub(crate) min: Vec<u8>,
    /// The maximum.
    pub(crate) max: Vec<u8>,
    /// The bits of an `i64`, `u64` or `f64`.
    pub(crate) sum: u64,
    /// Null cells.
    pub(crate) nulls: u64,
    /// Cells that count.
    pub(crate) cells: u64,
}

/// The statistics that a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Presence {
    pub(crate) min_max: bool,
    pub(crate) sum: bool,
    pub(crate) nulls: bool,
}

impl Presence {
    pub(crate) fn of(kind: CellType, is_dimension: bool) -> Self {
        Self {
            min_max: !is_dimension && has_min_max(kind.datatype, kind.cell_val_num),
            sum: has_sum(kind.datatype, kind.cell_val_num),
            nulls: kind.nullable,
        }
    }
}

/// Computes the statistics of the cells of `tile` that lie in `real`; the others are padding.
pub(crate) fn of_tile(
    tile: &TileCells,
    kind: CellType,
    presence: Presence,
    real: &[Range<usize>],
) -> TileStats {
    let mut stats =
        TileStats { cells: real.iter().map(|run| run.len() as u64).sum(), ..TileStats::default() };
    if let (true, Some(validity)) = (presence.nulls, &tile.validity) {
        let valid = |run: &Range<usize>| validity.within(run.clone()).iter();
        stats.nulls = real.iter().flat_map(valid).filter(|valid| **valid == 0).count() as u64;
    }
    if !presence.min_max && !presence.sum {
        return stats;
    }
    if is_byte_string(kind) {
        let cell = |index: usize| match &tile.offsets {
            Some(offsets) => {
                let at = |i: usize| offsets.get(i).map_or(tile.data.len(), |offset| *offset as usize);
                tile.data.within(at(index)..at(index + 1))
            }
            None => tile.data.within(index * kind.cell_size()..(index + 1) * kind.cell_size()),
        };
        string_min_max(real.iter().cloned().flatten().filter(|i| is_valid(tile, *i)).map(cell), &mut stats);
        if presence.sum {
            // Single characters compare as strings, but are added as signed numbers.
            numbers::<i8>(tile, Presence { min_max: false, ..presence }, real, &mut stats);
        }
        return stats;
    }
    match kind.datatype.physical() {
        Physical::I8 => numbers::<i8>(tile, presence, real, &mut stats),
        Physical::I16 => numbers::<i16>(tile, presence, real, &mut stats),
        Physical::I32 => numbers::<i32>(tile, presence, real, &mut stats),
        Physical::I64 => numbers::<i64>(tile, presence, real, &mut stats),
        Physical::U8 => numbers::<u8>(tile, presence, real, &mut stats),
        Physical::U16 => numbers::<u16>(tile, presence, real, &mut stats),
        Physical::U32 => numbers::<u32>(tile, presence, real, &mut stats),
        Physical::U64 => numbers::<u64>(tile, presence, real, &mut stats),
        Physical::F32 => numbers::<f32>(tile, presence, real, &mut stats),
        Physical::F64 => numbers::<f64>(tile, presence, real, &mut stats),
    }
    stats
}

/// The statistics of a tile that depend on the order in which its cells are visited. That is not stored for dense
/// tiles: the reference visits the cells of a write in the order of its runs, and a sum that saturates in one run goes on
/// in the next.
#[derive(Debug, Default)]
pub(crate) struct Unsettled {
    /// How far two sums can be apart; infinite if nothing is known.
    pub(crate) sum: f64,
    /// Whether there is a NaN, which can hide any minimum and maximum.
    pub(crate) min_max: bool,
}

/// What is unsettled about the statistics of the cells of `tile` that lie in `real`.
pub(crate) fn unsettled(tile: &TileCells, kind: CellType, real: &[Range<usize>]) -> Unsettled {
    if kind.cell_val_num != 1 || is_byte_string(kind) {
        return Unsettled::default();
    }
    let places = || real.iter().cloned().flatten().filter(|i| is_valid(tile, *i));
    let bytes = |i: usize| tile.data.within(i * kind.cell_size()..(i + 1) * kind.cell_size());
    let float = |i: usize| match kind.datatype.physical() {
        Physical::F32 => f64::from(<f32 as Number>::of(bytes(i))),
        _ => <f64 as Number>::of(bytes(i)),
    };
    match kind.datatype.physical() {
        Physical::F32 | Physical::F64 => {
            let (count, total) = places().fold((0.0, 0.0), |(n, sum), i| (n + 1.0, sum + float(i).abs()));
            let sum = count * f64::EPSILON * total;
            Unsettled {
                sum: if sum.is_finite() { sum } else { f64::INFINITY },
                min_max: places().any(|i| float(i).is_nan()),
            }
        }
        Physical::I64 => {
            let values = || places().map(|i| <i64 as Number>::of(bytes(i)));
            let fits = |positive: bool| {
                let mut of_sign = values().filter(|value| (*value > 0) == positive);
                of_sign.try_fold(0_i64, i64::checked_add).is_some()
            };
            let fits = fits(true) && fits(false);
            Unsettled { sum: if fits { 0.0 } else { f64::INFINITY }, min_max: false }
        }
        _ => Unsettled::default(),
    }
}

/// The summary of a fragment from the statistics of its tiles.
pub(crate) fn summarize(tiles: &[TileStats], kind: CellType, presence: Presence) -> FieldSummary {
    let mut summary =
        FieldSummary { null_count: tiles.iter().map(|tile| tile.nulls).sum(), ..FieldSummary::default() };
    let counted = || tiles.iter().filter(|tile| tile.cells > tile.nulls);
    if presence.min_max {
        if is_byte_string(kind) {
            let mut low = TileStats::default();
            string_min_max(counted().map(|tile| tile.min.as_slice()), &mut low);
            summary.min = low.min;
            let mut high = TileStats::default();
            string_min_max(counted().map(|tile| tile.max.as_slice()), &mut high);
            summary.max = high.max;
        } else {
            (summary.min, summary.max) = number_min_max(kind.datatype, counted());
        }
        if !kind.is_var() {
            summary.min.resize(kind.cell_size(), 0);
            summary.max.resize(kind.cell_size(), 0);
        }
    }
    // The engine sums characters by tile, but not by fragment.
    if presence.sum && kind.datatype != Datatype::Char {
        summary.sum = add_sums(kind.datatype, counted().map(|tile| tile.sum));
    }
    summary
}

/// Whether the minimum and maximum compare strings of bytes.
pub(crate) fn is_byte_string(kind: CellType) -> bool {
    matches!(kind.datatype, Datatype::StringAscii | Datatype::Char)
}

fn is_valid(tile: &TileCells, index: usize) -> bool {
    tile.validity.as_ref().is_none_or(|validity| validity.value(index) != 0)
}

fn string_min_max<'a>(mut cells: impl Iterator<Item = &'a [u8]>, stats: &mut TileStats) {
    let Some(first) = cells.next() else { return };
    let (mut min, mut max) = (first, first);
    for cell in cells {
        if c_order(cell, min) == Ordering::Less {
            min = cell;
        }
        if c_order(cell, max) == Ordering::Greater {
            max = cell;
        }
    }
    (stats.min, stats.max) = (min.to_vec(), max.to_vec());
}

/// Compares as C compares strings of known length: up to the first NUL that both have, then the shorter one first.
fn c_order(a: &[u8], b: &[u8]) -> Ordering {
    for (x, y) in a.iter().zip(b) {
        match x.cmp(y) {
            Ordering::Equal if *x == 0 => break,
            Ordering::Equal => {}
            other => return other,
        }
    }
    a.len().cmp(&b.len())
}

/// A number of a tile.
pub(crate) trait Number: Copy + PartialOrd {
    const SIZE: usize;
    const HIGHEST: Self;
    const LOWEST: Self;
    fn of(bytes: &[u8]) -> Self;
    fn put(self) -> Vec<u8>;
    /// Adds to a running sum (its bits); `false` if it saturated.
    fn add_to(self, sum: &mut u64) -> bool;
    /// The bounds of some cells, and the sum `before` with them; `None` if one of them is no finite number, or if the sum could
    /// saturate.
    fn block(cells: &[u8], before: u64) -> Option<(Bounds<Self>, u64)>;
}

macro_rules! number {
    ($($t:ty, $add:ident, $wide:ty;)*) => {$(
        impl Number for $t {
            const SIZE: usize = size_of::<$t>();
            const HIGHEST: Self = <$t>::MAX;
            const LOWEST: Self = <$t>::MIN;
            #[inline]
            fn of(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or_else(Default::default, |bytes| <$t>::from_le_bytes(*bytes))
            }
            fn put(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            #[inline]
            fn add_to(self, sum: &mut u64) -> bool {
                $add(sum, <$wide>::from(self))
            }
            fn block(cells: &[u8], before: u64) -> Option<(Bounds<Self>, u64)> {
                block::<$t, $wide, { LANES * size_of::<$t>() }>(cells, before)
            }
        }
    )*};
}
number! {
    i8, add_signed, i64; i16, add_signed, i64; i32, add_signed, i64; i64, add_signed, i64;
    u8, add_unsigned, u64; u16, add_unsigned, u64; u32, add_unsigned, u64; u64, add_unsigned, u64;
    f32, add_float, f64; f64, add_float, f64;
}

#[inline]
fn add_signed(sum: &mut u64, value: i64) -> bool {
    let (next, fits) = match sum.cast_signed().checked_add(value) {
        Some(next) => (next, true),
        None => (if value < 0 { i64::MIN } else { i64::MAX }, false),
    };
    *sum = next.cast_unsigned();
    fits
}

#[inline]
fn add_unsigned(sum: &mut u64, value: u64) -> bool {
    let (next, fits) = sum.checked_add(value).map_or((u64::MAX, false), |next| (next, true));
    *sum = next;
    fits
}

#[inline]
fn add_float(sum: &mut u64, value: f64) -> bool {
    let before = f64::from_bits(*sum);
    let overflows = (before < 0.0) == (value < 0.0) && before.abs() > f64::MAX - value.abs();
    let next = match overflows {
        true if before < 0.0 => f64::MIN,
        true => f64::MAX,
        false => before + value,
    };
    *sum = next.to_bits();
    !overflows
}

/// The newer value wins if the comparison is false, so the result can be NaN.
#[inline]
pub(super) fn widen<T: Number>((min, max): Bounds<T>, value: T) -> Bounds<T> {
    (if min < value { min } else { value }, if max > value { max } else { value })
}

fn numbers<T: Number>(tile: &TileCells, presence: Presence, real: &[Range<usize>], stats: &mut TileStats) {
    let (mut bounds, mut adding, mut seen) = ((T::HIGHEST, T::LOWEST), presence.sum, false);
    for run in real {
        let cells = tile.data.within(run.start * T::SIZE..run.end * T::SIZE);
        match tile.validity.as_ref().and_then(|validity| validity.get(run.clone())) {
            None => {
                for block in cells.chunks(BLOCK * T::SIZE) {
                    if !presence.min_max && !adding {
                        break;
                    }
                    if let Some(((min, max), sum)) = T::block(block, if adding { stats.sum } else { 0 }) {
                        bounds = (widen(bounds, min).0, widen(bounds, max).1);
                        stats.sum = if adding { sum } else { stats.sum };
                        continue;
                    }
                    for value in block.chunks_exact(T::SIZE).map(T::of) {
                        bounds = widen(bounds, value);
                        adding = adding && value.add_to(&mut stats.sum);
                    }
                }
                seen |= !cells.is_empty();
            }
            Some(validity) => {
                let valid = cells.chunks_exact(T::SIZE).zip(validity).filter(|(_, valid)| **valid != 0);
                for (cell, _) in valid {
                    let value = T::of(cell);
                    bounds = widen(bounds, value);
                    adding = adding && value.add_to(&mut stats.sum);
                    seen = true;
                }
            }
        }
    }
    if presence.min_max && seen {
        (stats.min, stats.max) = (bounds.0.put(), bounds.1.put());
    }
}

fn number_min_max<'a>(datatype: Datatype, tiles: impl Iterator<Item = &'a TileStats>) -> (Vec<u8>, Vec<u8>) {
    fn over<'a, T: Number>(tiles: impl Iterator<Item = &'a TileStats>) -> (Vec<u8>, Vec<u8>) {
        let (mut min, mut max, mut seen) = (T::HIGHEST, T::LOWEST, false);
        for tile in tiles {
            min = widen((min, max), T::of(&tile.min)).0;
            max = widen((min, max), T::of(&tile.max)).1;
            seen = true;
        }
        if seen { (min.put(), max.put()) } else { (Vec::new(), Vec::new()) }
    }
    match datatype.physical() {
        Physical::I8 => over::<i8>(tiles),
        Physical::I16 => over::<i16>(tiles),
        Physical::I32 => over::<i32>(tiles),
        Physical::I64 => over::<i64>(tiles),
        Physical::U8 => over::<u8>(tiles),
        Physical::U16 => over::<u16>(tiles),
        Physical::U32 => over::<u32>(tiles),
        Physical::U64 => over::<u64>(tiles),
        Physical::F32 => over::<f32>(tiles),
        Physical::F64 => over::<f64>(tiles),
    }
}

fn add_sums(datatype: Datatype, mut sums: impl Iterator<Item = u64>) -> u64 {
    let mut sum = 0;
    match datatype.physical() {
        Physical::F32 | Physical::F64 => sums.all(|s| add_float(&mut sum, f64::from_bits(s))),
        Physical::I8 | Physical::I16 | Physical::I32 | Physical::I64 => {
            sums.all(|s| add_signed(&mut sum, s.cast_signed()))
        }
        _ => sums.all(|s| add_unsigned(&mut sum, s)),
    };
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats_of<T: Number>(datatype: Datatype, values: &[T], validity: Option<Vec<u8>>) -> TileStats {
        let kind = CellType { datatype, cell_val_num: 1, nullable: validity.is_some() };
        let data = values.iter().flat_map(|v| v.put()).collect();
        let tile = TileCells { data, offsets: None, validity };
        of_tile(&tile, kind, Presence::of(kind, false), std::slice::from_ref(&(0..values.len())))
    }

    #[test]
    fn sums_saturate_and_stop() {
        assert_eq!(stats_of(Datatype::Int64, &[i64::MAX, 1, -5], None).sum, i64::MAX as u64);
        assert_eq!(stats_of(Datatype::Uint64, &[u64::MAX, 1, 7], None).sum, u64::MAX);
        let floats = stats_of(Datatype::Float64, &[f64::MAX, f64::MAX, -1.0], None);
        assert_eq!(f64::from_bits(floats.sum), f64::MAX);
    }

    #[test]
    fn single_characters_compare_as_bytes_and_add_as_signed_numbers() {
        let kind = CellType { datatype: Datatype::Char, cell_val_num: 1, nullable: true };
        let tile =
            TileCells { data: vec![0x13, 0xd7, 0x01, 0x7f], offsets: None, validity: Some(vec![1, 1, 0, 1]) };
        let stats = of_tile(&tile, kind, Presence::of(kind, false), std::slice::from_ref(&(0..4)));
        assert_eq!((stats.min, stats.max, stats.nulls), (vec![0x13], vec![0xd7], 1));
        assert_eq!(stats.sum.cast_signed(), 0x13 - 0x29 + 0x7f);
    }

    #[test]
    fn the_order_of_cells_matters_where_a_sum_saturates_or_rounds() {
        let of = |datatype, data: Vec<u8>, count: usize| {
            let kind = CellType { datatype, cell_val_num: 1, nullable: false };
            unsettled(
                &TileCells { data, offsets: None, validity: None },
                kind,
                std::slice::from_ref(&(0..count)),
            )
        };
        let integers = |values: &[i64]| values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert!(of(Datatype::Int64, integers(&[i64::MAX, -5, 1]), 3).sum.is_infinite());
        assert!(of(Datatype::TimeMs, integers(&[i64::MIN, 5, -1]), 3).sum.is_infinite());
        assert_eq!(of(Datatype::Int64, integers(&[i64::MAX, i64::MIN, 0]), 3).sum, 0.0);
        let floats = |values: &[f64]| values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let finite = of(Datatype::Float64, floats(&[1e16, 1.0, -1e16]), 3);
        assert!(finite.sum > 1.0 && finite.sum < 100.0 && !finite.min_max, "{finite:?}");
        let nan = of(Datatype::Float64, floats(&[1.0, f64::NAN]), 2);
        assert!(nan.sum.is_infinite() && nan.min_max);
    }

    /// Min, max and sum, one value after the other.
    fn one_by_one<T: Number>(values: &[T]) -> (Vec<u8>, Vec<u8>, u64) {
        let (mut bounds, mut sum, mut adding) = ((T::HIGHEST, T::LOWEST), 0, true);
        for value in values {
            bounds = widen(bounds, *value);
            adding = adding && value.add_to(&mut sum);
        }
        (bounds.0.put(), bounds.1.put(), sum)
    }

    fn assert_blocks<T: Number>(datatype: Datatype, value: impl Fn(u64) -> T) {
        let mut state = 1_u64;
        for (len, rare) in [(1, 1), (7, 2), (BLOCK, 50), (3 * BLOCK + 5, 900), (5 * BLOCK, 100_000)] {
            for _ in 0..20 {
                let values: Vec<T> = (0..len)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        // Now and then an extreme.
                        value(if (state >> 40).is_multiple_of(rare) {
                            state >> 33
                        } else {
                            (state >> 33) % 1000 + 8
                        })
                    })
                    .collect();
                let stats = stats_of(datatype, &values, None);
                assert_eq!(
                    (stats.min, stats.max, stats.sum),
                    one_by_one(&values),
                    "{datatype:?} {len} {rare}"
                );
            }
        }
    }

    #[test]
    fn blocks_equal_one_value_after_the_other() {
        let odd = |n: u64| match n % 1009 {
            0 => f64::NAN,
            1 => -0.0,
            2 => 0.0,
            3 => f64::INFINITY,
            4 => f64::NEG_INFINITY,
            5 => f64::MAX,
            6 => f64::MIN,
            n => n as f64 / 7.0 - 50.0,
        };
        assert_blocks(Datatype::Float64, odd);
        assert_blocks(Datatype::Float64, |n| odd(n).abs());
        assert_blocks(Datatype::Float64, |n| if n.is_multiple_of(3) { -0.0 } else { 0.0 });
        assert_blocks(Datatype::Float64, |n| n as f64 * 1e280);
        assert_blocks(Datatype::Float32, |n| odd(n) as f32);
        assert_blocks(Datatype::Int64, |n| if n > 1008 { i64::MIN / 100 } else { 500 - n as i64 });
        assert_blocks(Datatype::Int64, |n| if n.is_multiple_of(2) { i64::MAX } else { i64::MIN });
        assert_blocks(Datatype::Uint64, |n| if n > 1008 { u64::MAX / 30 } else { n });
        assert_blocks(Datatype::Int32, |n| n as i32);
        assert_blocks(Datatype::Uint16, |n| n as u16);
        assert_blocks(Datatype::Int8, |n| n as i8);
    }

    #[test]
    fn nan_can_be_min_or_max() {
        let stats = stats_of(Datatype::Float64, &[1.0, 3.0, f64::NAN], None);
        assert!(f64::of(&stats.min).is_nan() && f64::of(&stats.max).is_nan());
        let stats = stats_of(Datatype::Float64, &[f64::NAN, 3.0, 1.0], None);
        assert_eq!((f64::of(&stats.min), f64::of(&stats.max)), (1.0, 3.0));
    }

    #[test]
    fn nulls_and_padding_do_not_count() {
        let stats = stats_of(Datatype::Int32, &[5_i32, 1, 9], Some(vec![1, 0, 1]));
        assert_eq!((i32::of(&stats.min), i32::of(&stats.max), stats.sum, stats.nulls), (5, 9, 14, 1));
        let stats = stats_of(Datatype::Int32, &[5_i32], Some(vec![0]));
        assert_eq!((stats.min.len(), stats.nulls), (0, 1));
    }

    #[test]
    fn strings_compare_up_to_nul_then_by_length() {
        assert_eq!(c_order(b"ab", b"abc"), Ordering::Less);
        assert_eq!(c_order(b"a\0z", b"a\0b"), Ordering::Equal);
        assert_eq!(c_order(b"b", b"abc"), Ordering::Greater);
    }
}
