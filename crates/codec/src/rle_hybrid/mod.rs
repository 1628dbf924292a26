//! Integers and booleans as repeats and bit packed groups of eight.
//!
//! ```text
//! uvar bytes that follow | u8 width | runs
//! run: uvar h, h even: h/2 copies of one value in ceil(width/8) bytes
//!              h odd:  u8 values in the last group, then h/2 groups of 8 packed values
//! ```
//!
//! A repeated value of 32 bits is little-endian, one of 64 bits big-endian.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::{count, decode, decode_bool};
pub use encode::{encode, encode_bool};

const WHAT: &str = "run length column";
