//! Floats as integers, scaled by a power of ten that stands in front.
//!
//! ```text
//! uvar digits | integers of the same width, see `rle_hybrid` and `delta_binary`
//! ```
//!
//! Lossy by design. A later form marks the values that the scaled integer cannot hold:
//!
//! ```text
//! uvar 2147483647 or 2147483646 | uvar n | bitmap: scaled | for …46 bitmap: raw bits | uvar digits | integers
//! ```

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::{Overflow, encode, fits, fitting, inexact_count};

const WHAT: &str = "decimal column";

/// Stands for the digits: some values are integers as they are.
const SOME_UNSCALED: u32 = i32::MAX as u32;
/// Stands for the digits: some values are raw bits besides.
const SOME_RAW: u32 = SOME_UNSCALED - 1;

/// The form of the integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integers {
    /// Repeats and packed groups, see [`crate::rle_hybrid`].
    Runs,
    /// Packed differences, see [`crate::delta_binary`].
    Deltas,
}

/// 10 to the power of `digits`; not positive as a signed number: 1.
fn scale(digits: u32) -> f64 {
    match digits as i32 {
        ..=0 => 1.0,
        // Parsing rounds correctly, which repeated multiplication does not.
        1..=308 => format!("1e{digits}").parse().unwrap_or(f64::INFINITY),
        _ => f64::INFINITY,
    }
}
