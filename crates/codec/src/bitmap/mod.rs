//! Integers as one bitmap per distinct value.
//!
//! ```text
//! uvar bytes of the body | uvar number of values n | per distinct value: uvar value, ceil(n/8) bytes, first bit highest
//! ```

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::zigzag::varint;
use crate::{Error, Result};

const WHAT: &str = "bitmap column";

/// Appends the first `count` values of the column `src`.
pub fn decode(src: &[u8], count: usize, dst: &mut Vec<i32>) -> Result<()> {
    if count == 0 && src.is_empty() {
        return Ok(());
    }
    let mut rest = src;
    let len = varint::read_u32(&mut rest, WHAT)? as usize;
    let n = varint::read_u32(&mut rest, WHAT)? as usize;
    let mut body = rest.get(..len).ok_or_else(|| Error::truncated(WHAT, len, rest.len()))?;
    if n < count || n.div_ceil(8) > body.len() {
        let found = n.min(body.len() * 8) as u64;
        return Err(Error::Length { what: WHAT, expected: count as u64, found });
    }
    let mut values = vec![None; count];
    let mut found = 0u64;
    while !body.is_empty() {
        let value = varint::read_u32(&mut body, WHAT)? as i32;
        let (bitmap, tail) = body
            .split_at_checked(n.div_ceil(8))
            .ok_or_else(|| Error::truncated(WHAT, n.div_ceil(8), body.len()))?;
        body = tail;
        for (i, slot) in values.iter_mut().enumerate() {
            if bitmap.get(i / 8).is_some_and(|byte| byte << (i % 8) & 0x80 != 0)
                && slot.replace(value).is_none()
            {
                found += 1;
            }
        }
    }
    if found != count as u64 {
        return Err(Error::Length { what: WHAT, expected: count as u64, found });
    }
    dst.extend(values.into_iter().flatten());
    Ok(())
}

/// Appends the column of `values` to `dst`, the distinct values in order of first appearance.
pub fn encode(values: &[i32], dst: &mut Vec<u8>) -> Result<()> {
    let size = values.len().div_ceil(8);
    let mut index = HashMap::new();
    let mut bitmaps: Vec<(i32, Vec<u8>)> = Vec::new();
    for (i, &value) in values.iter().enumerate() {
        let at = *index.entry(value).or_insert_with(|| {
            bitmaps.push((value, vec![0; size]));
            bitmaps.len() - 1
        });
        if let Some(byte) = bitmaps.get_mut(at).and_then(|(_, bitmap)| bitmap.get_mut(i / 8)) {
            *byte |= 0x80 >> (i % 8);
        }
    }
    let mut body = Vec::new();
    for (value, bitmap) in bitmaps {
        varint::write_u64(value as u32 as u64, &mut body);
        body.extend_from_slice(&bitmap);
    }
    varint::write_counted(WHAT, &body, values.len(), dst)
}
