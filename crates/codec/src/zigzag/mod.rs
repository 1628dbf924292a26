//! Integers as zigzag varints, preceded by the size of the body and the number of values.
//!
//! ```text
//! uvar bytes of the body | uvar number of values | one zigzag varint per value
//! ```

#[cfg(test)]
mod tests;
pub mod varint;

use crate::word::Int;
use crate::{Error, Result};

const WHAT: &str = "zigzag column";

/// Appends the first `count` values of the column `src`.
pub fn decode<T: Int>(src: &[u8], count: usize, dst: &mut Vec<T>) -> Result<()> {
    let mut rest = src;
    if count == 0 && src.is_empty() {
        return Ok(());
    }
    let len = varint::read_u32(&mut rest, WHAT)? as usize;
    let stated = varint::read_u32(&mut rest, WHAT)? as usize;
    let mut body = rest.get(..len).ok_or_else(|| Error::truncated(WHAT, len, rest.len()))?;
    // Every value takes at least one byte.
    if stated < count || len < count {
        let found = stated.min(len) as u64;
        return Err(Error::Length { what: WHAT, expected: count as u64, found });
    }
    dst.reserve(count);
    for _ in 0..count {
        let value = if T::BITS == 32 {
            varint::read_i32(&mut body, WHAT)? as i64
        } else {
            varint::read_i64(&mut body, WHAT)?
        };
        dst.push(T::from_i64(value));
    }
    Ok(())
}

/// Appends the column of `values` to `dst`.
pub fn encode<T: Int>(values: &[T], dst: &mut Vec<u8>) -> Result<()> {
    let mut body = Vec::with_capacity(values.len() * 2);
    for &value in values {
        // Folding is the same at both widths, because the sign fills the upper half.
        varint::write_i64(value.to_i64(), &mut body);
    }
    varint::write_counted(WHAT, &body, values.len(), dst)
}
