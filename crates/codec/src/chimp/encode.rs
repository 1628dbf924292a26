//! Encoder.

use super::{LEADING, index_bits, length_bits};
use crate::Within;
use crate::bitstream::BitWriter;
use crate::word::{Word, low_mask};

/// Returns the code of a leading zero count, rounded down to one that has a code.
fn leading_code(zeros: u32) -> usize {
    LEADING.iter().rposition(|&n| n <= zeros).unwrap_or(0)
}

/// Appends the column of `values`, terminator included, to `dst`.
///
/// A column that ends on a byte boundary gets one extra zero byte, as the original engines write it.
pub fn encode<T: Word>(values: &[T], dst: &mut Vec<u8>) {
    let width = T::BITS;
    let (index_size, length_size) = (index_bits(width), length_bits(width));
    let ring_len = 1usize << index_size;
    let threshold = index_size + length_size;
    let key_mask = low_mask(threshold + 1);
    // Index of the value that last had these low bits; 0 if none had.
    let mut last_with_key = vec![0usize; key_mask as usize + 1];
    let mut ring = vec![0u64; ring_len];
    let mut lead = u32::MAX;
    let mut writer = BitWriter::new(dst);
    let words = values.iter().map(|v| v.to_word()).chain(std::iter::once(T::TERMINATOR));
    for (i, word) in words.enumerate() {
        let key = (word & key_mask) as usize;
        let slot = |n: usize| ring.value(n % ring_len);
        if i == 0 {
            writer.write(word, width);
        } else {
            let previous = i - 1;
            let candidate = last_with_key.value(key);
            let far = word ^ slot(candidate);
            let far_zeros = far.trailing_zeros().min(width);
            let near = word ^ slot(previous);
            let use_far = previous - candidate < ring_len && far_zeros > threshold;
            let (reference, difference) = if use_far { (candidate, far) } else { (previous, near) };
            let index = (reference % ring_len) as u64;
            if difference == 0 {
                writer.write(index, 2 + index_size);
                lead = u32::MAX;
            } else {
                let code = leading_code(difference.leading_zeros() - (64 - width));
                let leading = LEADING.value(code);
                if use_far {
                    let length = width - leading - far_zeros;
                    writer.write(1, 2);
                    writer.write(index, index_size);
                    writer.write(code as u64, 3);
                    writer.write(length as u64, length_size);
                    writer.write(difference >> far_zeros, length);
                    lead = u32::MAX;
                } else if leading == lead {
                    writer.write(2, 2);
                    writer.write(difference, width - leading);
                } else {
                    writer.write(3, 2);
                    writer.write(code as u64, 3);
                    writer.write(difference, width - leading);
                    lead = leading;
                }
            }
        }
        if let Some(slot) = ring.get_mut(i % ring_len) {
            *slot = word;
        }
        if let Some(last) = last_with_key.get_mut(key) {
            *last = i;
        }
    }
    writer.finish_with_spare_byte();
}
