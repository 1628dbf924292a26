//! Patched packing: low bits of all values, and the full value of those that do not fit.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | width, 1 to 32 |
//! | 1 | number of exceptions |
//! | | per exception, ascending: position (1 byte), full value (varint) |
//! | ceil(n * width / 8) | the low `width` bits of all n values |

use super::{bits, pack, packed_len, unpack};
use crate::{Error, Result};

const WHAT: &str = "patched block";

/// Appends `values` (at most 128) with the width that gives the fewest bytes, the smallest on a tie.
pub fn encode_patched(values: &[u32], out: &mut Vec<u8>) {
    let width = best_width(values);
    let exceptions = values.iter().enumerate().filter(|&(_, &value)| bits(value) > width);
    out.push(width as u8);
    out.push(exceptions.clone().count() as u8);
    for (position, &value) in exceptions {
        out.push(position as u8);
        put_varint(value, out);
    }
    pack(values, width, out);
}

/// The cheapest width; exceptions of each width are counted from a histogram of bit lengths.
fn best_width(values: &[u32]) -> u32 {
    let mut count = [0usize; 33];
    let mut cost = [0usize; 33];
    for &value in values {
        let bits = bits(value) as usize;
        count[bits] += 1;
        cost[bits] += 1 + bits.div_ceil(7);
    }
    let (mut best, mut best_len) = (32, packed_len(values.len(), 32));
    let mut exceptions = 0;
    for width in (1..32u32).rev() {
        exceptions += cost[width as usize + 1];
        let len = packed_len(values.len(), width) + exceptions;
        if len <= best_len {
            (best, best_len) = (width, len);
        }
    }
    best
}

fn put_varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads `out.len()` values (at most 128) from the front of `src`; gives the bytes consumed.
pub fn decode_patched(src: &[u8], out: &mut [u32]) -> Result<usize> {
    let &[width, exceptions, ..] = src else {
        return Err(Error::truncated(WHAT, 2, src.len()));
    };
    if width == 0 || width > 32 {
        return Err(Error::corrupt(WHAT, format!("a width of {width} bits")));
    }
    let mut at = 2;
    let first = at;
    for _ in 0..exceptions {
        at += exception(src.get(at..).unwrap_or_default())?.2;
    }
    let packed = at;
    at += unpack(src.get(at..).unwrap_or_default(), u32::from(width), out)?;
    let mut patch = first;
    while patch < packed {
        let (position, value, len) = exception(src.get(patch..packed).unwrap_or_default())?;
        let count = out.len();
        let Some(slot) = out.get_mut(position) else {
            return Err(Error::corrupt(WHAT, format!("exception at position {position} of {count} values")));
        };
        *slot = value;
        patch += len;
    }
    Ok(at)
}

/// Position, value and length of the exception at the front of `src`.
fn exception(src: &[u8]) -> Result<(usize, u32, usize)> {
    let Some((&position, varint)) = src.split_first() else {
        return Err(Error::truncated(WHAT, 1, 0));
    };
    let mut value = 0u64;
    for (i, &byte) in varint.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            let value = u32::try_from(value)
                .map_err(|_| Error::corrupt(WHAT, format!("exception {value} exceeds 32 bits")))?;
            return Ok((usize::from(position), value, i + 2));
        }
    }
    if varint.len() < 5 {
        return Err(Error::truncated(WHAT, varint.len() + 2, src.len()));
    }
    Err(Error::corrupt(WHAT, "exception of more than five bytes"))
}
