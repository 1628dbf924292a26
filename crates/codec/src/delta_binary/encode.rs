//! Encoder of blocks.

use crate::Within;
use crate::bitstream::BitWriter;
use crate::word::{Int, low_mask};

/// Differences in a full block.
pub const BLOCK: usize = 128;

/// Appends the column of `values` to `dst`.
pub fn encode<T: Int>(values: &[T], dst: &mut Vec<u8>) {
    for block in values.chunks(BLOCK + 1) {
        encode_block(block, dst);
    }
}

fn encode_block<T: Int>(values: &[T], dst: &mut Vec<u8>) {
    let Some((&first, rest)) = values.split_first() else { return };
    let mut deltas = [0i64; BLOCK];
    let mut minimum = T::MAX;
    let mut previous = first.to_i64();
    for (delta, &value) in deltas.iter_mut().zip(rest) {
        // Wrapped to the column's own width, so that the minimum is the one the decoder adds.
        let difference = T::from_i64(value.to_i64().wrapping_sub(previous));
        *delta = difference.to_i64();
        minimum = minimum.min(difference);
        previous = value.to_i64();
    }
    let deltas = deltas.within_mut(..rest.len());
    let mut all = 0u64;
    for delta in deltas.iter_mut() {
        *delta = delta.wrapping_sub(minimum.to_i64()) & low_mask(T::BITS) as i64;
        all |= *delta as u64;
    }
    let width = 64 - all.leading_zeros();
    dst.extend_from_slice(&(rest.len() as i32).to_be_bytes());
    dst.extend_from_slice(&(width as i32).to_be_bytes());
    for value in [minimum, first] {
        let bytes = value.to_i64().to_be_bytes();
        dst.extend_from_slice(bytes.within(8 - T::BITS as usize / 8..));
    }
    if width > 0 {
        let mut writer = BitWriter::new(dst);
        for &delta in deltas.iter() {
            writer.write(delta as u64, width);
        }
        writer.finish();
    }
}
