//! Byte and bit shuffles: the same bytes in an order that compresses better.
//!
//! Both are permutations, so encode and decode take slices of the same length and need no header.

mod bit;
mod byte;
#[cfg(test)]
mod tests;
mod transpose;

pub use bit::{BLOCK, bitshuffle, bitunshuffle};
pub use byte::{byteshuffle, byteunshuffle};
