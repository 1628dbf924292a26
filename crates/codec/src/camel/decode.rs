//! Decoder.

use super::{WHAT, power};
use crate::bitstream::BitReader;
use crate::zigzag::varint;
use crate::{Error, Result};

/// Appends the first `count` values of the column `src`.
pub fn decode(src: &[u8], count: usize, dst: &mut Vec<f64>) -> Result<()> {
    let end = dst.len() + count;
    let mut rest = src;
    // Every value of a block but the first takes at least three bits.
    dst.reserve(count.min(src.len().saturating_mul(3)));
    while dst.len() < end {
        let stated = varint::read_i32(&mut rest, WHAT)?;
        let bits = usize::try_from(stated)
            .ok()
            .filter(|&bits| bits >= 64)
            .ok_or_else(|| Error::corrupt(WHAT, format!("a block of {stated} bits")))?;
        let len = bits.div_ceil(8);
        let (block, tail) =
            rest.split_at_checked(len).ok_or_else(|| Error::truncated(WHAT, len, rest.len()))?;
        rest = tail;
        let mut reader = BitReader::new(block);
        let first = reader.read(64);
        let mut state = State::new(first);
        dst.push(f64::from_bits(first));
        while dst.len() < end && reader.position() < bits {
            let value = state.next(&mut reader)?;
            dst.push(value);
        }
        reader.check(WHAT)?;
    }
    Ok(())
}

/// Decoder state that a value is relative to.
struct State {
    integer: i64,
    previous: u64,
    /// The window of the XOR form; length 0 before it is set.
    length: u32,
    trail: u32,
}

impl State {
    fn new(first: u64) -> Self {
        Self { integer: f64::from_bits(first) as i64, previous: first, length: 0, trail: 0 }
    }

    fn next(&mut self, reader: &mut BitReader<'_>) -> Result<f64> {
        let negative = reader.read_bit();
        let magnitude = if reader.read_bit() { self.decimal(reader)? } else { self.difference(reader)? };
        let value = if negative { -magnitude } else { magnitude };
        self.previous = value.to_bits();
        Ok(value)
    }

    fn decimal(&mut self, reader: &mut BitReader<'_>) -> Result<f64> {
        self.integer = self.integer.wrapping_add(read_varint(reader)?);
        let decimals = reader.read(4) as u32 + 1;
        let low = if reader.read_bit() { Some(reader.read(decimals)) } else { None };
        let rest = read_varint(reader)?;
        let value = join(self.integer.unsigned_abs() as i64, decimals, low, rest);
        Ok(if self.integer < 0 { -value } else { value })
    }

    fn difference(&mut self, reader: &mut BitReader<'_>) -> Result<f64> {
        if reader.read_bit() {
            if reader.read_bit() {
                let lead = reader.read(6) as u32;
                self.length = reader.read(6) as u32 + 1;
                if lead + self.length > 64 {
                    let why = format!("{lead} leading zeros and {} bits in a value of 64 bits", self.length);
                    return Err(Error::corrupt(WHAT, why));
                }
                self.trail = 64 - lead - self.length;
            } else if self.length == 0 {
                return Err(Error::corrupt(WHAT, "a difference reuses a window that is not set"));
            }
            self.previous ^= reader.read(self.length) << self.trail;
        }
        Ok(f64::from_bits(self.previous))
    }
}

/// Combines an integer part and a decimal part, in either form, into a value.
pub(super) fn join(integer: i64, decimals: u32, low: Option<u64>, rest: i64) -> f64 {
    let power = power(decimals);
    let scale = power as f64;
    let fraction = match low {
        None => rest as f64 / scale,
        Some(low) => f64::from_bits((rest as f64 / scale + 1.0).to_bits() ^ (low << (52 - decimals))) - 1.0,
    };
    let digits = (fraction * scale + 0.5).floor() as i64;
    integer.wrapping_mul(power).wrapping_add(digits) as f64 / scale
}

fn read_varint(reader: &mut BitReader<'_>) -> Result<i64> {
    let mut folded = 0u64;
    for shift in (0..64).step_by(7) {
        folded |= reader.read(7) << shift;
        if !reader.read_bit() {
            return Ok(varint::unfold(folded));
        }
    }
    Err(Error::corrupt(WHAT, "a number is longer than 64 bits"))
}
