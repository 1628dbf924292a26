//! Patched packing: the low bits of all values, and the full values of those that do not fit.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | width, 1 to 32 |
//! | 1 | number of exceptions |
//! | | per exception, ascending: position (1 byte), full value (varint) |
//! | ceil(n * width / 8) | the low `width` bits of all n values |

use super::unpack;
use crate::{Error, Result, varint};

const WHAT: &str = "patched block";

/// Reads `out.len()` values (at most 128) from the start of `src`; returns the bytes consumed.
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

/// Reads position, value and length of the exception at the start of `src`.
#[inline]
fn exception(src: &[u8]) -> Result<(usize, u32, usize)> {
    // Nearly all exceptions are small.
    match src {
        &[position, value, ..] if value < 0x80 => Ok((usize::from(position), u32::from(value), 2)),
        _ => long_exception(src),
    }
}

fn long_exception(src: &[u8]) -> Result<(usize, u32, usize)> {
    let Some((&position, rest)) = src.split_first() else {
        return Err(Error::truncated(WHAT, 1, 0));
    };
    let (value, len) = varint::read(rest)?;
    match u32::try_from(value) {
        Ok(value) => Ok((usize::from(position), value, len + 1)),
        Err(_) => Err(Error::corrupt(WHAT, format!("exception {value} exceeds 32 bits"))),
    }
}
