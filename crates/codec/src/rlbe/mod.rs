//! Differences grouped by bit width.
//!
//! ```text
//! block: u32 values | runs, then zero bits up to the next byte
//! run:   6 bits (64 bit types: 7) width c | run length in Fibonacci code | that many differences of c bits
//! ```
//!
//! The first difference of a block is the value itself. A difference that uses the top bit is stored without
//! it; the decoder restores it.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::encode;

use crate::word::Word;

const WHAT: &str = "length grouped column";

/// Values in a full block.
const BLOCK: usize = 10_000;

/// Bits of a width.
const fn width_bits(bits: u32) -> u32 {
    if bits == 32 { 6 } else { 7 }
}

/// How the difference of two values is computed; the column does not store it. Integers only use
/// [`Difference::Bits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Difference of the raw bits as integers.
    Bits,
    /// Difference in floating point, which rounds.
    Value,
}

/// The arithmetic of a type's differences, on raw bits.
pub trait Column: Word {
    /// `word − previous`.
    fn subtract(word: u64, previous: u64, difference: Difference) -> u64;

    /// `previous + step`.
    fn add(previous: u64, step: u64, difference: Difference) -> u64;
}

macro_rules! integer {
    ($type:ty) => {
        impl Column for $type {
            #[inline]
            fn subtract(word: u64, previous: u64, _: Difference) -> u64 {
                <$type>::from_word(word.wrapping_sub(previous)).to_word()
            }

            #[inline]
            fn add(previous: u64, step: u64, _: Difference) -> u64 {
                <$type>::from_word(previous.wrapping_add(step)).to_word()
            }
        }
    };
}

macro_rules! float {
    ($type:ty, $int:ty) => {
        impl Column for $type {
            #[inline]
            fn subtract(word: u64, previous: u64, difference: Difference) -> u64 {
                match difference {
                    Difference::Bits => <$int as Column>::subtract(word, previous, difference),
                    Difference::Value => (<$type>::from_word(word) - <$type>::from_word(previous)).to_word(),
                }
            }

            #[inline]
            fn add(previous: u64, step: u64, difference: Difference) -> u64 {
                match difference {
                    Difference::Bits => <$int as Column>::add(previous, step, difference),
                    Difference::Value => (<$type>::from_word(previous) + <$type>::from_word(step)).to_word(),
                }
            }
        }
    };
}

integer!(i32);
integer!(i64);
float!(f32, i32);
float!(f64, i64);
