//! From floats to integers.

use super::{Integers, SOME_RAW, SOME_UNSCALED, scale};
use crate::word::{Float, Int, Word};
use crate::zigzag::varint;
use crate::{delta_binary, rle_hybrid};

/// What becomes of a value that the scaled integer cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It is cut to the integer's width, as the first engines do: infinities and large values do not come back.
    Cut,
    /// The column says so and keeps it unscaled, or as raw bits.
    Mark,
}

/// Appends the column of `values`, kept to `digits` decimals, to `dst`.
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
    if overflow == Overflow::Mark && !fits(values, digits) {
        marked(values, digits, factor, integers, dst);
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

/// Rounded half up, saturated at 64 bits, then cut to the width.
fn cut<F: Float>(value: f64) -> F::Int {
    let floor = value.floor();
    // The difference is exact, unlike `value + 0.5`.
    let rounded = if value - floor >= 0.5 { floor + 1.0 } else { floor };
    F::Int::from_i64(rounded as i64)
}

/// Whether every value, scaled by 10 to the power of `digits`, fits the integer of its width.
pub fn fits<F: Float>(values: &[F], digits: u32) -> bool {
    let factor = scale(digits);
    values.iter().all(|v| in_range::<F>(v.to_f64() * factor))
}

fn in_range<F: Float>(value: f64) -> bool {
    // The width's bounds as floats; the upper one is exclusive, for 2^63 − 1 rounds up.
    let bound = if F::BITS == 32 { 2_147_483_648.0 } else { 9_223_372_036_854_775_808.0 };
    value.floor() >= -bound && value + 0.5 < bound
}

fn marked<F: Float>(values: &[F], digits: u32, factor: f64, integers: Integers, dst: &mut Vec<u8>) {
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
        if in_range::<F>(wide * factor) {
            set(&mut scaled, i);
            ints.push(cut::<F>(wide * factor));
        } else if in_range::<F>(wide) {
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
