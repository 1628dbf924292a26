//! Differences of differences in one fixed bit width.
//!
//! `u8 bits | u64 n | payload`. The payload is the raw values if packing would not save space; otherwise the
//! first two values raw, then a sign bit and `bits` magnitude bits per value, packed from the most
//! significant bit of little-endian 64-bit words. `bits` is the bit length of the largest magnitude among the
//! first difference and all second differences, at least 1; with two values or fewer it is 0. If a difference exceeds 64
//! bits, as next to a missing time, it is 64: every reader takes the payload as raw then.

use crate::int::{Int, dispatch, whole_values};
use crate::{Error, IntKind, Result};

const WHAT: &str = "double delta stream";
const HEADER: usize = 9;

/// Appends the double deltas of the values in `src`, which must not be empty.
pub fn encode(kind: IntKind, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    if src.is_empty() {
        return Err(Error::unencodable(WHAT, "there are no values"));
    }
    let n = whole_values(WHAT, src, kind.width())?;
    let bits = dispatch!(kind, width_of(src));
    dst.push(bits);
    dst.extend_from_slice(&(n as u64).to_le_bytes());
    if is_raw(kind, bits) {
        dst.extend_from_slice(src);
        return Ok(());
    }
    let (first, rest) = src.split_at(src.len().min(2 * kind.width()));
    dst.extend_from_slice(first);
    if !rest.is_empty() {
        dispatch!(kind, pack(src, u32::from(bits), dst));
    }
    Ok(())
}

/// Fills `dst` with the values of a double delta stream; their number must match exactly.
pub fn decode(kind: IntKind, src: &[u8], dst: &mut [u8]) -> Result<()> {
    let Some((header, payload)) = src.split_first_chunk::<HEADER>() else {
        return Err(Error::truncated(WHAT, HEADER, src.len()));
    };
    let [bits, count @ ..] = *header;
    let count = u64::from_le_bytes(count);
    let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(kind.width()));
    if bytes != Some(dst.len()) {
        let found = count.saturating_mul(kind.width() as u64);
        return Err(Error::Length { what: WHAT, expected: dst.len() as u64, found });
    }
    if is_raw(kind, bits) {
        if payload.len() != dst.len() {
            return Err(Error::truncated(WHAT, dst.len(), payload.len()));
        }
        dst.copy_from_slice(payload);
        return Ok(());
    }
    let first = dst.len().min(2 * kind.width());
    let Some((head, packed)) = payload.split_at_checked(first) else {
        return Err(Error::truncated(WHAT, first, payload.len()));
    };
    dst[..first].copy_from_slice(head);
    let values = (dst.len() - first) / kind.width();
    let words = values.saturating_mul(usize::from(bits) + 1).div_ceil(64);
    if packed.len() / 8 < words {
        return Err(Error::truncated(WHAT, words.saturating_mul(8), packed.len()));
    }
    if values > 0 {
        dispatch!(kind, unpack(packed, u32::from(bits), dst));
    }
    Ok(())
}

fn is_raw(kind: IntKind, bits: u8) -> bool {
    usize::from(bits) >= 8 * kind.width() - 1
}

/// The bit length of the largest magnitude; 64 if one of them does not fit `i64`.
fn width_of<T: Int>(src: &[u8]) -> u8 {
    const RAW: u8 = 64;
    let mut values = src.chunks_exact(T::SIZE).map(T::from_slice).map(T::wide);
    let (Some(x0), Some(x1)) = (values.next(), values.next()) else { return 0 };
    if src.len() == 2 * T::SIZE {
        return 0;
    }
    let magnitude = |difference: i128| i64::try_from(difference).map(i64::unsigned_abs).ok();
    let (mut last, mut delta) = (x1, x1 - x0);
    let Some(mut most) = magnitude(delta) else { return RAW };
    for value in values {
        let next = value - last;
        let (Some(_), Some(second)) = (magnitude(next), magnitude(next - delta)) else { return RAW };
        most = most.max(second);
        (last, delta) = (value, next);
    }
    (64 - most.leading_zeros()).max(1) as u8
}

fn pack<T: Int>(src: &[u8], bits: u32, dst: &mut Vec<u8>) {
    let mut values = src.chunks_exact(T::SIZE).map(T::from_slice);
    let (Some(x0), Some(x1)) = (values.next(), values.next()) else { return };
    let (mut last, mut delta) = (x1.wide(), x1.wide() - x0.wide());
    // `room` free bits at the low end of `word`.
    let (mut word, mut room) = (0u64, 64u32);
    for value in values {
        let next = value.wide() - last;
        let second = (next - delta) as i64;
        (last, delta) = (value.wide(), next);
        let field = (u64::from(second < 0) << bits) | second.unsigned_abs();
        let need = bits + 1;
        if need < room {
            room -= need;
            word |= field << room;
        } else {
            let over = need - room;
            word |= field >> over;
            dst.extend_from_slice(&word.to_le_bytes());
            room = 64 - over;
            word = if over == 0 { 0 } else { field << room };
        }
    }
    if room < 64 {
        dst.extend_from_slice(&word.to_le_bytes());
    }
}

fn unpack<T: Int>(packed: &[u8], bits: u32, dst: &mut [u8]) {
    let (first, rest) = dst.split_at_mut(2 * T::SIZE);
    let mut before = T::from_slice(first);
    let mut last = T::from_slice(&first[T::SIZE..]);
    let need = bits + 1;
    let (words, _) = packed.as_chunks::<8>();
    let word = |i: usize| words.get(i).map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut position = 0usize;
    for out in rest.chunks_exact_mut(T::SIZE) {
        let (index, shift) = (position / 64, (position % 64) as u32);
        let mut field = word(index) << shift;
        if shift + need > 64 {
            field |= word(index + 1) >> (64 - shift);
        }
        // The sign is the top bit, the magnitude the `bits` below it.
        let magnitude = ((field << 1) >> 1) >> (63 - bits);
        let second = if field >> 63 == 1 { (magnitude as i64).wrapping_neg() } else { magnitude as i64 };
        let value = T::cut(second).add(last).add(last.sub(before));
        (before, last) = (last, value);
        value.put(out);
        position += need as usize;
    }
}
