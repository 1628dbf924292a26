//! Encoder.

use super::{BLOCK, Column, Difference, width_bits};
use crate::bitstream::BitWriter;
use crate::word::low_mask;

/// Appends the column of `values` to `dst`.
pub fn encode<T: Column>(values: &[T], difference: Difference, dst: &mut Vec<u8>) {
    let mut steps = Vec::with_capacity(BLOCK.min(values.len()));
    for block in values.chunks(BLOCK) {
        steps.clear();
        let mut previous = None;
        for value in block {
            let word = value.to_word();
            steps.push(match previous.replace(word) {
                None => word,
                Some(before) => T::subtract(word, before, difference),
            });
        }
        dst.extend_from_slice(&(block.len() as u32).to_be_bytes());
        let mut writer = BitWriter::new(dst);
        for run in steps.chunk_by(|a, b| width(*a) == width(*b)) {
            let width = run.first().map_or(1, |&step| width(step));
            writer.write(width as u64, width_bits(T::BITS));
            fibonacci(run.len(), &mut writer);
            for &step in run {
                writer.write(step & low_mask(T::BITS - 1), width);
            }
        }
        writer.finish();
    }
}

fn width(step: u64) -> u32 {
    (64 - step.leading_zeros()).max(1)
}

fn fibonacci(n: usize, writer: &mut BitWriter<'_>) {
    // Terms up to n; n is at most a block.
    let mut terms = vec![1usize];
    let mut next = 2;
    while next <= n {
        terms.push(next);
        next = terms.iter().rev().take(2).sum();
    }
    let mut code = 1u64 << terms.len();
    let mut left = n;
    for (i, &term) in terms.iter().enumerate().rev() {
        if term <= left {
            left -= term;
            code |= 1 << i;
        }
    }
    for i in 0..=terms.len() {
        writer.write_bit(code >> i & 1 == 1);
    }
}
