//! Decoder of the later form.

use super::{WHAT, leading_bits};
use crate::bitstream::BitReader;
use crate::word::Word;
use crate::{Error, Result};

/// Appends the first `count` values of the column `src`.
pub fn decode<T: Word>(src: &[u8], count: usize, dst: &mut Vec<T>) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    // Every value but the first takes at least one bit.
    let least = (T::BITS as usize + count - 1).div_ceil(8);
    if src.len() < least {
        return Err(Error::truncated(WHAT, least, src.len()));
    }
    dst.reserve(count);
    let mut reader = BitReader::new(src);
    let mut value = reader.read(T::BITS);
    dst.push(T::from_word(value));
    let lead_bits = leading_bits(T::BITS);
    // Length 0: no window yet.
    let (mut length, mut trail) = (0, 0);
    for _ in 1..count {
        match reader.peek(2) {
            0 | 1 => reader.consume(1),
            2 => {
                if length == 0 {
                    return Err(Error::corrupt(WHAT, "a difference reuses a window that is not set"));
                }
                reader.consume(2);
                value ^= reader.read(length) << trail;
            }
            _ => {
                let header = reader.peek(2 + 2 * lead_bits);
                reader.consume(2 + 2 * lead_bits);
                let lead = (header >> lead_bits) as u32 & ((1 << lead_bits) - 1);
                length = (header as u32 & ((1 << lead_bits) - 1)) + 1;
                if lead + length > T::BITS {
                    return Err(window_error(lead, length, T::BITS));
                }
                trail = T::BITS - lead - length;
                value ^= reader.read(length) << trail;
            }
        }
        dst.push(T::from_word(value));
    }
    reader.check(WHAT)
}

#[cold]
pub(super) fn window_error(lead: u32, length: u32, width: u32) -> Error {
    Error::corrupt(WHAT, format!("{lead} leading zeros and {length} bits in a value of {width} bits"))
}
