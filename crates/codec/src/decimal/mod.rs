//! Floats as integers scaled by a power of ten, which is stored first.
//!
//! ```text
//! uvar digits | integers of the same width, see `rle_hybrid` and `delta_binary`
//! ```
//!
//! Lossy by design. A later form marks the values that the scaled integer cannot represent:
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

/// Marker in place of the digits: some values are unscaled integers.
const SOME_UNSCALED: u32 = i32::MAX as u32;
/// Marker in place of the digits: some values are unscaled integers, others raw bits.
const SOME_RAW: u32 = SOME_UNSCALED - 1;

/// The encoding of the integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integers {
    /// Repeats and packed groups, see [`crate::rle_hybrid`].
    Runs,
    /// Packed differences, see [`crate::delta_binary`].
    Deltas,
}

/// Returns 10 to the power of `digits`, or 1 if `digits` is not positive as a signed number.
fn scale(digits: u32) -> f64 {
    match digits as i32 {
        ..=0 => 1.0,
        // Parsing rounds correctly; repeated multiplication does not.
        1..=308 => format!("1e{digits}").parse().unwrap_or(f64::INFINITY),
        _ => f64::INFINITY,
    }
}
