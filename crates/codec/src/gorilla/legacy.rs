//! The first form: the window is derived from the significant bits of the previous value.
//!
//! The first value is little-endian. NaNs are canonical.

use super::decode::window_error;
use super::{WHAT, leading_bits, leading_zeros, trailing_zeros};
use crate::bitstream::{BitReader, BitWriter};
use crate::word::Float;
use crate::{Error, Result, Within};

/// Bits of a length field.
const fn length_bits(width: u32) -> u32 {
    if width == 32 { 6 } else { 7 }
}

/// Appends the first `count` values of the column `src`.
pub fn decode<T: Float>(src: &[u8], count: usize, dst: &mut Vec<T>) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let size = T::BITS as usize / 8;
    let least = size + (count - 1).div_ceil(8);
    let (first, rest) = src.split_at_checked(size).ok_or_else(|| Error::truncated(WHAT, least, src.len()))?;
    if src.len() < least {
        return Err(Error::truncated(WHAT, least, src.len()));
    }
    dst.reserve(count);
    let mut value = first.iter().rev().fold(0, |word, &byte| word << 8 | byte as u64);
    dst.push(T::from_word(value));
    let (lead_bits, len_bits) = (leading_bits(T::BITS), length_bits(T::BITS));
    let mut reader = BitReader::new(rest);
    for _ in 1..count {
        match reader.peek(2) {
            0 | 1 => reader.consume(1),
            2 => {
                reader.consume(2);
                if value == 0 {
                    return Err(Error::corrupt(WHAT, "a difference reuses the window of a zero"));
                }
                let trail = trailing_zeros(value, T::BITS);
                let length = T::BITS - leading_zeros(value, T::BITS) - trail;
                value ^= reader.read(length) << trail;
            }
            _ => {
                let n = 2 + lead_bits + len_bits;
                let header = reader.peek(n);
                reader.consume(n);
                let lead = (header >> len_bits) as u32 & ((1 << lead_bits) - 1);
                let length = header as u32 & ((1 << len_bits) - 1);
                if lead + length > T::BITS || length == 0 {
                    return Err(window_error(lead, length, T::BITS));
                }
                value ^= reader.read(length) << (T::BITS - lead - length);
            }
        }
        dst.push(T::from_word(value));
    }
    reader.check(WHAT)
}

/// Appends the column of `values`, terminator included, to `dst`.
pub fn encode<T: Float>(values: &[T], dst: &mut Vec<u8>) {
    let Some((first, rest)) = values.split_first() else { return };
    let mut previous = first.to_canonical_word();
    dst.extend_from_slice(previous.to_le_bytes().within(..T::BITS as usize / 8));
    let (lead_bits, len_bits) = (leading_bits(T::BITS), length_bits(T::BITS));
    let mut writer = BitWriter::new(dst);
    for word in rest.iter().map(|v| v.to_canonical_word()).chain(std::iter::once(T::TERMINATOR)) {
        let difference = word ^ previous;
        let (lead, trail) = (leading_zeros(previous, T::BITS), trailing_zeros(previous, T::BITS));
        let (leading, trailing) = (leading_zeros(difference, T::BITS), trailing_zeros(difference, T::BITS));
        if difference == 0 {
            writer.write_bit(false);
        } else if leading >= lead && trailing >= trail {
            writer.write(0b10, 2);
            writer.write(difference >> trail, T::BITS - lead - trail);
        } else {
            let length = T::BITS - leading - trailing;
            writer.write(0b11, 2);
            writer.write(leading as u64, lead_bits);
            writer.write(length as u64, len_bits);
            writer.write(difference >> trailing, length);
        }
        previous = word;
    }
    writer.finish();
}
