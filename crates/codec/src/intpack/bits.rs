//! The bit stream itself: pack and unpack words of one width.

use super::Int;
use crate::{Error, Result, Within};

/// Values per unpacked block: at width `w` a block is exactly `w` 64-bit words.
const BLOCK: usize = 64;

const WHAT: &str = "bit-packed values";

/// Bits needed for `value`, at least one.
#[inline]
pub fn width_of(value: u64) -> u32 {
    64 - (value | 1).leading_zeros()
}

/// Bytes of `n` values of `width` bits; `None` when that overflows.
#[inline]
pub fn packed_len(n: usize, width: u32) -> Option<usize> {
    n.checked_mul(width as usize).map(|bits| bits.div_ceil(8))
}

/// Appends the low `width` bits of each word.
pub fn pack(words: impl IntoIterator<Item = u64>, width: u32, dst: &mut Vec<u8>) {
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    let mut pending = 0u128;
    let mut held = 0u32;
    for word in words {
        pending |= u128::from(word & mask) << held;
        held += width;
        if held >= 64 {
            dst.extend_from_slice(&(pending as u64).to_le_bytes());
            pending >>= 64;
            held -= 64;
        }
    }
    let rest = held.div_ceil(8) as usize;
    dst.extend(pending.to_le_bytes().iter().take(rest));
}

/// Appends `n` values to `dst`: each the word of `width` bits plus `base`, wrapping. Returns the bytes consumed.
///
/// `width` is 0 to 64; bytes after the stream are ignored.
pub fn unpack<T: Int>(src: &[u8], width: u32, base: u64, n: usize, dst: &mut Vec<T>) -> Result<usize> {
    let len = check(src, width, n)?;
    dst.reserve(n);
    for_each_block(src, width, n, |words| {
        dst.extend(words.iter().map(|word| T::narrow(word.wrapping_add(base))));
    });
    Ok(len)
}

/// Checks that the width is legal and the whole stream is present; returns its length in bytes.
pub(super) fn check(src: &[u8], width: u32, n: usize) -> Result<usize> {
    if width > 64 {
        return Err(Error::corrupt(WHAT, format!("a width of {width} bits")));
    }
    match packed_len(n, width) {
        None => Err(Error::corrupt(WHAT, "the number of values overflows")),
        Some(len) if len > src.len() => Err(Error::truncated(WHAT, len, src.len())),
        Some(len) => Ok(len),
    }
}

/// Passes on the `n` words of a stream that [`check`] has accepted, 64 at a time.
pub(super) fn for_each_block(src: &[u8], width: u32, n: usize, mut take: impl FnMut(&[u64])) {
    let mut out = [0u64; BLOCK];
    let (whole, rest) = (n / BLOCK, n % BLOCK);
    if width == 0 {
        (0..whole).for_each(|_| take(&out));
        take(out.within(..rest));
        return;
    }
    let step = width as usize * 8;
    let unpack_block = block_of(width);
    let (blocks, tail) = src.split_at_checked(whole * step).unwrap_or((src, &[]));
    for block in blocks.chunks_exact(step) {
        unpack_block(block, &mut out);
        take(&out);
    }
    if rest > 0 {
        // The tail is unpacked as a whole block padded with zero bytes; only its first values are used.
        let mut padded = [0u8; 64 * 8];
        let there = tail.len().min(step);
        if let (Some(space), Some(bytes)) = (padded.get_mut(..there), tail.get(..there)) {
            space.copy_from_slice(bytes);
        }
        unpack_block(padded.within(..step), &mut out);
        take(out.within(..rest));
    }
}

/// Unpacks one block of 64 values; `src` has `8 * W` bytes.
fn unpack_block<const W: usize>(src: &[u8], out: &mut [u64; BLOCK]) {
    let mut words = [0u64; W];
    for (word, bytes) in words.iter_mut().zip(src.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let mask = if W == 64 { u64::MAX } else { (1u64 << W) - 1 };
    // With W constant the loop unrolls; every index and shift is known at compile time.
    for (i, value) in out.iter_mut().enumerate() {
        let bit = i * W;
        let (word, shift) = (bit / 64, bit % 64);
        let low = words[word] >> shift;
        let high = if shift + W > 64 { words[word + 1] << (64 - shift) } else { 0 };
        *value = (low | high) & mask;
    }
}

type Unpack = fn(&[u8], &mut [u64; BLOCK]);

fn block_of(width: u32) -> Unpack {
    macro_rules! table {
        ($($w:literal)*) => {
            match width {
                $($w => unpack_block::<$w>,)*
                _ => unpack_block::<64>,
            }
        };
    }
    table!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
        40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
}
