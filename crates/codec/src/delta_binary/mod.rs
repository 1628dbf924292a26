//! Integers as bit packed differences over a minimum, in blocks.
//!
//! ```text
//! i32 n | i32 width | int minimum difference | int first value | n packed (difference − minimum)
//! ```
//!
//! All arithmetic wraps. There is no end marker: the last block ends with the column.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::{count, decode};
pub use encode::{BLOCK, encode};

const WHAT: &str = "delta column";
