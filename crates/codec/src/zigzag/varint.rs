//! Little-endian base 128 integers, plain and zigzag.

use crate::{Error, Result, Within};

/// Reads an unsigned varint of at most 64 bits and moves `src` past it.
#[inline]
pub fn read_u64(src: &mut &[u8], what: &'static str) -> Result<u64> {
    if let [first, rest @ ..] = *src
        && *first < 0x80
    {
        *src = rest;
        return Ok(*first as u64);
    }
    let mut value = 0u64;
    for (i, &byte) in src.iter().enumerate().take(10) {
        let shift = 7 * i as u32;
        let group = (byte & 0x7f) as u64;
        if shift == 63 && group > 1 {
            return Err(Error::corrupt(what, "a varint is wider than 64 bits"));
        }
        value |= group << shift;
        if byte < 0x80 {
            *src = src.within(i + 1..);
            return Ok(value);
        }
    }
    if src.len() < 10 {
        return Err(Error::truncated(what, src.len() + 1, src.len()));
    }
    Err(Error::corrupt(what, "a varint is longer than 10 bytes"))
}

/// Reads an unsigned varint of at most 32 bits and moves `src` past it.
#[inline]
pub fn read_u32(src: &mut &[u8], what: &'static str) -> Result<u32> {
    let value = read_u64(src, what)?;
    u32::try_from(value).map_err(|_| Error::corrupt(what, "a varint is wider than 32 bits"))
}

/// Reads a zigzag varint of 32 bits and moves `src` past it.
#[inline]
pub fn read_i32(src: &mut &[u8], what: &'static str) -> Result<i32> {
    read_u32(src, what).map(|n| (n >> 1) as i32 ^ -((n & 1) as i32))
}

/// Reads a zigzag varint of 64 bits and moves `src` past it.
#[inline]
pub fn read_i64(src: &mut &[u8], what: &'static str) -> Result<i64> {
    read_u64(src, what).map(unfold)
}

/// Appends an unsigned varint.
#[inline]
pub fn write_u64(mut value: u64, dst: &mut Vec<u8>) {
    while value >= 0x80 {
        dst.push(value as u8 | 0x80);
        value >>= 7;
    }
    dst.push(value as u8);
}

/// Appends a column: the bytes of `body`, the number of its values, and `body`.
pub(crate) fn write_counted(what: &'static str, body: &[u8], values: usize, dst: &mut Vec<u8>) -> Result<()> {
    if u32::try_from(body.len()).is_err() {
        return Err(Error::unencodable(what, "the body exceeds 4 GiB"));
    }
    write_u64(body.len() as u64, dst);
    write_u64(values as u64, dst);
    dst.extend_from_slice(body);
    Ok(())
}

/// Appends a zigzag varint of 32 bits.
#[inline]
pub fn write_i32(value: i32, dst: &mut Vec<u8>) {
    write_u64(((value << 1) ^ (value >> 31)) as u32 as u64, dst);
}

/// Appends a zigzag varint of 64 bits.
#[inline]
pub fn write_i64(value: i64, dst: &mut Vec<u8>) {
    write_u64(fold(value), dst);
}

/// Maps 0, -1, 1, -2, … to 0, 1, 2, 3, …
#[inline]
pub fn fold(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`fold`].
#[inline]
pub fn unfold(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
