//! Blocks of nine values: the first raw, eight as packed prediction errors; the remaining values in another
//! form.
//!
//! ```text
//! u8 h < 0x80:  first value, then h bytes: 8 folded errors of h bits each
//! u8 h >= 0x80: h & 0x7f last values, integers as in `rle_hybrid`, floats as in `gorilla`
//! ```
//!
//! Errors too large to fold are lost; that is a limit of the format.

mod decode;
mod encode;
mod predictor;
#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::encode;
pub use predictor::{Prediction, Product};

use crate::word::Word;
use crate::{Result, gorilla, rle_hybrid};

const WHAT: &str = "sprintz column";

/// Errors in a block.
const ERRORS: usize = 8;

/// How a type encodes the first value of a block and the remaining values of a column.
pub trait Column: Word {
    /// The first value of a block is a varint of its raw bits.
    const FIRST_IS_VARINT: bool;

    /// Appends `count` values of the trailing form.
    fn decode_rest(src: &[u8], count: usize, dst: &mut Vec<Self>) -> Result<()>;

    /// Appends the values in the trailing form.
    fn encode_rest(values: &[Self], dst: &mut Vec<u8>);
}

impl Column for i32 {
    const FIRST_IS_VARINT: bool = true;

    fn decode_rest(src: &[u8], count: usize, dst: &mut Vec<Self>) -> Result<()> {
        rle_hybrid::decode(src, count, dst)
    }

    fn encode_rest(values: &[Self], dst: &mut Vec<u8>) {
        rle_hybrid::encode(values, dst);
    }
}

impl Column for i64 {
    const FIRST_IS_VARINT: bool = false;

    fn decode_rest(src: &[u8], count: usize, dst: &mut Vec<Self>) -> Result<()> {
        rle_hybrid::decode(src, count, dst)
    }

    fn encode_rest(values: &[Self], dst: &mut Vec<u8>) {
        rle_hybrid::encode(values, dst);
    }
}

impl Column for f32 {
    const FIRST_IS_VARINT: bool = false;

    fn decode_rest(src: &[u8], count: usize, dst: &mut Vec<Self>) -> Result<()> {
        gorilla::decode(src, count, dst)
    }

    fn encode_rest(values: &[Self], dst: &mut Vec<u8>) {
        gorilla::encode(values, dst);
    }
}

impl Column for f64 {
    const FIRST_IS_VARINT: bool = false;

    fn decode_rest(src: &[u8], count: usize, dst: &mut Vec<Self>) -> Result<()> {
        gorilla::decode(src, count, dst)
    }

    fn encode_rest(values: &[Self], dst: &mut Vec<u8>) {
        gorilla::encode(values, dst);
    }
}
