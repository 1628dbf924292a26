//! Encoder of the later form.

use super::{leading_bits, leading_zeros, trailing_zeros};
use crate::bitstream::BitWriter;
use crate::word::Word;

/// Appends the column of `values`, terminator included, to `dst`.
///
/// A column that ends on a byte boundary gets one extra zero byte, as the original engines write it.
pub fn encode<T: Word>(values: &[T], dst: &mut Vec<u8>) {
    let words = values.iter().map(|v| v.to_word()).chain(std::iter::once(T::TERMINATOR));
    let lead_bits = leading_bits(T::BITS);
    let mut writer = BitWriter::new(dst);
    let mut previous = None;
    let (mut lead, mut trail) = (u32::MAX, 0);
    for word in words {
        let Some(before) = previous.replace(word) else {
            writer.write(word, T::BITS);
            continue;
        };
        let difference: u64 = word ^ before;
        if difference == 0 {
            writer.write_bit(false);
            continue;
        }
        let leading = leading_zeros(difference, T::BITS);
        let trailing = trailing_zeros(difference, T::BITS);
        if leading >= lead && trailing >= trail {
            writer.write(0b10, 2);
            writer.write(difference >> trail, T::BITS - lead - trail);
        } else {
            let length = T::BITS - leading - trailing;
            writer.write(0b11, 2);
            writer.write(leading as u64, lead_bits);
            writer.write(length as u64 - 1, lead_bits);
            writer.write(difference >> trailing, length);
            (lead, trail) = (leading, trailing);
        }
    }
    writer.finish_with_spare_byte();
}
