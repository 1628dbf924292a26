//! `u64 n | x0 | x1 - x0 | ...`, all values of one width, differences wrapping.

use crate::int::{Int, dispatch, whole_values};
use crate::{Error, IntKind, Result};

const WHAT: &str = "delta stream";

/// Appends the deltas of the values in `src`.
pub fn encode(kind: IntKind, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let n = whole_values(WHAT, src, kind.width())?;
    dst.extend_from_slice(&(n as u64).to_le_bytes());
    dispatch!(kind, differences(src, dst));
    Ok(())
}

/// Fills `dst` with the values of a delta stream; their number must match exactly.
pub fn decode(kind: IntKind, src: &[u8], dst: &mut [u8]) -> Result<()> {
    let Some((count, payload)) = src.split_first_chunk() else {
        return Err(Error::truncated(WHAT, 8, src.len()));
    };
    let count = u64::from_le_bytes(*count);
    let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(kind.width()));
    if bytes != Some(dst.len()) {
        let found = count.saturating_mul(kind.width() as u64);
        return Err(Error::Length { what: WHAT, expected: dst.len() as u64, found });
    }
    if payload.len() != dst.len() {
        return Err(Error::truncated(WHAT, dst.len(), payload.len()));
    }
    dispatch!(kind, sums(payload, dst));
    Ok(())
}

fn differences<T: Int>(src: &[u8], dst: &mut Vec<u8>) {
    let start = dst.len();
    dst.resize(start + src.len(), 0);
    let mut last = T::default();
    for (out, value) in dst[start..].chunks_exact_mut(T::SIZE).zip(src.chunks_exact(T::SIZE)) {
        let value = T::from_slice(value);
        value.sub(last).put(out);
        last = value;
    }
}

fn sums<T: Int>(src: &[u8], dst: &mut [u8]) {
    let mut last = T::default();
    for (out, delta) in dst.chunks_exact_mut(T::SIZE).zip(src.chunks_exact(T::SIZE)) {
        last = last.add(T::from_slice(delta));
        last.put(out);
    }
}
