//! Bit-packed values: value `i` occupies the bits `i * width ..` of the stream.

use super::BLOCK;
use crate::{Error, Result};

/// Bytes that `count` values of `width` bits occupy.
const fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Reads `out.len()` values (at most [`BLOCK`]) of `width` bits from the start of `src`; returns the bytes
/// consumed.
pub fn unpack(src: &[u8], width: u32, out: &mut [u32]) -> Result<usize> {
    const WHAT: &str = "bit-packed block";
    if width > 32 {
        return Err(Error::corrupt(WHAT, format!("width {width} is above 32 bits")));
    }
    if out.len() > BLOCK {
        return Err(Error::unsupported(
            WHAT,
            format!("{} values in a block; the maximum is {BLOCK}", out.len()),
        ));
    }
    let len = packed_len(out.len(), width);
    let Some(packed) = src.get(..len) else {
        return Err(Error::truncated(WHAT, len, src.len()));
    };
    // The kernels load eight bytes at a time. If another block follows, the loads may read into it.
    if let Some(roomy) = src.get(..out.len().div_ceil(8) * width as usize + 8) {
        dispatch(roomy, width, out);
        return Ok(len);
    }
    let mut padded = [0u8; BLOCK * 4 + 8];
    for (to, from) in padded.iter_mut().zip(packed) {
        *to = *from;
    }
    dispatch(&padded, width, out);
    Ok(len)
}

/// The mask of one value's bits.
const fn mask(width: u32) -> u64 {
    (1u64 << width) - 1
}

/// One kernel per width, so that all shifts and offsets inside are constants.
fn dispatch(padded: &[u8], width: u32, out: &mut [u32]) {
    macro_rules! kernels {
        ($($w:literal)*) => {
            match width {
                $($w => kernel::<$w>(padded, out),)*
                _ => out.fill(0),
            }
        };
    }
    kernels!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

/// Eight values of `W` bits are `W` bytes.
fn kernel<const W: usize>(padded: &[u8], out: &mut [u32]) {
    let mask = mask(W as u32) as u32;
    for (group, values) in out.chunks_mut(8).enumerate() {
        let Some(bytes) = padded.get(group * W..group * W + W + 8) else { return };
        if let Ok(values) = <&mut [u32; 8]>::try_from(&mut *values) {
            for (i, value) in values.iter_mut().enumerate() {
                *value = take::<W>(bytes, i) & mask;
            }
        } else {
            for (i, value) in values.iter_mut().enumerate() {
                *value = take::<W>(bytes, i) & mask;
            }
        }
    }
}

#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "the offsets become constants only when inlined into the unrolled loop"
)]
fn take<const W: usize>(bytes: &[u8], i: usize) -> u32 {
    let (byte, shift) = (i * W / 8, i * W % 8);
    match bytes.get(byte..byte + 8).and_then(|word| <[u8; 8]>::try_from(word).ok()) {
        Some(word) => (u64::from_le_bytes(word) >> shift) as u32,
        None => 0,
    }
}
