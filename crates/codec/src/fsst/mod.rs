//! FSST: strings as sequences of one-byte codes, each standing for a symbol of one to eight bytes.
//!
//! A symbol table is written as its number of symbols (one byte, at most 255), the length of each (one byte), then
//! their bytes. Code 255 escapes: the byte behind it stands for itself. Each string is coded on its own, so one can
//! be decoded without the others.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::Decoder;
pub use encode::Encoder;

/// The code that says that the next byte stands for itself.
const ESCAPE: u8 = 255;
