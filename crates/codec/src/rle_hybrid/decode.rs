//! Decoder of runs.

use super::WHAT;
use crate::bitstream::extend_unpacked;
use crate::word::Int;
use crate::zigzag::varint;
use crate::{Error, Result};

/// One run of a segment.
enum Run<'a> {
    /// `n` copies of `value`.
    Repeat { n: usize, value: u64 },
    /// `n` values packed at the start of the bytes.
    Packed { n: usize, bytes: &'a [u8] },
}

/// Bytes and width of the next segment.
fn take_segment<'a>(src: &mut &'a [u8], bits: u32) -> Result<(&'a [u8], u32)> {
    let len = varint::read_u32(src, WHAT)? as usize;
    let (segment, rest) = src.split_at_checked(len).ok_or_else(|| Error::truncated(WHAT, len, src.len()))?;
    let (&width, runs) = segment.split_first().ok_or_else(|| Error::truncated(WHAT, 1, 0))?;
    if width as u32 > bits {
        return Err(Error::corrupt(WHAT, format!("width {width} in a {bits} bit column")));
    }
    *src = rest;
    Ok((runs, width as u32))
}

fn take_run<'a>(runs: &mut &'a [u8], width: u32, bits: u32) -> Result<Run<'a>> {
    let header = varint::read_u32(runs, WHAT)?;
    let n = (header >> 1) as usize;
    let size = width as usize;
    if header % 2 == 0 {
        let len = size.div_ceil(8);
        let (bytes, rest) =
            runs.split_at_checked(len).ok_or_else(|| Error::truncated(WHAT, len, runs.len()))?;
        *runs = rest;
        let fold = |value: u64, &byte: &u8| value << 8 | byte as u64;
        let value = if bits == 32 { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) };
        return Ok(Run::Repeat { n, value });
    }
    let (&last, rest) = runs.split_first().ok_or_else(|| Error::truncated(WHAT, 1, 0))?;
    let last = last as usize;
    if n == 0 || last == 0 || last > 8 {
        return Err(Error::corrupt(WHAT, format!("{n} packed groups with {last} values in the last")));
    }
    let len = n * size;
    if rest.len() < len {
        return Err(Error::truncated(WHAT, len, rest.len()));
    }
    *runs = rest.get(len..).unwrap_or_default();
    Ok(Run::Packed { n: (n - 1) * 8 + last, bytes: rest })
}

/// Appends the first `count` values of `src`, each mapped.
fn decode_words<O: Copy>(
    mut src: &[u8],
    bits: u32,
    count: usize,
    dst: &mut Vec<O>,
    map: impl Fn(u64) -> O + Copy,
) -> Result<()> {
    dst.reserve(count.min(src.len().saturating_mul(8)));
    let mut left = count;
    while left > 0 {
        let (mut runs, width) = take_segment(&mut src, bits)?;
        while left > 0 && !runs.is_empty() {
            match take_run(&mut runs, width, bits)? {
                Run::Repeat { n, value } => {
                    let n = n.min(left);
                    left -= n;
                    dst.extend(std::iter::repeat_n(map(value), n));
                }
                Run::Packed { n, bytes } => {
                    let n = n.min(left);
                    left -= n;
                    if width == 0 {
                        dst.extend(std::iter::repeat_n(map(0), n));
                    } else {
                        extend_unpacked(bytes, width, n, dst, map);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Appends the first `count` integers of the column `src`.
pub fn decode<T: Int>(src: &[u8], count: usize, dst: &mut Vec<T>) -> Result<()> {
    decode_words(src, T::BITS, count, dst, T::from_word)
}

/// Appends the first `count` booleans of the column `src`, stored as 32-bit integers.
pub fn decode_bool(src: &[u8], count: usize, dst: &mut Vec<bool>) -> Result<()> {
    decode_words(src, 32, count, dst, |word| word != 0)
}

/// Counts the values of `src`, up to `limit`.
pub fn count<T: Int>(src: &[u8], limit: usize) -> Result<usize> {
    let (mut rest, mut total) = (src, 0usize);
    while !rest.is_empty() && total < limit {
        let (mut runs, width) = take_segment(&mut rest, T::BITS)?;
        while total < limit && !runs.is_empty() {
            let (Run::Repeat { n, .. } | Run::Packed { n, .. }) = take_run(&mut runs, width, T::BITS)?;
            total = total.saturating_add(n);
        }
    }
    Ok(total.min(limit))
}
