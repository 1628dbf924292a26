//! Counting NaN.

use std::marker::PhantomData;

use super::ReduceOp;
use super::cell::{Cell, Number};
use super::fold::{Fold, Rows, STRIP};
use super::result::Values;

/// Rows are counted in 32 bits inside a block.
const BLOCK_ROWS: usize = 1 << 16;

pub(super) struct NanCount<C> {
    count: Vec<u64>,
    cell: PhantomData<fn() -> C>,
}

impl<C: Cell> Fold for NanCount<C> {
    type Cell = C;
    const BYTES: usize = 8;

    fn new(outputs: usize) -> Self {
        Self { count: vec![0; outputs], cell: PhantomData }
    }

    fn run(&mut self, at: usize, cells: &[C::Raw], _index: u64) {
        if let Some(count) = self.count.get_mut(at) {
            *count += cells.iter().map(|raw| u64::from(C::load(*raw).is_nan())).sum::<u64>();
        }
    }

    fn rows(&mut self, at: usize, rows: Rows<'_, C>, _index: u64, _step: u64) {
        let mut counts = [0_u32; STRIP];
        for (first, width) in rows.strips() {
            for block in rows.blocks(BLOCK_ROWS) {
                counts.fill(0);
                for row in block.0..block.1 {
                    for (count, raw) in counts.iter_mut().zip(rows.row(row, first, width)) {
                        *count += u32::from(C::load(*raw).is_nan());
                    }
                }
                let totals = self.count.iter_mut().skip(at + first).take(width);
                for (total, count) in totals.zip(&counts) {
                    *total += u64::from(*count);
                }
            }
        }
    }

    fn merge(&mut self, at: usize, later: &Self, from: usize, n: usize) {
        let later = later.count.iter().skip(from).take(n);
        for (count, more) in self.count.iter_mut().skip(at).zip(later) {
            *count += more;
        }
    }

    fn finish(self, _op: ReduceOp, _cells: u64) -> Values {
        Values::Int(self.count.into_iter().map(i128::from).collect())
    }
}
