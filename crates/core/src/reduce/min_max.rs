//! Smallest and largest values.

use super::ReduceOp;
use super::cell::{Cell, Number};
use super::fold::{Fold, Rows};
use super::result::Values;

const LANES: usize = 16;
const BLOCK_ROWS: usize = 256;

/// The direction of a comparison: largest if `MAX`, else smallest.
pub(super) struct Way<const MAX: bool>;

impl<const MAX: bool> Way<MAX> {
    /// The value that no other value is worse than.
    #[inline]
    pub(super) fn worst<N: Number>() -> N {
        if MAX { N::LEAST } else { N::MOST }
    }

    /// The result without values.
    fn none<N: Number>() -> N {
        if MAX { N::NONE_MAX } else { N::NONE_MIN }
    }

    /// Whether `value` is better than `best`; NaN never is.
    #[inline]
    pub(super) fn better<N: Number>(value: N, best: N) -> bool {
        if MAX { value > best } else { value < best }
    }

    /// The better one; `best` where `value` is NaN.
    #[inline]
    fn pick<N: Number>(best: N, value: N) -> N {
        if Self::better(value, best) { value } else { best }
    }

    /// The best value of a block; the worst possible one if all are NaN.
    #[inline]
    pub(super) fn block<C: Cell>(cells: &[C::Raw]) -> C::Value {
        let (groups, rest) = cells.as_chunks::<LANES>();
        let mut lanes = [Self::worst::<C::Value>(); LANES];
        for group in groups {
            for (lane, raw) in lanes.iter_mut().zip(group) {
                *lane = Self::pick(*lane, C::load(*raw));
            }
        }
        let best = lanes.into_iter().fold(Self::worst(), Self::pick);
        rest.iter().fold(best, |best, raw| Self::pick(best, C::load(*raw)))
    }
}

pub(super) struct MinMax<C: Cell, const MAX: bool> {
    best: Vec<C::Value>,
    /// The best values of a block of rows, reused.
    block: Vec<C::Value>,
}

impl<C: Cell, const MAX: bool> MinMax<C, MAX> {
    /// Takes a value; NaN changes nothing.
    #[inline]
    fn take(best: &mut C::Value, value: C::Value) {
        if Way::<MAX>::better(value, *best) || (best.is_nan() && !value.is_nan()) {
            *best = value;
        }
    }

    /// Whether the best value of a block may come from no cell: floats start at an infinity, which a block of NaN does
    /// not change.
    #[inline]
    fn doubtful(value: C::Value) -> bool {
        C::Value::FLOAT && value == Way::<MAX>::worst()
    }
}

impl<C: Cell, const MAX: bool> Fold for MinMax<C, MAX> {
    type Cell = C;
    const BYTES: usize = size_of::<C::Value>();

    fn new(outputs: usize) -> Self {
        Self { best: vec![Way::<MAX>::none(); outputs], block: Vec::new() }
    }

    fn run(&mut self, at: usize, cells: &[C::Raw], _index: u64, _step: u64) {
        let value = Way::<MAX>::block::<C>(cells);
        if Self::doubtful(value) && cells.iter().all(|raw| C::load(*raw).is_nan()) {
            return;
        }
        if let Some(best) = self.best.get_mut(at) {
            Self::take(best, value);
        }
    }

    fn rows(&mut self, at: usize, rows: Rows<'_, C>, _index: u64, _step: u64) {
        let mut values = std::mem::take(&mut self.block);
        for (first, width) in rows.strips() {
            for block in rows.blocks(BLOCK_ROWS) {
                values.clear();
                values.resize(width, Way::<MAX>::worst());
                let pick = |best, raw| Way::<MAX>::pick(best, C::load(raw));
                for stack in rows.stacks(block, (first, width)) {
                    stack.each(
                        &mut values,
                        |value, raw| *value = pick(*value, raw),
                        |value, four| *value = four.into_iter().fold(*value, pick),
                    );
                }
                let places = self.best.iter_mut().skip(at + first);
                for (column, (best, value)) in places.zip(values.iter()).enumerate() {
                    let is_nan = |row| {
                        rows.row(row, first + column, 1).first().is_none_or(|raw| C::load(*raw).is_nan())
                    };
                    if !(Self::doubtful(*value) && (block.0..block.1).all(is_nan)) {
                        Self::take(best, *value);
                    }
                }
            }
        }
        self.block = values;
    }

    fn merge(&mut self, at: usize, later: &Self, from: usize, n: usize) {
        let later = later.best.iter().skip(from).take(n);
        for (best, value) in self.best.iter_mut().skip(at).zip(later) {
            Self::take(best, *value);
        }
    }

    fn finish(self, _op: ReduceOp, _cells: u64) -> Values {
        C::Value::values(self.best)
    }
}
