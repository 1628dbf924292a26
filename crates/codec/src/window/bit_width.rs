//! Values of a window as offsets from its minimum, in the narrowest of 1, 2, 4 or 8 bytes.
//!
//! Metadata: `u32 bytes of the input | u32 windows | per window: base, u8 bits, u32 original bytes`.

use super::{expect_end, split_space, take, take_u32, window_len};
use crate::int::{Int, dispatch};
use crate::{Error, IntKind, Result};

const WHAT: &str = "bit width reduction";

/// Appends the reduced values of `src` to `dst` and their description to `metadata`.
///
/// If `src` ends in an incomplete value, that window is stored raw.
pub fn encode(
    kind: IntKind,
    max_window: usize,
    src: &[u8],
    dst: &mut Vec<u8>,
    metadata: &mut Vec<u8>,
) -> Result<()> {
    let window = window_len(WHAT, src.len(), max_window, kind.width())?;
    let len = u32::try_from(src.len()).map_err(|_| Error::unencodable(WHAT, "the input exceeds 4 GiB"))?;
    metadata.extend_from_slice(&len.to_le_bytes());
    metadata.extend_from_slice(&(src.len().div_ceil(window) as u32).to_le_bytes());
    for part in src.chunks(window) {
        dispatch!(kind, encode_window(part, dst, metadata));
    }
    Ok(())
}

/// Takes the description from the start of `metadata` and fills `dst` with the values in `src`.
pub fn decode(kind: IntKind, metadata: &mut &[u8], mut src: &[u8], mut dst: &mut [u8]) -> Result<()> {
    let len = take_u32(WHAT, metadata)?;
    let windows = take_u32(WHAT, metadata)?;
    if len as usize != dst.len() {
        return Err(Error::Length { what: WHAT, expected: dst.len() as u64, found: u64::from(len) });
    }
    for _ in 0..windows {
        let base = take(WHAT, metadata, kind.width())?;
        let bits = take(WHAT, metadata, 1)?.first().copied().unwrap_or(0);
        let bytes = take_u32(WHAT, metadata)? as usize;
        let (out, rest) = split_space(WHAT, dst, bytes)?;
        dst = rest;
        if usize::from(bits) >= 8 * kind.width() || !bytes.is_multiple_of(kind.width()) {
            out.copy_from_slice(take(WHAT, &mut src, bytes)?);
            continue;
        }
        let width = match bits {
            8 | 16 | 32 => usize::from(bits / 8),
            _ => return Err(Error::corrupt(WHAT, format!("a width of {bits} bits"))),
        };
        let stored = take(WHAT, &mut src, bytes / kind.width() * width)?;
        dispatch!(kind, decode_window(base, width, stored, out));
    }
    expect_end(WHAT, src, dst)
}

/// Bits of the offsets, or the full width if reduction is not possible.
fn width_of<T: Int>(low: T, high: T) -> u8 {
    let full = 8 * T::SIZE as u8;
    // The original engine computes range + 1 in the value type and gives up if that overflows.
    let range = high.wide() - low.wide() + 1;
    let limit = (1i128 << (full - u8::from(T::SIGNED))) - 1;
    if range > limit {
        return full;
    }
    let bits = (128 - range.leading_zeros()) as u8 + u8::from(T::SIGNED);
    bits.next_power_of_two().max(8)
}

fn encode_window<T: Int>(src: &[u8], dst: &mut Vec<u8>, metadata: &mut Vec<u8>) {
    let mut values = src.chunks_exact(T::SIZE).map(T::from_slice);
    let first = values.next().unwrap_or_default();
    let (low, high) = values.fold((first, first), |(low, high), v| (low.min(v), high.max(v)));
    let bits = if src.len().is_multiple_of(T::SIZE) { width_of(low, high) } else { 8 * T::SIZE as u8 };
    metadata.extend_from_slice(low.bytes().as_ref());
    metadata.push(bits);
    metadata.extend_from_slice(&(src.len() as u32).to_le_bytes());
    let width = usize::from(bits / 8);
    if width >= T::SIZE {
        dst.extend_from_slice(src);
        return;
    }
    for value in src.chunks_exact(T::SIZE) {
        dst.extend_from_slice(&T::from_slice(value).sub(low).bytes().as_ref()[..width]);
    }
}

fn decode_window<T: Int>(base: &[u8], width: usize, src: &[u8], dst: &mut [u8]) {
    let base = T::from_slice(base);
    match (width, T::SIGNED) {
        (1, false) => widen::<T, u8>(base, src, dst),
        (2, false) => widen::<T, u16>(base, src, dst),
        (_, false) => widen::<T, u32>(base, src, dst),
        (1, true) => widen::<T, i8>(base, src, dst),
        (2, true) => widen::<T, i16>(base, src, dst),
        (_, true) => widen::<T, i32>(base, src, dst),
    }
}

fn widen<T: Int, S: Int>(base: T, src: &[u8], dst: &mut [u8]) {
    for (out, offset) in dst.chunks_exact_mut(T::SIZE).zip(src.chunks_exact(S::SIZE)) {
        base.add(T::cut(S::from_slice(offset).narrow())).put(out);
    }
}
