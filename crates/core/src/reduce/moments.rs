//! Variances: mean and squared distances of each block, merged by the method of Chan et al.

use std::marker::PhantomData;

use super::ReduceOp;
use super::cell::{Cell, Number};
use super::float_sum::{add_rows, block_sum, fold_lanes};
use super::fold::{Fold, Rows};
use super::result::Values;
use crate::Within;

/// A block is read twice, for its mean and for the distances to it, so it must stay in the cache.
const BLOCK: usize = 2048;
const BLOCK_ROWS: usize = 32;

pub(super) struct Moments<C> {
    cells: Vec<f64>,
    mean: Vec<f64>,
    /// The sum of the squared distances to the mean.
    squares: Vec<f64>,
    /// Means and squares of a block of rows, reused.
    block: (Vec<f64>, Vec<f64>),
    cell: PhantomData<fn() -> C>,
}

fn block_squares<C: Cell>(cells: &[C::Raw], mean: f64) -> f64 {
    let (groups, rest) = cells.as_chunks();
    let mut lanes = [0.0; 16];
    for group in groups {
        let group: &[C::Raw; 16] = group;
        for (lane, raw) in lanes.iter_mut().zip(group) {
            let distance = C::load(*raw).to_f64() - mean;
            *lane += distance * distance;
        }
    }
    for (lane, raw) in lanes.iter_mut().zip(rest) {
        let distance = C::load(*raw).to_f64() - mean;
        *lane += distance * distance;
    }
    fold_lanes(lanes)
}

impl<C: Cell> Moments<C> {
    /// Adds blocks of `cells` cells each, one per output from `at` on.
    #[inline]
    fn add(&mut self, at: usize, cells: f64, means: &[f64], squares: &[f64]) {
        let counts = self.cells.within_mut(at..);
        let known = self.mean.within_mut(at..);
        let places = counts.iter_mut().zip(known).zip(self.squares.within_mut(at..));
        for (((n, mean), square), (block_mean, block_square)) in places.zip(means.iter().zip(squares)) {
            let total = *n + cells;
            let distance = block_mean - *mean;
            *mean += distance * (cells / total);
            *square += block_square + distance * distance * (*n * (cells / total));
            *n = total;
        }
    }
}

impl<C: Cell> Fold for Moments<C> {
    type Cell = C;
    const BYTES: usize = 24;

    fn new(outputs: usize) -> Self {
        let zeros = || vec![0.0; outputs];
        Self { cells: zeros(), mean: zeros(), squares: zeros(), block: Default::default(), cell: PhantomData }
    }

    fn run(&mut self, at: usize, cells: &[C::Raw], _index: u64, _step: u64) {
        for block in cells.chunks(BLOCK) {
            let n = block.len() as f64;
            let mean = block_sum::<C>(block) / n;
            self.add(at, n, &[mean], &[block_squares::<C>(block, mean)]);
        }
    }

    fn rows(&mut self, at: usize, rows: Rows<'_, C>, _index: u64, _step: u64) {
        let (mut means, mut squares) = std::mem::take(&mut self.block);
        for (first, width) in rows.strips() {
            for block in rows.blocks(BLOCK_ROWS) {
                let n = (block.1 - block.0) as f64;
                for list in [&mut means, &mut squares] {
                    list.clear();
                    list.resize(width, 0.0);
                }
                add_rows(&mut means, &rows, block, (first, width));
                for sum in &mut means {
                    *sum /= n;
                }
                for row in block.0..block.1 {
                    let cells = rows.row(row, first, width);
                    for (square, (mean, raw)) in squares.iter_mut().zip(means.iter().zip(cells)) {
                        let distance = C::load(*raw).to_f64() - mean;
                        *square += distance * distance;
                    }
                }
                self.add(at + first, n, &means, &squares);
            }
        }
        self.block = (means, squares);
    }

    fn merge(&mut self, at: usize, later: &Self, from: usize, n: usize) {
        for (place, i) in (from..later.mean.len().min(from + n)).enumerate() {
            self.add(at + place, later.cells[i], &[later.mean[i]], &[later.squares[i]]);
        }
    }

    fn finish(self, op: ReduceOp, _cells: u64) -> Values {
        let variances = self.squares.iter().zip(&self.cells).map(|(squares, n)| squares / n);
        Values::Float(match op {
            ReduceOp::Std => variances.map(f64::sqrt).collect(),
            _ => variances.collect(),
        })
    }
}
