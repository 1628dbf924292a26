//! Floats as scaled integers: `stored = round((x - offset) / scale)`, `x = scale * stored + offset`.
//!
//! Lossy by nature. The division uses the float's own type and the product 64 bits, like the original engine.

#[cfg(test)]
mod tests;

use crate::int::Int;
use crate::{Error, Result};

const WHAT: &str = "scaled floats";

/// Parameters of the conversion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The step between two neighbours.
    pub scale: f64,
    /// The value stored as 0.
    pub offset: f64,
    /// Bytes of a stored integer: 1, 2, 4 or 8.
    pub byte_width: usize,
}

trait Float: Copy {
    const SIZE: usize;
    fn of(src: &[u8]) -> Self;
    fn put(self, dst: &mut [u8]);
    fn stored(self, scale: &Scale) -> f64;
    fn value(stored: i64, scale: &Scale) -> Self;
}

macro_rules! float {
    ($($t:ident, $n:literal;)*) => {$(
        impl Float for $t {
            const SIZE: usize = $n;
            #[inline]
            fn of(src: &[u8]) -> Self {
                src.first_chunk().map_or(0.0, |bytes| $t::from_le_bytes(*bytes))
            }
            #[inline]
            fn put(self, dst: &mut [u8]) {
                if let Some(space) = dst.first_chunk_mut() {
                    *space = self.to_le_bytes();
                }
            }
            #[inline]
            fn stored(self, scale: &Scale) -> f64 {
                f64::from(((self - scale.offset as $t) / scale.scale as $t).round())
            }
            #[inline]
            #[allow(clippy::unnecessary_cast, reason = "one body for both floats")]
            fn value(stored: i64, scale: &Scale) -> Self {
                (scale.scale * f64::from(stored as $t) + scale.offset) as $t
            }
        }
    )*};
}
float! { f32, 4; f64, 8; }

/// Appends the integers of the floats of `width` (4 or 8) bytes in `src`.
///
/// Fails if a value is NaN or does not fit its integer.
pub fn encode(width: usize, scale: &Scale, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    check(width, src.len())?;
    match (width, scale.byte_width) {
        (4, 1) => forward::<f32, i8>(scale, src, dst),
        (4, 2) => forward::<f32, i16>(scale, src, dst),
        (4, 4) => forward::<f32, i32>(scale, src, dst),
        (4, 8) => forward::<f32, i64>(scale, src, dst),
        (8, 1) => forward::<f64, i8>(scale, src, dst),
        (8, 2) => forward::<f64, i16>(scale, src, dst),
        (8, 4) => forward::<f64, i32>(scale, src, dst),
        (8, 8) => forward::<f64, i64>(scale, src, dst),
        _ => Err(unknown(width, scale.byte_width)),
    }
}

/// Fills `dst` with the floats of `width` (4 or 8) bytes decoded from the integers in `src`.
pub fn decode(width: usize, scale: &Scale, src: &[u8], dst: &mut [u8]) -> Result<()> {
    check(width, dst.len())?;
    let expected = (dst.len() / width).saturating_mul(scale.byte_width);
    if src.len() != expected {
        return Err(Error::Length { what: WHAT, expected: expected as u64, found: src.len() as u64 });
    }
    match (width, scale.byte_width) {
        (4, 1) => backward::<f32, i8>(scale, src, dst),
        (4, 2) => backward::<f32, i16>(scale, src, dst),
        (4, 4) => backward::<f32, i32>(scale, src, dst),
        (4, 8) => backward::<f32, i64>(scale, src, dst),
        (8, 1) => backward::<f64, i8>(scale, src, dst),
        (8, 2) => backward::<f64, i16>(scale, src, dst),
        (8, 4) => backward::<f64, i32>(scale, src, dst),
        (8, 8) => backward::<f64, i64>(scale, src, dst),
        _ => return Err(unknown(width, scale.byte_width)),
    }
    Ok(())
}

fn check(width: usize, len: usize) -> Result<()> {
    match width {
        4 | 8 if len.is_multiple_of(width) => Ok(()),
        4 | 8 => Err(Error::corrupt(WHAT, format!("{len} bytes are not whole floats of {width}"))),
        _ => Err(Error::unsupported(WHAT, format!("values of {width} bytes; 4 and 8 are supported"))),
    }
}

fn unknown(width: usize, byte_width: usize) -> Error {
    Error::unsupported(WHAT, format!("floats of {width} bytes as integers of {byte_width} bytes"))
}

fn forward<F: Float, I: Int>(scale: &Scale, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    dst.reserve(src.len() / F::SIZE * I::SIZE);
    for value in src.chunks_exact(F::SIZE) {
        let stored = F::of(value).stored(scale);
        let limit = 2f64.powi(8 * I::SIZE as i32 - 1);
        if !(stored >= -limit && stored < limit) {
            return Err(Error::unencodable(WHAT, format!("{stored} does not fit {} bytes", I::SIZE)));
        }
        dst.extend_from_slice(I::cut(stored as i64).bytes().as_ref());
    }
    Ok(())
}

fn backward<F: Float, I: Int>(scale: &Scale, src: &[u8], dst: &mut [u8]) {
    for (out, stored) in dst.chunks_exact_mut(F::SIZE).zip(src.chunks_exact(I::SIZE)) {
        F::value(I::from_slice(stored).narrow(), scale).put(out);
    }
}
