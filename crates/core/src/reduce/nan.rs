//! Counting NaN.

use std::marker::PhantomData;

use super::ReduceOp;
use super::cell::{Cell, Number};
use super::fold::{Fold, Rows};
use super::result::Values;

/// Rows are counted in 32 bits inside a block.
const BLOCK_ROWS: usize = 1 << 16;

pub(super) struct NanCount<C> {
    count: Vec<u64>,
    /// Counts of a block of rows, reused.
    block: Vec<u32>,
    cell: PhantomData<fn() -> C>,
}

impl<C: Cell> Fold for NanCount<C> {
    type Cell = C;
    const BYTES: usize = 8;

    fn new(outputs: usize) -> Self {
        Self { count: vec![0; outputs], block: Vec::new(), cell: PhantomData }
    }

    fn run(&mut self, at: usize, cells: &[C::Raw], _index: u64, _step: u64) {
        if let Some(count) = self.count.get_mut(at) {
            // Counted in 32 bits inside a block: lanes as wide as most cells.
            let blocks = cells.chunks(BLOCK_ROWS);
            let counts =
                blocks.map(|block| block.iter().map(|raw| u32::from(C::load(*raw).is_nan())).sum::<u32>());
            *count += counts.map(u64::from).sum::<u64>();
        }
    }

    fn rows(&mut self, at: usize, rows: Rows<'_, C>, _index: u64, _step: u64) {
        let mut counts = std::mem::take(&mut self.block);
        for (first, width) in rows.strips() {
            for block in rows.blocks(BLOCK_ROWS) {
                counts.clear();
                counts.resize(width, 0);
                let is_nan = |raw| u32::from(C::load(raw).is_nan());
                for stack in rows.stacks(block, (first, width)) {
                    stack.each(
                        &mut counts,
                        |count, raw| *count += is_nan(raw),
                        |count, four| *count += four.map(is_nan).iter().sum::<u32>(),
                    );
                }
                let totals = self.count.iter_mut().skip(at + first).take(width);
                for (total, count) in totals.zip(&counts) {
                    *total += u64::from(*count);
                }
            }
        }
        self.block = counts;
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
