//! FSST: strings as sequences of one-byte codes, each for a symbol of one to eight bytes.
//!
//! A symbol table is stored as its number of symbols (one byte, at most 255), the length of each (one byte),
//! then their bytes. Code 255 is an escape: the next byte is a literal. Each string is coded independently,
//! so one can be decoded without the others.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::Decoder;
pub use encode::Encoder;

/// The escape code: the next byte is a literal.
const ESCAPE: u8 = 255;
