//! Group varint: values up to 2^32 - 1, in groups of four after one control byte with a 2-bit length per
//! value. A short last group has zero bits and no bytes for the missing values.

use super::Int;
use crate::{Error, Result};

const WHAT: &str = "group-varint values";
const LIMIT: u64 = u32::MAX as u64;

fn byte_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(8)
}

/// Bytes that [`encode`] would append; `None` when a value is too large.
pub fn encoded_len<T: Int>(values: &[T]) -> Option<usize> {
    let mut len = values.len().div_ceil(4);
    for value in values {
        let word = value.widen();
        if word > LIMIT {
            return None;
        }
        len += byte_len(word);
    }
    Some(len)
}

/// Appends `values`; refuses values above 2^32 - 1.
pub fn encode<T: Int>(values: &[T], dst: &mut Vec<u8>) -> Result<()> {
    if values.iter().any(|v| v.widen() > LIMIT) {
        return Err(Error::unencodable(WHAT, "a value is above 4294967295"));
    }
    for quad in values.chunks(4) {
        let at = dst.len();
        dst.push(0);
        let mut control = 0u8;
        for (j, value) in quad.iter().enumerate() {
            let word = value.widen();
            let len = byte_len(word);
            control |= ((len - 1) as u8) << (2 * j);
            dst.extend(word.to_le_bytes().iter().take(len));
        }
        if let Some(byte) = dst.get_mut(at) {
            *byte = control;
        }
    }
    Ok(())
}

/// Appends `n` values to `dst`.
pub fn decode<T: Int>(src: &[u8], n: usize, dst: &mut Vec<T>) -> Result<()> {
    // Every value takes at least one byte: an impossible count is refused before allocation.
    if n > src.len() {
        return Err(Error::truncated(WHAT, n, src.len()));
    }
    dst.reserve(n);
    let mut pos = 0;
    let mut left = n;
    while left > 0 {
        let Some(&control) = src.get(pos) else {
            return Err(Error::truncated(WHAT, 1, 0));
        };
        pos += 1;
        for j in 0..left.min(4) {
            let len = usize::from(control >> (2 * j) & 3) + 1;
            let word = if let Some(bytes) = src.get(pos..pos + 4).and_then(|b| b.first_chunk::<4>()) {
                u32::from_le_bytes(*bytes) & (u32::MAX >> (32 - 8 * len))
            } else {
                let Some(bytes) = src.get(pos..pos + len) else {
                    return Err(Error::truncated(WHAT, len, src.len().saturating_sub(pos)));
                };
                bytes.iter().rev().fold(0, |word, &b| word << 8 | u32::from(b))
            };
            dst.push(T::narrow(u64::from(word)));
            pos += len;
        }
        left -= left.min(4);
    }
    Ok(())
}
