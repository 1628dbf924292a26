//! The positions of the smallest and largest values.

use super::ReduceOp;
use super::cell::Cell;
use super::fold::{Fold, Rows};
use super::min_max::Way;
use super::result::Values;

/// Cells whose best value is found before indexes are compared.
const BLOCK: usize = 1024;
/// Rows are counted in 32 bits inside a block.
const BLOCK_ROWS: usize = 1 << 16;
/// The index of no cell.
const NOWHERE: u64 = u64::MAX;
/// The row of no cell.
const NO_ROW: u32 = u32::MAX;

pub(super) struct Arg<C: Cell, const MAX: bool> {
    best: Vec<C::Value>,
    index: Vec<u64>,
    /// Values and rows of a block of rows, reused.
    block: (Vec<C::Value>, Vec<u32>),
}

impl<C: Cell, const MAX: bool> Arg<C, MAX> {
    /// Takes a value with its index: a better value wins, and the lower index among equal values.
    #[inline]
    fn take(&mut self, at: usize, value: C::Value, index: u64) {
        if let (Some(best), Some(place)) = (self.best.get_mut(at), self.index.get_mut(at))
            && index != NOWHERE
            && (Way::<MAX>::better(value, *best) || (value == *best && index < *place))
        {
            *best = value;
            *place = index;
        }
    }
}

impl<C: Cell, const MAX: bool> Fold for Arg<C, MAX> {
    type Cell = C;
    const INDEXED: bool = true;
    const BYTES: usize = size_of::<C::Value>() + size_of::<u64>();

    fn new(outputs: usize) -> Self {
        Self {
            best: vec![Way::<MAX>::worst(); outputs],
            index: vec![NOWHERE; outputs],
            block: Default::default(),
        }
    }

    fn run(&mut self, at: usize, cells: &[C::Raw], index: u64, step: u64) {
        for (number, block) in (0..).zip(cells.chunks(BLOCK)) {
            let index = index + number * BLOCK as u64 * step;
            let value = Way::<MAX>::block::<C>(block);
            let (Some(best), Some(place)) = (self.best.get(at), self.index.get(at)) else { return };
            // Most blocks end here, without a search.
            let wins = Way::<MAX>::better(value, *best) || (value == *best && index < *place);
            if wins && let Some(first) = block.iter().position(|raw| C::load(*raw) == value) {
                self.take(at, value, index + first as u64 * step);
            }
        }
    }

    fn rows(&mut self, at: usize, rows: Rows<'_, C>, index: u64, step: u64) {
        let (mut values, mut places) = std::mem::take(&mut self.block);
        for (first, width) in rows.strips() {
            for block in rows.blocks(BLOCK_ROWS) {
                values.clear();
                values.resize(width, Way::<MAX>::worst());
                places.clear();
                places.resize(width, NO_ROW);
                for (number, row) in (0_u32..).zip(block.0..block.1) {
                    let cells = rows.row(row, first, width);
                    for ((best, place), raw) in values.iter_mut().zip(&mut places).zip(cells) {
                        let value = C::load(*raw);
                        let wins = Way::<MAX>::better(value, *best) || (*place == NO_ROW && value == *best);
                        *best = if wins { value } else { *best };
                        *place = if wins { number } else { *place };
                    }
                }
                for (column, (value, place)) in values.iter().zip(&places).enumerate() {
                    if *place != NO_ROW {
                        let row = block.0 as u64 + u64::from(*place);
                        self.take(at + first + column, *value, index + row * step);
                    }
                }
            }
        }
        self.block = (values, places);
    }

    fn merge(&mut self, at: usize, later: &Self, from: usize, n: usize) {
        let later = later.best.iter().zip(&later.index).skip(from).take(n);
        for (place, (value, index)) in later.enumerate() {
            self.take(at + place, *value, *index);
        }
    }

    fn finish(self, _op: ReduceOp, _cells: u64) -> Values {
        let index = |index: u64| if index == NOWHERE { 0 } else { i128::from(index) };
        Values::Int(self.index.into_iter().map(index).collect())
    }
}
