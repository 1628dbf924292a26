//! Decoder of blocks: one wide load per value, no loop over bits.

use super::WHAT;
use crate::bitstream::{extend_unpacked, packed_len};
use crate::word::Int;
use crate::{Error, Result};

/// The header of a block.
struct Header<T> {
    deltas: usize,
    width: u32,
    minimum: T,
    first: T,
}

/// Splits the header and the packed bytes of the next block off `src`.
fn take_block<'a, T: Int>(src: &mut &'a [u8]) -> Result<(Header<T>, &'a [u8])> {
    let size = T::BITS as usize / 8;
    let len = 8 + 2 * size;
    let (head, rest) = src.split_at_checked(len).ok_or_else(|| Error::truncated(WHAT, len, src.len()))?;
    let int = |at: usize| match head.get(at..).and_then(<[u8]>::first_chunk::<4>) {
        Some(chunk) => i32::from_be_bytes(*chunk),
        None => 0,
    };
    let value = |at: usize| match head.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        Some(chunk) if size == 8 => T::from_i64(i64::from_be_bytes(*chunk)),
        _ => T::from_i64(int(at) as i64),
    };
    let (n, w) = (int(0), int(4));
    let deltas =
        usize::try_from(n).map_err(|_| Error::corrupt(WHAT, format!("a block of {n} differences")))?;
    let width = u32::try_from(w)
        .ok()
        .filter(|&w| w <= T::BITS)
        .ok_or_else(|| Error::corrupt(WHAT, format!("a block of width {w} in a {} bit column", T::BITS)))?;
    let packed = packed_len(deltas, width);
    if rest.len() < packed {
        return Err(Error::truncated(WHAT, packed, rest.len()));
    }
    *src = rest.get(packed..).unwrap_or_default();
    // Unpacking may read into the next block, so pass everything that follows.
    Ok((Header { deltas, width, minimum: value(8), first: value(8 + size) }, rest))
}

/// Counts the values in the complete blocks of `src`, up to `limit`.
pub fn count<T: Int>(src: &[u8], limit: usize) -> Result<usize> {
    let (mut rest, mut total) = (src, 0usize);
    while !rest.is_empty() && total < limit {
        let (header, _) = take_block::<T>(&mut rest)?;
        total = total.saturating_add(header.deltas).saturating_add(1);
    }
    Ok(total.min(limit))
}

/// Appends the first `count` values of the column `src`.
pub fn decode<T: Int>(src: &[u8], count: usize, dst: &mut Vec<T>) -> Result<()> {
    // Blocks of equal differences store many values in no bytes; they grow `dst` as they are decoded.
    dst.reserve(count.min(src.len().saturating_mul(8)));
    let mut rest = src;
    let mut left = count;
    while left > 0 {
        let (header, packed) = take_block::<T>(&mut rest)?;
        dst.push(header.first);
        left -= 1;
        let n = header.deltas.min(left);
        left -= n;
        if n > 0 {
            deltas(&header, packed, n, dst);
        }
    }
    Ok(())
}

fn deltas<T: Int>(header: &Header<T>, packed: &[u8], n: usize, dst: &mut Vec<T>) {
    let first = header.first.to_i64();
    let minimum = header.minimum.to_i64();
    if header.width == 0 {
        let mut value = first;
        dst.extend((0..n).map(|_| {
            value = value.wrapping_add(minimum);
            T::from_i64(value)
        }));
        return;
    }
    let mut value = first;
    extend_unpacked(packed, header.width, n, dst, |packed| {
        value = value.wrapping_add(minimum).wrapping_add(packed as i64);
        T::from_i64(value)
    });
}
