//! Values XORed with the previous one, without the leading and trailing zeros of the difference.
//!
//! [`decode`] and [`encode`] keep the window of the last difference; [`legacy`] derives it from the previous
//! value. Both end the stream with one more value, the terminator; a reader that counts values never reaches
//! it.

mod decode;
mod encode;
pub mod legacy;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::encode;

const WHAT: &str = "gorilla column";

/// Bits of a leading zero count.
const fn leading_bits(width: u32) -> u32 {
    if width == 32 { 5 } else { 6 }
}

/// Leading zeros of `word` in a value of `width` bits.
#[inline]
const fn leading_zeros(word: u64, width: u32) -> u32 {
    word.leading_zeros() - (64 - width)
}

/// Trailing zeros of `word` in a value of `width` bits.
#[inline]
const fn trailing_zeros(word: u64, width: u32) -> u32 {
    let zeros = word.trailing_zeros();
    if zeros > width { width } else { zeros }
}
