//! Exact sums and means of integers.

use super::ReduceOp;
use super::cell::{Cell, Integer, SAFE_SUMS};
use super::fold::{Fold, Rows};
use super::result::Values;

const LANES: usize = 16;

type Part<C> = <<C as Cell>::Value as Integer>::Part;

pub(super) struct IntegerSum<C: Cell<Value: Integer>> {
    sum: Vec<i128>,
    /// Low and high parts of a block of rows, reused.
    block: (Vec<Part<C>>, Vec<Part<C>>),
}

#[inline]
fn add<T: Integer>(sum: (T::Part, T::Part), value: T) -> (T::Part, T::Part) {
    let (low, high) = value.parts();
    (sum.0 + low, sum.1 + high)
}

#[inline]
fn joined<P: Into<i64>>((low, high): (P, P)) -> i128 {
    i128::from(low.into()) + (i128::from(high.into()) << 32)
}

fn block_sum<C: Cell<Value: Integer>>(cells: &[C::Raw]) -> i128 {
    let (groups, rest) = cells.as_chunks::<LANES>();
    let mut lanes = [(Part::<C>::default(), Part::<C>::default()); LANES];
    for group in groups {
        for (lane, raw) in lanes.iter_mut().zip(group) {
            *lane = add(*lane, C::load(*raw));
        }
    }
    for (lane, raw) in lanes.iter_mut().zip(rest) {
        *lane = add(*lane, C::load(*raw));
    }
    lanes.into_iter().map(joined).sum()
}

/// Adds one part of the rows `block` of a strip to `sums`, cell by cell.
fn add_rows<C: Cell<Value: Integer>>(
    sums: &mut [Part<C>],
    rows: &Rows<'_, C>,
    block: (usize, usize),
    strip: (usize, usize),
    part: impl Fn(C::Raw) -> Part<C> + Copy,
) {
    for stack in rows.stacks(block, strip) {
        stack.each(
            sums,
            |sum, raw| *sum = *sum + part(raw),
            |sum, [a, b, c, d]| *sum = *sum + ((part(a) + part(b)) + (part(c) + part(d))),
        );
    }
}

impl<C: Cell<Value: Integer>> Fold for IntegerSum<C> {
    type Cell = C;
    const BYTES: usize = 16;

    fn new(outputs: usize) -> Self {
        Self { sum: vec![0; outputs], block: Default::default() }
    }

    fn run(&mut self, at: usize, cells: &[C::Raw], _index: u64, _step: u64) {
        if let Some(sum) = self.sum.get_mut(at) {
            *sum += cells.chunks(SAFE_SUMS).map(block_sum::<C>).sum::<i128>();
        }
    }

    fn rows(&mut self, at: usize, rows: Rows<'_, C>, _index: u64, _step: u64) {
        let zero = Part::<C>::default();
        let (mut lows, mut highs) = std::mem::take(&mut self.block);
        let low = |raw| C::load(raw).parts().0;
        let high = |raw| C::load(raw).parts().1;
        for strip in rows.strips() {
            for block in rows.blocks(SAFE_SUMS) {
                for list in [&mut lows, &mut highs] {
                    list.clear();
                    list.resize(strip.1, zero);
                }
                add_rows(&mut lows, &rows, block, strip, low);
                if C::SIZE == 8 {
                    add_rows(&mut highs, &rows, block, strip, high);
                }
                let sums = self.sum.iter_mut().skip(at + strip.0);
                for (sum, (low, high)) in sums.zip(lows.iter().zip(&highs)) {
                    *sum += joined((*low, *high));
                }
            }
        }
        self.block = (lows, highs);
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

/// The mean with one rounding of the integer part and one of the fraction, even if the sum exceeds 2^53.
fn mean(sum: i128, cells: u64) -> f64 {
    let n = i128::from(cells.max(1));
    (sum / n) as f64 + (sum % n) as f64 / n as f64
}
