//! Encoder.

use super::decode::{signed, unfold};
use super::predictor::Predictor;
use super::{Column, ERRORS, Prediction};
use crate::Within;
use crate::bitstream::BitWriter;
use crate::word::low_mask;
use crate::zigzag::varint;

/// Appends the column of `values` to `dst`. NaNs become canonical.
///
/// Returns false if the column does not round-trip, or not in every reader: a prediction error was too large
/// to fold, or the two ways in which readers multiply give different results.
#[must_use]
pub fn encode<T: Column>(values: &[T], prediction: Prediction, dst: &mut Vec<u8>) -> bool {
    let mut lossless = true;
    let (blocks, rest) = values.as_chunks::<{ ERRORS + 1 }>();
    for block in blocks {
        let words = block.map(T::to_canonical_word);
        lossless &= encode_block::<T>(words, prediction, dst);
    }
    if !rest.is_empty() {
        dst.push(0x80 | rest.len() as u8);
        T::encode_rest(rest, dst);
    }
    lossless
}

fn encode_block<T: Column>(words: [u64; ERRORS + 1], prediction: Prediction, dst: &mut Vec<u8>) -> bool {
    let mut lossless = true;
    let mut predictor = Predictor::new(prediction, T::BITS);
    let mut folded = [0u64; ERRORS];
    let first = words[0];
    let mut previous = signed::<T>(first);
    let mut all = 0;
    for (slot, &word) in folded.iter_mut().zip(words.iter().skip(1)) {
        let value = signed::<T>(word);
        let error = signed::<T>(value.wrapping_sub(predictor.predict(previous)) as u64);
        lossless &= predictor.is_portable();
        predictor.train(previous, value, error);
        *slot = fold(error) as u64 & low_mask(T::BITS);
        lossless &= unfold(signed::<T>(*slot)) == error;
        all |= *slot;
        previous = value;
    }
    let width = (64 - all.leading_zeros()).max(1);
    dst.push(width as u8);
    if T::FIRST_IS_VARINT {
        varint::write_u64(first, dst);
    } else {
        dst.extend_from_slice(first.to_be_bytes().within(8 - T::BITS as usize / 8..));
    }
    let mut writer = BitWriter::new(dst);
    for error in folded {
        writer.write(error, width);
    }
    writer.finish();
    lossless
}

fn fold(error: i64) -> i64 {
    if error <= 0 { error.wrapping_mul(-2) } else { error.wrapping_mul(2).wrapping_sub(1) }
}
