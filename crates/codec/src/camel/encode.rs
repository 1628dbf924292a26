//! Encoder.

use super::decode::join;
use super::{WHAT, power};
use crate::bitstream::BitWriter;
use crate::zigzag::varint;
use crate::{Error, Result};

/// Maximum number of integer digits and decimals together.
const MAX_DIGITS: u32 = 10;

/// Appends the column of `values` to `dst`; an empty column has no bytes.
pub fn encode(values: &[f64], dst: &mut Vec<u8>) -> Result<()> {
    let Some((first, rest)) = values.split_first() else { return Ok(()) };
    let mut body = Vec::new();
    let mut encoder = Encoder {
        writer: BitWriter::new(&mut body),
        bits: 0,
        integer: *first as i64,
        previous: first.to_bits(),
        lead: u32::MAX,
        trail: 0,
    };
    encoder.put(first.to_bits(), 64);
    for &value in rest {
        encoder.value(value);
    }
    let bits = encoder.bits;
    encoder.writer.finish();
    let bits = i32::try_from(bits)
        .map_err(|_| Error::unencodable(WHAT, "the column exceeds 2^31 bits; write smaller pages"))?;
    varint::write_i32(bits, dst);
    dst.append(&mut body);
    Ok(())
}

struct Encoder<'a> {
    writer: BitWriter<'a>,
    bits: u64,
    integer: i64,
    previous: u64,
    lead: u32,
    trail: u32,
}

impl Encoder<'_> {
    fn put(&mut self, value: u64, n: u32) {
        self.writer.write(value, n);
        self.bits += n as u64;
    }

    fn put_varint(&mut self, value: i64) {
        let mut folded = varint::fold(value);
        while folded > 0x7f {
            self.put((folded & 0x7f) << 1 | 1, 8);
            folded >>= 7;
        }
        self.put(folded << 1, 8);
    }

    fn value(&mut self, value: f64) {
        self.put(u64::from(value.is_sign_negative()), 1);
        if let Some(decimal) = Decimal::of(value.abs()) {
            self.put(1, 1);
            self.decimal(&decimal);
        } else {
            self.put(0, 1);
            self.difference(value.abs().to_bits());
        }
        self.previous = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    }

    fn decimal(&mut self, decimal: &Decimal) {
        self.put_varint(decimal.integer.wrapping_sub(self.integer));
        self.integer = decimal.integer;
        self.put(decimal.decimals as u64 - 1, 4);
        match decimal.low {
            Some(low) => {
                self.put(1, 1);
                self.put(low, decimal.decimals);
            }
            None => self.put(0, 1),
        }
        self.put_varint(decimal.rest);
    }

    fn difference(&mut self, word: u64) {
        let difference = word ^ self.previous;
        if difference == 0 {
            self.put(0, 1);
            return;
        }
        let (leading, trailing) = (difference.leading_zeros(), difference.trailing_zeros());
        if leading >= self.lead && trailing >= self.trail {
            self.put(0b10, 2);
            self.put(difference >> self.trail, 64 - self.lead - self.trail);
        } else {
            let length = 64 - leading - trailing;
            self.put(0b11, 2);
            self.put(leading as u64, 6);
            self.put(length as u64 - 1, 6);
            self.put(difference >> trailing, length);
            (self.lead, self.trail) = (leading, trailing);
        }
    }
}

/// A value that a few decimal digits represent exactly.
struct Decimal {
    integer: i64,
    decimals: u32,
    low: Option<u64>,
    rest: i64,
}

impl Decimal {
    /// Returns `None` if the value has too many digits or would not round-trip bit for bit.
    fn of(value: f64) -> Option<Self> {
        let magnitude = value.log10().floor().abs();
        if value.is_nan() || value == 0.0 || value > i64::MAX as f64 || magnitude > MAX_DIGITS as f64 {
            return None;
        }
        let integer = value as i64;
        let digits = integer.checked_ilog10().unwrap_or(0) + 1;
        let (mut decimals, mut factor) = (0, 1.0);
        while value * factor != round(value * factor) {
            factor *= 10.0;
            decimals += 1;
            if digits + decimals > MAX_DIGITS {
                break;
            }
        }
        let decimals = decimals.max(1);
        if digits + decimals > MAX_DIGITS {
            return None;
        }
        let power = power(decimals);
        let part = round(value * power as f64) as i64 % power;
        let threshold = 5i64.pow(decimals);
        let (low, rest) = if part >= threshold {
            let rest = part % threshold;
            let bits = |n: i64| (n as f64 / power as f64 + 1.0).to_bits();
            (Some((bits(part) ^ bits(rest)) >> (52 - decimals)), rest)
        } else {
            (None, part)
        };
        (join(integer, decimals, low, rest) == value).then_some(Self { integer, decimals, low, rest })
    }
}

fn round(value: f64) -> f64 {
    (value + 0.5).floor()
}
