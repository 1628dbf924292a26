//! Doubles as the largest coefficients of a discrete cosine transform. Lossy: decoded values are approximate.
//!
//! ```text
//! block: u16 values n | u16 coefficients m | i16 exponent β | positions | magnitudes | zero bits up to a byte
//! positions:  for every 8: a field of bits(bits(n − 1)) bits with their width, then the positions
//! magnitudes: if m > 0: 8 bits width b, b bits μ, then each: sign, b bits v; it is (v + μ) · 2^β, and b := bits(v)
//! ```
//!
//! Only files of two releases use it and no current engine writes it, so there is only a decoder.

#[cfg(test)]
mod tests;

use std::f64::consts::PI;

use crate::bitstream::BitReader;
use crate::{Error, Result, Within};

const WHAT: &str = "frequency column";

/// Maximum number of multiplications for one block; a usual block has 1024 values and fewer coefficients.
const MAX_WORK: usize = 1 << 25;

/// Appends the first `count` values of the column `src`.
pub fn decode(src: &[u8], count: usize, dst: &mut Vec<f64>) -> Result<()> {
    let mut reader = BitReader::new(src);
    let end = dst.len() + count;
    while dst.len() < end {
        reader.align();
        let n = reader.read(16) as usize;
        let m = reader.read(16) as usize;
        let exponent = reader.read(16) as u16 as i16;
        reader.check(WHAT)?;
        if n == 0 || m > n {
            return Err(Error::corrupt(WHAT, format!("{m} coefficients for {n} values")));
        }
        if n * m > MAX_WORK {
            return Err(Error::unsupported(WHAT, format!("a block of {n} values and {m} coefficients")));
        }
        let positions = positions(&mut reader, n, m)?;
        let magnitudes = magnitudes(&mut reader, m, exponent);
        reader.check(WHAT)?;
        transform(&positions, &magnitudes, n, n.min(end - dst.len()), dst);
    }
    Ok(())
}

fn width(value: u64) -> u32 {
    64 - value.leading_zeros()
}

fn positions(reader: &mut BitReader<'_>, n: usize, m: usize) -> Result<Vec<usize>> {
    let field = width(width(n as u64 - 1) as u64);
    let mut positions = Vec::with_capacity(m);
    while positions.len() < m {
        let bits = reader.read(field) as u32;
        for _ in 0..8.min(m - positions.len()) {
            let position = reader.read(bits) as usize;
            if position >= n {
                return Err(Error::corrupt(
                    WHAT,
                    format!("coefficient position {position} is out of range, the block has {n} values"),
                ));
            }
            positions.push(position);
        }
    }
    Ok(positions)
}

fn magnitudes(reader: &mut BitReader<'_>, m: usize, exponent: i16) -> Vec<f64> {
    if m == 0 {
        return Vec::new();
    }
    let mut bits = (reader.read(8) as u32).min(64);
    let least = reader.read(bits);
    let unit = f64::from(exponent).exp2();
    let values = (0..m).map(|_| {
        let negative = reader.read_bit();
        let value = reader.read(bits);
        bits = width(value);
        let magnitude = value.wrapping_add(least) as f64 * unit;
        if negative { -magnitude } else { magnitude }
    });
    values.collect()
}

/// Inverts the orthonormal type-II cosine transform; returns the first `wanted` of `n` values.
fn transform(positions: &[usize], magnitudes: &[f64], n: usize, wanted: usize, dst: &mut Vec<f64>) {
    let turn = 4 * n;
    let cosines: Vec<f64> = (0..turn).map(|i| (PI * i as f64 / (2 * n) as f64).cos()).collect();
    let start = dst.len();
    dst.resize(start + wanted, 0.0);
    let values = dst.within_mut(start..);
    for (&k, &magnitude) in positions.iter().zip(magnitudes) {
        let scale = if k == 0 { (1.0 / n as f64).sqrt() } else { (2.0 / n as f64).sqrt() };
        let amplitude = magnitude * scale;
        // The angle of value i is (2i + 1)·k steps around the circle.
        let mut at = k;
        for value in values.iter_mut() {
            *value += amplitude * cosines.value(at);
            at += 2 * k;
            if at >= turn {
                at -= turn;
            }
        }
    }
}
