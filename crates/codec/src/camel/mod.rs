//! Doubles split into an integer and a decimal part, or XORed where they have too many digits.
//!
//! ```text
//! block: svar bits | that many bits
//! bits:  first value, 64 raw bits | per value: sign, form
//!   form 1: change of the integer part | 4 bits decimals − 1 | bit: x present, then `decimals` bits x | decimal part m
//!   form 0: as `gorilla`, on absolute values
//! ```
//!
//! Numbers in the bit stream are zigzag varints; the continuation bit follows each group of 7 bits.

use crate::Within;

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::encode;

const WHAT: &str = "camel column";

/// Powers of ten for each possible number of decimals (1 to 16).
const POWERS: [i64; 17] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
    100_000_000_000,
    1_000_000_000_000,
    10_000_000_000_000,
    100_000_000_000_000,
    1_000_000_000_000_000,
    10_000_000_000_000_000,
];

/// 10 to the power of `n`, `n` at most 16.
fn power(n: u32) -> i64 {
    POWERS.value(n as usize)
}
