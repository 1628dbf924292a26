//! Decoder.

use super::{Column, Difference, WHAT, width_bits};
use crate::bitstream::BitReader;
use crate::{Error, Result};

/// Appends the first `count` values of the column `src`.
pub fn decode<T: Column>(src: &[u8], difference: Difference, count: usize, dst: &mut Vec<T>) -> Result<()> {
    // Every value takes at least one bit.
    if count.div_ceil(8) > src.len() {
        return Err(Error::truncated(WHAT, count.div_ceil(8), src.len()));
    }
    let mut reader = BitReader::new(src);
    let end = dst.len() + count;
    dst.reserve(count);
    while dst.len() < end {
        reader.align();
        let in_block = reader.read(32) as usize;
        reader.check(WHAT)?;
        if in_block == 0 || in_block > reader.remaining() {
            return Err(Error::corrupt(WHAT, format!("a block of {in_block} values")));
        }
        let block_end = end.min(dst.len() + in_block);
        let mut value = None;
        while dst.len() < block_end {
            let width = reader.read(width_bits(T::BITS)) as u32;
            let run = fibonacci(&mut reader)?;
            if width == 0 || width > T::BITS {
                return Err(Error::corrupt(WHAT, format!("width {width} in a {} bit column", T::BITS)));
            }
            for _ in 0..run.min(block_end - dst.len()) {
                let mut step = reader.read(width);
                if width == T::BITS {
                    step |= 1 << (T::BITS - 1);
                }
                let next = match value {
                    None => step,
                    Some(previous) => T::add(previous, step, difference),
                };
                dst.push(T::from_word(next));
                value = Some(next);
            }
            reader.check(WHAT)?;
        }
    }
    Ok(())
}

/// Reads a number in Fibonacci code: a sum of Fibonacci numbers, the smallest first, ended by two 1 bits in a
/// row.
fn fibonacci(reader: &mut BitReader<'_>) -> Result<usize> {
    let (mut term, mut next) = (1usize, 2usize);
    let mut total = 0usize;
    let mut before = false;
    // 45 terms exceed 32 bits; no block is that long.
    for _ in 0..46 {
        let bit = reader.read_bit();
        if bit && before {
            return Ok(total);
        }
        if bit {
            total = total.saturating_add(term);
        }
        before = bit;
        (term, next) = (next, term.saturating_add(next));
    }
    reader.check(WHAT)?;
    Err(Error::corrupt(WHAT, "a run length does not end"))
}
