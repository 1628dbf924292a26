//! Decoder.

use super::predictor::Predictor;
use super::{Column, ERRORS, Prediction, WHAT};
use crate::bitstream::BitReader;
use crate::word::Word;
use crate::zigzag::varint;
use crate::{Error, Result};

/// Appends the first `count` values of the column `src`.
pub fn decode<T: Column>(src: &[u8], prediction: Prediction, count: usize, dst: &mut Vec<T>) -> Result<()> {
    let (mut rest, mut left) = (src, count);
    while left > 0 {
        let (&header, body) = rest.split_first().ok_or_else(|| Error::truncated(WHAT, 1, 0))?;
        if header >= 0x80 {
            let n = (header & 0x7f) as usize;
            if n < left {
                return Err(Error::Length {
                    what: WHAT,
                    expected: count as u64,
                    found: (count - left + n) as u64,
                });
            }
            return T::decode_rest(body, left, dst);
        }
        if header as u32 > T::BITS {
            return Err(Error::corrupt(WHAT, format!("width {header} in a {} bit column", T::BITS)));
        }
        rest = body;
        let first = take_first::<T>(&mut rest)?;
        let len = header as usize;
        let (packed, tail) =
            rest.split_at_checked(len).ok_or_else(|| Error::truncated(WHAT, len, rest.len()))?;
        rest = tail;
        let n = (ERRORS + 1).min(left);
        left -= n;
        block(first, packed, header as u32, prediction, n - 1, dst);
    }
    Ok(())
}

fn take_first<T: Column>(rest: &mut &[u8]) -> Result<T> {
    if T::FIRST_IS_VARINT {
        return Ok(T::from_word(varint::read_u32(rest, WHAT)? as u64));
    }
    let size = T::BITS as usize / 8;
    let (first, tail) =
        rest.split_at_checked(size).ok_or_else(|| Error::truncated(WHAT, size, rest.len()))?;
    *rest = tail;
    Ok(T::from_word(first.iter().fold(0, |word, &byte| word << 8 | byte as u64)))
}

fn block<T: Column>(first: T, packed: &[u8], width: u32, prediction: Prediction, n: usize, dst: &mut Vec<T>) {
    dst.push(first);
    let mut reader = BitReader::new(packed);
    let mut predictor = Predictor::new(prediction, T::BITS);
    let mut previous = signed::<T>(first.to_word());
    for _ in 0..n {
        let error = unfold(signed::<T>(reader.read(width)));
        let value = signed::<T>(predictor.predict(previous).wrapping_add(error) as u64);
        predictor.train(previous, value, error);
        dst.push(T::from_word(value as u64));
        previous = value;
    }
}

/// The word as a signed integer of the type's width.
pub(super) fn signed<T: Word>(word: u64) -> i64 {
    if T::BITS == 32 { word as u32 as i32 as i64 } else { word as i64 }
}

/// Even numbers are errors of zero and below, odd ones above; division truncates toward zero.
pub(super) fn unfold(folded: i64) -> i64 {
    if folded % 2 == 0 { folded.wrapping_neg() / 2 } else { folded.wrapping_add(1) / 2 }
}
