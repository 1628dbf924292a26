//! Group varint: a control byte with four 2-bit lengths, then one to four bytes per value.

use crate::{Error, Result};

/// Reads `out.len()` values from the start of `src`; returns the bytes consumed.
pub fn decode_groups(src: &[u8], out: &mut [u32]) -> Result<usize> {
    let mut at = 0;
    for group in out.chunks_mut(4) {
        at += decode_group(src.get(at..).unwrap_or_default(), group)?;
    }
    Ok(at)
}

fn decode_group(src: &[u8], group: &mut [u32]) -> Result<usize> {
    const WHAT: &str = "group of varints";
    let Some((&control, _)) = src.split_first() else {
        return Err(Error::truncated(WHAT, 1, 0));
    };
    let mut at = 1;
    for (i, value) in group.iter_mut().enumerate() {
        let len = usize::from(control >> (2 * i) & 3) + 1;
        let Some(bytes) = src.get(at..at + len) else {
            return Err(Error::truncated(WHAT, at + len, src.len()));
        };
        *value = bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
        at += len;
    }
    Ok(at)
}
