//! Values XORed with the best match among earlier values, found by their low bits.
//!
//! A ring buffer keeps the last 64 (32 bit) or 128 (64 bit) values. Two bits select the form of each value:
//!
//! ```text
//! 00  ring index                                      the same value
//! 01  ring index, 3 bits leading, length, the bits    a difference with zeros at its end
//! 10  the bits below the leading zeros used last      a difference to the value before
//! 11  3 bits leading, the bits below                  the same, with a new count of leading zeros
//! ```

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::encode;

const WHAT: &str = "chimp column";

/// Leading zero counts that have a code.
const LEADING: [u32; 8] = [0, 8, 12, 16, 18, 20, 22, 24];

/// Bits of a ring index.
const fn index_bits(width: u32) -> u32 {
    if width == 32 { 6 } else { 7 }
}

/// Bits of a length.
const fn length_bits(width: u32) -> u32 {
    if width == 32 { 5 } else { 6 }
}
