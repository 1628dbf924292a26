//! Exact sums and means of integers.

use std::marker::PhantomData;

use super::ReduceOp;
use super::cell::{Cell, Integer};
use super::fold::{Fold, Rows, STRIP};
use super::result::Values;

/// Cells, or rows, whose parts are added in 64 bits: far from an overflow.
const BLOCK: usize = 1 << 16;
const LANES: usize = 8;

pub(super) struct IntegerSum<C> {
    sum: Vec<i128>,
    cell: PhantomData<fn() -> C>,
}

#[inline]
fn joined(low: i64, high: i64) -> i128 {
    i128::from(low) + (i128::from(high) << 32)
}

fn block_sum<C: Cell<Value: Integer>>(cells: &[C::Raw]) -> i128 {
    let (groups, rest) = cells.as_chunks::<LANES>();
    let (mut lows, mut highs) = ([0_i64; LANES], [0_i64; LANES]);
    for group in groups {
        for ((low, high), raw) in lows.iter_mut().zip(&mut highs).zip(group) {
            let (l, h) = C::load(*raw).parts();
            *low += l;
            *high += h;
        }
    }
    for ((low, high), raw) in lows.iter_mut().zip(&mut highs).zip(rest) {
        let (l, h) = C::load(*raw).parts();
        *low += l;
        *high += h;
    }
    joined(lows.iter().sum(), highs.iter().sum())
}

impl<C: Cell<Value: Integer>> Fold for IntegerSum<C> {
    type Cell = C;
    const BYTES: usize = 16;

    fn new(outputs: usize) -> Self {
        Self { sum: vec![0; outputs], cell: PhantomData }
    }

    fn run(&mut self, at: usize, cells: &[C::Raw], _index: u64) {
        if let Some(sum) = self.sum.get_mut(at) {
            *sum += cells.chunks(BLOCK).map(block_sum::<C>).sum::<i128>();
        }
    }

    fn rows(&mut self, at: usize, rows: Rows<'_, C>, _index: u64, _step: u64) {
        let (mut lows, mut highs) = ([0_i64; STRIP], [0_i64; STRIP]);
        for (first, width) in rows.strips() {
            for block in rows.blocks(BLOCK) {
                lows.fill(0);
                highs.fill(0);
                for row in block.0..block.1 {
                    let cells = rows.row(row, first, width);
                    for ((low, high), raw) in lows.iter_mut().zip(&mut highs).zip(cells) {
                        let (l, h) = C::load(*raw).parts();
                        *low += l;
                        *high += h;
                    }
                }
                let sums = self.sum.iter_mut().skip(at + first).take(width);
                for (sum, (low, high)) in sums.zip(lows.iter().zip(&highs)) {
                    *sum += joined(*low, *high);
                }
            }
        }
    }

    fn merge(&mut self, at: usize, later: &Self, from: usize, n: usize) {
        let later = later.sum.iter().skip(from).take(n);
        for (sum, value) in self.sum.iter_mut().skip(at).zip(later) {
            *sum += value;
        }
    }

    fn finish(self, op: ReduceOp, cells: u64) -> Values {
        if op == ReduceOp::Mean {
            return Values::Float(self.sum.iter().map(|sum| mean(*sum, cells)).collect());
        }
        Values::Int(self.sum)
    }
}

/// The mean with one rounding of the whole part and one of the fraction, also where the sum exceeds 2^53.
fn mean(sum: i128, cells: u64) -> f64 {
    let n = i128::from(cells.max(1));
    (sum / n) as f64 + (sum % n) as f64 / n as f64
}
