//! Sums and means of floats.
//!
//! Cells are added in double precision, in blocks: many parallel lanes inside a block, then each block's sum is added
//! with compensation. The error grows with the block, not with the array.

use std::marker::PhantomData;

use super::ReduceOp;
use super::cell::{Cell, Number};
use super::fold::{Fold, Rows};
use super::result::Values;
use crate::Within;

/// Cells, or rows, that are added without compensation.
const BLOCK: usize = 2048;
const BLOCK_ROWS: usize = 128;
const LANES: usize = 16;

pub(super) struct FloatSum<C> {
    sum: Vec<f64>,
    /// The rounding error of `sum`.
    lost: Vec<f64>,
    /// Sums of a block of rows, reused.
    block: Vec<f64>,
    cell: PhantomData<fn() -> C>,
}

/// `sum + value` and its exact rounding error.
#[inline]
fn two_sum(sum: f64, value: f64) -> (f64, f64) {
    let total = sum + value;
    let part = total - sum;
    (total, (sum - (total - part)) + (value - part))
}

/// The sum of a block, by lanes.
#[inline]
pub(super) fn block_sum<C: Cell>(cells: &[C::Raw]) -> f64 {
    let (groups, rest) = cells.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for group in groups {
        for (lane, raw) in lanes.iter_mut().zip(group) {
            *lane += C::load(*raw).to_f64();
        }
    }
    for (lane, raw) in lanes.iter_mut().zip(rest) {
        *lane += C::load(*raw).to_f64();
    }
    fold_lanes(lanes)
}

/// The sum of the lanes, as a tree.
#[inline]
pub(super) fn fold_lanes(mut lanes: [f64; LANES]) -> f64 {
    let mut width = LANES / 2;
    while width > 0 {
        let (left, right) = lanes.split_at_mut(width);
        for (a, b) in left.iter_mut().zip(right) {
            *a += *b;
        }
        width /= 2;
    }
    lanes[0]
}

/// Adds the rows `block` of a strip to `sums`, cell by cell.
#[inline]
pub(super) fn add_rows<C: Cell>(
    sums: &mut [f64],
    rows: &Rows<'_, C>,
    block: (usize, usize),
    strip: (usize, usize),
) {
    let load = |raw| C::load(raw).to_f64();
    for stack in rows.stacks(block, strip) {
        stack.each(
            sums,
            |sum, raw| *sum += load(raw),
            |sum, [a, b, c, d]| *sum += (load(a) + load(b)) + (load(c) + load(d)),
        );
    }
}

impl<C: Cell> FloatSum<C> {
    #[inline]
    fn add(&mut self, at: usize, values: &[f64]) {
        let places = self.sum.within_mut(at..).iter_mut().zip(self.lost.within_mut(at..));
        for ((sum, lost), value) in places.zip(values) {
            let (total, error) = two_sum(*sum, *value);
            *sum = total;
            *lost += error;
        }
    }
}

impl<C: Cell> Fold for FloatSum<C> {
    type Cell = C;
    const BYTES: usize = 16;

    fn new(outputs: usize) -> Self {
        Self { sum: vec![0.0; outputs], lost: vec![0.0; outputs], block: Vec::new(), cell: PhantomData }
    }

    fn run(&mut self, at: usize, cells: &[C::Raw], _index: u64, _step: u64) {
        for block in cells.chunks(BLOCK) {
            self.add(at, &[block_sum::<C>(block)]);
        }
    }

    fn rows(&mut self, at: usize, rows: Rows<'_, C>, _index: u64, _step: u64) {
        let mut sums = std::mem::take(&mut self.block);
        for (first, width) in rows.strips() {
            for block in rows.blocks(BLOCK_ROWS) {
                sums.clear();
                sums.resize(width, 0.0);
                add_rows(&mut sums, &rows, block, (first, width));
                self.add(at + first, &sums);
            }
        }
        self.block = sums;
    }

    fn merge(&mut self, at: usize, later: &Self, from: usize, n: usize) {
        self.add(at, later.sum.within(from..from + n));
        let lost = later.lost.within(from..from + n);
        for (mine, lost) in self.lost.within_mut(at..).iter_mut().zip(lost) {
            *mine += lost;
        }
    }

    fn finish(self, op: ReduceOp, cells: u64) -> Values {
        let divisor = if op == ReduceOp::Mean { cells as f64 } else { 1.0 };
        let sums = self.sum.iter().zip(&self.lost).map(|(sum, lost)| {
            // With an infinity or NaN, the rounding error is meaningless.
            if sum.is_finite() { (sum + lost) / divisor } else { *sum }
        });
        Values::Float(sums.collect())
    }
}
