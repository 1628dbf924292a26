//! Differences to the previous value, within windows, for values that never decrease.
//!
//! Metadata: `u32 windows | per window: first value, u32 bytes`.

use super::{expect_end, split_space, take, take_u32, window_len};
use crate::int::{Int, dispatch};
use crate::{Error, IntKind, Result};

const WHAT: &str = "positive delta";

/// Appends the differences of `src` to `dst` and the first values to `metadata`.
pub fn encode(
    kind: IntKind,
    max_window: usize,
    src: &[u8],
    dst: &mut Vec<u8>,
    metadata: &mut Vec<u8>,
) -> Result<()> {
    let window = window_len(WHAT, src.len(), max_window, kind.width())?;
    metadata.extend_from_slice(&(src.len().div_ceil(window) as u32).to_le_bytes());
    for part in src.chunks(window) {
        dispatch!(kind, encode_window(part, dst, metadata))?;
    }
    Ok(())
}

/// Takes the windows from the start of `metadata` and fills `dst` with the values decoded from the
/// differences in `src`.
pub fn decode(kind: IntKind, metadata: &mut &[u8], mut src: &[u8], mut dst: &mut [u8]) -> Result<()> {
    let windows = take_u32(WHAT, metadata)?;
    for _ in 0..windows {
        let base = take(WHAT, metadata, kind.width())?;
        let bytes = take_u32(WHAT, metadata)? as usize;
        let stored = take(WHAT, &mut src, bytes)?;
        let (out, rest) = split_space(WHAT, dst, bytes)?;
        dst = rest;
        if bytes.is_multiple_of(kind.width()) {
            dispatch!(kind, decode_window(base, stored, out));
        } else {
            out.copy_from_slice(stored);
        }
    }
    expect_end(WHAT, src, dst)
}

fn encode_window<T: Int>(src: &[u8], dst: &mut Vec<u8>, metadata: &mut Vec<u8>) -> Result<()> {
    let first = if src.len() < T::SIZE { T::default() } else { T::from_slice(src) };
    metadata.extend_from_slice(first.bytes().as_ref());
    metadata.extend_from_slice(&(src.len() as u32).to_le_bytes());
    if !src.len().is_multiple_of(T::SIZE) {
        dst.extend_from_slice(src);
        return Ok(());
    }
    let mut last = first;
    for value in src.chunks_exact(T::SIZE) {
        let value = T::from_slice(value);
        if value < last {
            return Err(Error::unencodable(WHAT, "the values decrease"));
        }
        dst.extend_from_slice(value.sub(last).bytes().as_ref());
        last = value;
    }
    Ok(())
}

fn decode_window<T: Int>(base: &[u8], src: &[u8], dst: &mut [u8]) {
    let mut last = T::from_slice(base);
    for (out, delta) in dst.chunks_exact_mut(T::SIZE).zip(src.chunks_exact(T::SIZE)) {
        last = last.add(T::from_slice(delta));
        last.put(out);
    }
}
