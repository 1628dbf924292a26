//! Frame of reference: one byte of width, the base as a varint, the distances from the base packed.

use super::{Int, bits};
use crate::{Error, Result, varint};

const WHAT: &str = "frame-of-reference values";

/// Returns the base (minimum) and the width of the distances, in the order of `T`.
fn measure<T: Int>(values: &[T]) -> Option<(u64, u32)> {
    let first = *values.first()?;
    let (min, max) = values.iter().fold((first, first), |(min, max), &v| (min.min(v), max.max(v)));
    let base = min.widen();
    Some((base, bits::width_of(max.widen().wrapping_sub(base))))
}

/// Bytes that [`encode`] would append.
pub fn encoded_len<T: Int>(values: &[T]) -> usize {
    match measure(values) {
        None => 1,
        Some((base, width)) => {
            1 + varint::len(base) + bits::packed_len(values.len(), width).unwrap_or(usize::MAX / 2)
        }
    }
}

/// Appends `values`. An empty list is the single byte 1.
pub fn encode<T: Int>(values: &[T], dst: &mut Vec<u8>) {
    let Some((base, width)) = measure(values) else {
        dst.push(1);
        return;
    };
    dst.push(width as u8);
    varint::write(base, dst);
    bits::pack(values.iter().map(|v| v.widen().wrapping_sub(base)), width, dst);
}

/// Appends `n` values to `dst`.
pub fn decode<T: Int>(src: &[u8], n: usize, dst: &mut Vec<T>) -> Result<()> {
    let Some((&width, rest)) = src.split_first() else {
        return Err(Error::truncated(WHAT, 1, 0));
    };
    if n == 0 {
        return Ok(());
    }
    let (base, len) = varint::read(rest)?;
    bits::unpack(rest.get(len..).unwrap_or_default(), u32::from(width), base, n, dst).map(drop)
}
