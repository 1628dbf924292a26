//! Decoder.

use super::{LEADING, WHAT, index_bits, length_bits};
use crate::bitstream::BitReader;
use crate::word::Word;
use crate::{Error, Result, Within};

/// Appends the first `count` values of the column `src`.
pub fn decode<T: Word>(src: &[u8], count: usize, dst: &mut Vec<T>) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    // Every value but the first takes more than two bits.
    let least = (T::BITS as usize / 8).saturating_add((count - 1) / 4);
    if src.len() < least {
        return Err(Error::truncated(WHAT, least, src.len()));
    }
    dst.reserve(count);
    let (index, length) = (index_bits(T::BITS), length_bits(T::BITS));
    let mut reader = BitReader::new(src);
    let mut ring = [0u64; 128];
    let mut value = reader.read(T::BITS);
    let mut lead = 0;
    ring[0] = value;
    dst.push(T::from_word(value));
    let mask = (1usize << index) - 1;
    for i in 1..count {
        match reader.read(2) {
            0 => value = at(&ring, reader.read(index)),
            1 => {
                let reference = at(&ring, reader.read(index));
                lead = leading(reader.read(3));
                let stated = reader.read(length) as u32;
                let n = if stated == 0 { T::BITS } else { stated };
                if lead + n > T::BITS {
                    return Err(Error::corrupt(
                        WHAT,
                        format!("{lead} leading zeros and {n} bits in {}", T::BITS),
                    ));
                }
                value = reference ^ (reader.read(n) << (T::BITS - lead - n));
            }
            2 => value ^= reader.read(T::BITS - lead),
            _ => {
                lead = leading(reader.read(3));
                value ^= reader.read(T::BITS - lead);
            }
        }
        if let Some(slot) = ring.get_mut(i & mask) {
            *slot = value;
        }
        dst.push(T::from_word(value));
    }
    reader.check(WHAT)
}

#[inline]
fn at(ring: &[u64; 128], index: u64) -> u64 {
    // An index has at most 7 bits.
    ring.value(index as usize)
}

#[inline]
fn leading(code: u64) -> u32 {
    LEADING.value(code as usize)
}
