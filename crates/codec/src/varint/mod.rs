//! Unsigned LEB128 varints of 64-bit values: seven bits per byte, lowest group first, one to ten bytes.

#[cfg(test)]
mod tests;

use crate::{Error, Result};

/// The longest varint of a 64-bit value, in bytes.
pub const MAX_LEN: usize = 10;

const WHAT: &str = "varint";

/// Reads the varint at the start of `src`; returns the value and its length in bytes.
///
/// An incomplete varint is truncated; one that does not fit 64 bits is corrupt. Forms longer than necessary
/// are accepted.
#[inline]
pub fn read(src: &[u8]) -> Result<(u64, usize)> {
    if let Some(&first) = src.first()
        && first < 0x80
    {
        return Ok((u64::from(first), 1));
    }
    let mut value = 0u64;
    for (i, &byte) in src.iter().take(MAX_LEN).enumerate() {
        if i == MAX_LEN - 1 && byte > 1 {
            return Err(Error::corrupt(WHAT, "the value does not fit 64 bits"));
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((value, i + 1));
        }
    }
    Err(Error::truncated(WHAT, src.len() + 1, src.len()))
}

/// Reads the varint at `*pos` and moves `*pos` past it.
#[inline]
pub fn take(src: &[u8], pos: &mut usize) -> Result<u64> {
    let (value, len) = read(src.get(*pos..).unwrap_or_default())?;
    *pos += len;
    Ok(value)
}

/// Appends the shortest varint of `value`.
#[inline]
pub fn write(mut value: u64, dst: &mut Vec<u8>) {
    while value >= 0x80 {
        dst.push((value as u8) | 0x80);
        value >>= 7;
    }
    dst.push(value as u8);
}

/// The length of the shortest varint of `value`, in bytes.
#[inline]
pub fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Zig-zag: maps 0, -1, 1, -2, … to 0, 1, 2, 3, …
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}
