//! Arithmetic progressions, with a bitmap of missing steps.
//!
//! ```text
//! bool gaps | if gaps: i32 bytes, bitmap (least significant bit first) | i32 positions | int step | int first value
//! ```
//!
//! Blocks have up to [`BLOCK`] values; there is no end marker.

#[cfg(test)]
mod tests;

use crate::word::Int;
use crate::{Error, Result, Within};

const WHAT: &str = "regular column";

/// Values in a full block.
pub const BLOCK: usize = 128;

/// Maximum number of steps in a block with gaps; with more, the bitmap outweighs the savings.
const MAX_POSITIONS: i64 = 1 << 24;

struct Block<'a, T> {
    bitmap: Option<&'a [u8]>,
    positions: usize,
    step: T,
    first: T,
}

fn take<'a>(src: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (head, rest) = src.split_at_checked(n).ok_or_else(|| Error::truncated(WHAT, n, src.len()))?;
    *src = rest;
    Ok(head)
}

fn take_len(src: &mut &[u8], what: &str) -> Result<usize> {
    let n = take(src, 4)?.iter().fold(0, |n, &b| n << 8 | b as i32);
    usize::try_from(n).map_err(|_| Error::corrupt(WHAT, format!("a block with {n} {what}")))
}

fn take_int<T: Int>(src: &mut &[u8]) -> Result<T> {
    Ok(T::from_word(take(src, T::BITS as usize / 8)?.iter().fold(0, |n, &b| n << 8 | b as u64)))
}

fn take_block<'a, T: Int>(src: &mut &'a [u8]) -> Result<Block<'a, T>> {
    let gaps = take(src, 1)? != [0];
    let bitmap = if gaps {
        let n = take_len(src, "bitmap bytes")?;
        Some(take(src, n)?)
    } else {
        None
    };
    let positions = take_len(src, "positions")?;
    Ok(Block { bitmap, positions, step: take_int(src)?, first: take_int(src)? })
}

impl<T: Int> Block<'_, T> {
    fn len(&self) -> usize {
        match self.bitmap {
            None => self.positions,
            Some(bitmap) => bitmap
                .iter()
                .zip((0..self.positions).step_by(8))
                .map(|(&byte, at)| self.present(byte, at).count_ones() as usize)
                .sum(),
        }
    }

    /// The bits of the byte at position `at`, without those past the last position.
    fn present(&self, byte: u8, at: usize) -> u8 {
        let left = self.positions - at;
        if left >= 8 { byte } else { byte & ((1 << left) - 1) }
    }
}

/// Counts the values of `src`, up to `limit`.
pub fn count<T: Int>(src: &[u8], limit: usize) -> Result<usize> {
    let (mut rest, mut total) = (src, 0usize);
    while !rest.is_empty() && total < limit {
        total = total.saturating_add(take_block::<T>(&mut rest)?.len());
    }
    Ok(total.min(limit))
}

/// Appends the first `count` values of the column `src`.
pub fn decode<T: Int>(src: &[u8], count: usize, dst: &mut Vec<T>) -> Result<()> {
    let (mut rest, mut left) = (src, count);
    while left > 0 {
        let block = take_block::<T>(&mut rest)?;
        let (first, step) = (block.first.to_i64(), block.step.to_i64());
        let at = |i: usize| T::from_i64(first.wrapping_add(step.wrapping_mul(i as i64)));
        let n = block.len().min(left);
        left -= n;
        match block.bitmap {
            None => dst.extend((0..n).map(at)),
            Some(bitmap) => {
                let positions = bitmap.iter().enumerate().flat_map(|(i, &byte)| {
                    (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| i * 8 + bit)
                });
                dst.extend(positions.take(n).map(at));
            }
        }
    }
    Ok(())
}

/// Appends the column of `values` to `dst`.
///
/// Fails if the steps are not all multiples of the smallest.
pub fn encode<T: Int>(values: &[T], dst: &mut Vec<u8>) -> Result<()> {
    for block in values.chunks(BLOCK) {
        encode_block(block, dst)?;
    }
    Ok(())
}

fn encode_block<T: Int>(values: &[T], dst: &mut Vec<u8>) -> Result<()> {
    let Some(&first) = values.first() else { return Ok(()) };
    let steps = values.windows(2).map(|w| match w {
        [a, b] => T::from_i64(b.to_i64().wrapping_sub(a.to_i64())),
        _ => T::MAX,
    });
    let step = steps.clone().min().unwrap_or(T::MAX);
    let mut positions = values.len() as i64;
    if steps.clone().any(|s| s != step) {
        let refuse = |why: &str| Err(Error::unencodable(WHAT, format!("{why}; choose another encoding")));
        if step.to_i64() <= 0 {
            return refuse("steps differ and the smallest is not positive");
        }
        positions = 1;
        let mut bitmap = vec![1u8];
        for difference in steps {
            if difference.to_i64() % step.to_i64() != 0 {
                return refuse("a step is not a multiple of the smallest");
            }
            let at = positions - 1 + difference.to_i64() / step.to_i64();
            if at >= MAX_POSITIONS {
                return refuse("the values span too many steps");
            }
            bitmap.resize(at as usize / 8 + 1, 0);
            if let Some(last) = bitmap.last_mut() {
                *last |= 1 << (at % 8);
            }
            positions = at + 1;
        }
        dst.push(1);
        dst.extend_from_slice(&(bitmap.len() as i32).to_be_bytes());
        dst.append(&mut bitmap);
    } else {
        dst.push(0);
    }
    dst.extend_from_slice(&(positions as i32).to_be_bytes());
    for value in [step, first] {
        dst.extend_from_slice(value.to_i64().to_be_bytes().within(8 - T::BITS as usize / 8..));
    }
    Ok(())
}
