//! Encoder: floats to integers.

use super::{Integers, SOME_RAW, SOME_UNSCALED, scale};
use crate::word::{Float, Int, Word};
use crate::zigzag::varint;
use crate::{delta_binary, rle_hybrid};

/// Policy for a value that the scaled integer cannot represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// Truncate to the integer's width, as the first engines do: infinities and large values are lost.
    Cut,
    /// Mark the value in the column and store it unscaled, or as raw bits.
    Mark,
    /// Like `Mark`, also for values that the scaled integer would round: every value round-trips exactly.
    MarkInexact,
}

/// Maximum number of decimals tried: up to this power, powers of ten are exact as doubles.
const MAX_DIGITS: u32 = 22;

/// Returns a number of decimals with which every value round-trips: `first` if possible, else the next larger
/// number, else a smaller one. `None` if no number of decimals works.
pub fn fitting<F: Float>(values: &[F], first: u32) -> Option<u32> {
    let mut candidates = (first..=MAX_DIGITS).chain((0..first.min(MAX_DIGITS)).rev());
    candidates.find(|digits| {
        let factor = scale(*digits);
        values.iter().all(|value| is_exact::<F>(*value, factor))
    })
}

/// Counts the values that do not round-trip with this many decimals.
pub fn inexact_count<F: Float>(values: &[F], digits: u32) -> usize {
    let factor = scale(digits);
    values.iter().filter(|value| !is_exact::<F>(**value, factor)).count()
}

/// Appends the column of `values`, rounded to `digits` decimals, to `dst`.
pub fn encode<F: Float>(
    values: &[F],
    digits: u32,
    integers: Integers,
    overflow: Overflow,
    dst: &mut Vec<u8>,
) {
    if values.is_empty() {
        return;
    }
    let factor = scale(digits);
    let keeps = |value: F| match overflow {
        Overflow::Cut => true,
        Overflow::Mark => in_range::<F>(value.to_f64() * factor),
        Overflow::MarkInexact => is_exact::<F>(value, factor),
    };
    if !values.iter().all(|value| keeps(*value)) {
        marked(values, digits, keeps, overflow, integers, dst);
        return;
    }
    varint::write_u64(digits as u64, dst);
    let ints: Vec<F::Int> = values.iter().map(|v| cut::<F>(v.to_f64() * factor)).collect();
    write_integers::<F>(&ints, integers, dst);
}

fn write_integers<F: Float>(ints: &[F::Int], integers: Integers, dst: &mut Vec<u8>) {
    match integers {
        Integers::Runs => rle_hybrid::encode(ints, dst),
        Integers::Deltas => delta_binary::encode(ints, dst),
    }
}

/// Rounds half up, saturates at 64 bits, then truncates to the width.
fn cut<F: Float>(value: f64) -> F::Int {
    let floor = value.floor();
    // The subtraction is exact, unlike `value + 0.5`.
    let rounded = if value - floor >= 0.5 { floor + 1.0 } else { floor };
    F::Int::from_i64(rounded as i64)
}

/// Returns whether every value, scaled by 10 to the power of `digits`, fits the integer of its width.
pub fn fits<F: Float>(values: &[F], digits: u32) -> bool {
    let factor = scale(digits);
    values.iter().all(|v| in_range::<F>(v.to_f64() * factor))
}

fn in_range<F: Float>(value: f64) -> bool {
    // The bounds of the width as floats; the upper one is exclusive because 2^63 − 1 rounds up.
    let bound = if F::BITS == 32 { 2_147_483_648.0 } else { 9_223_372_036_854_775_808.0 };
    value.floor() >= -bound && value + 0.5 < bound
}

/// Returns whether the scaled integer decodes to the same bits.
fn is_exact<F: Float>(value: F, factor: f64) -> bool {
    let scaled = value.to_f64() * factor;
    in_range::<F>(scaled)
        && F::from_f64(cut::<F>(scaled).to_i64() as f64 / factor).to_word() == value.to_word()
}

fn marked<F: Float>(
    values: &[F],
    digits: u32,
    keeps_scaled: impl Fn(F) -> bool,
    overflow: Overflow,
    integers: Integers,
    dst: &mut Vec<u8>,
) {
    let factor = scale(digits);
    let keeps_whole = |value: F| match overflow {
        Overflow::MarkInexact => is_exact::<F>(value, 1.0),
        Overflow::Cut | Overflow::Mark => in_range::<F>(value.to_f64()),
    };
    let mut scaled = vec![0u8; values.len() / 8 + 1];
    let mut raw = scaled.clone();
    let mut has_raw = false;
    let set = |bitmap: &mut [u8], i: usize| {
        if let Some(byte) = bitmap.get_mut(i / 8) {
            *byte |= 1 << (i % 8);
        }
    };
    let mut ints = Vec::with_capacity(values.len());
    for (i, value) in values.iter().enumerate() {
        let wide = value.to_f64();
        if keeps_scaled(*value) {
            set(&mut scaled, i);
            ints.push(cut::<F>(wide * factor));
        } else if keeps_whole(*value) {
            ints.push(cut::<F>(wide));
        } else {
            set(&mut raw, i);
            has_raw = true;
            ints.push(F::Int::from_word(value.to_word()));
        }
    }
    varint::write_u64(if has_raw { SOME_RAW } else { SOME_UNSCALED } as u64, dst);
    varint::write_u64(values.len() as u64, dst);
    dst.extend_from_slice(&scaled);
    if has_raw {
        dst.extend_from_slice(&raw);
    }
    varint::write_u64(digits as u64, dst);
    write_integers::<F>(&ints, integers, dst);
}
