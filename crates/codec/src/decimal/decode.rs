//! Decoder: integers back to floats.

use super::{Integers, SOME_RAW, SOME_UNSCALED, WHAT, scale};
use crate::word::{Float, Int, Word};
use crate::zigzag::varint;
use crate::{Error, Result, delta_binary, rle_hybrid};

/// Appends the first `count` values of the column `src`.
pub fn decode<F: Float>(src: &[u8], integers: Integers, count: usize, dst: &mut Vec<F>) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let mut rest = src;
    let digits = varint::read_u32(&mut rest, WHAT)?;
    if digits == SOME_UNSCALED || digits == SOME_RAW {
        return marked(rest, digits == SOME_RAW, integers, count, dst);
    }
    let factor = scale(digits);
    let ints = read_integers::<F>(rest, integers, count)?;
    dst.extend(ints.iter().map(|i| F::from_f64(i.to_i64() as f64 / factor)));
    Ok(())
}

fn read_integers<F: Float>(src: &[u8], integers: Integers, count: usize) -> Result<Vec<F::Int>> {
    let mut ints = Vec::new();
    match integers {
        Integers::Runs => rle_hybrid::decode(src, count, &mut ints)?,
        Integers::Deltas => delta_binary::decode(src, count, &mut ints)?,
    }
    Ok(ints)
}

/// Decodes the later form, which has bitmaps of scaled and raw values.
fn marked<F: Float>(
    mut rest: &[u8],
    has_raw: bool,
    integers: Integers,
    count: usize,
    dst: &mut Vec<F>,
) -> Result<()> {
    let n = varint::read_u32(&mut rest, WHAT)? as usize;
    if n < count {
        return Err(Error::Length { what: WHAT, expected: count as u64, found: n as u64 });
    }
    let mut take_bitmap = || {
        let len = n / 8 + 1;
        let (bitmap, tail) =
            rest.split_at_checked(len).ok_or_else(|| Error::truncated(WHAT, len, rest.len()))?;
        rest = tail;
        Ok(bitmap)
    };
    let scaled = take_bitmap()?;
    let raw = if has_raw { take_bitmap()? } else { &[] };
    let factor = scale(varint::read_u32(&mut rest, WHAT)?);
    let ints = read_integers::<F>(rest, integers, count)?;
    let bit = |bitmap: &[u8], i: usize| bitmap.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1);
    dst.extend(ints.iter().enumerate().map(|(i, int)| {
        if bit(raw, i) {
            F::from_word(int.to_word())
        } else if bit(scaled, i) {
            F::from_f64(int.to_i64() as f64 / factor)
        } else {
            F::from_f64(int.to_i64() as f64)
        }
    }));
    Ok(())
}
