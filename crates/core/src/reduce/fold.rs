//! Kernels: accumulators for some outputs, updated by runs and by rows.

use super::ReduceOp;
use super::cell::Cell;
use super::result::Values;
use crate::Within;

/// Accumulators of one operation over one cell type, a column of each component.
pub(super) trait Fold: Send + Sized {
    /// The type of its cells.
    type Cell: Cell;

    /// Whether it needs the position of a cell among the reduced axes.
    const INDEXED: bool = false;

    /// Memory per output.
    const BYTES: usize;

    /// Empty accumulators for `outputs` outputs.
    fn new(outputs: usize) -> Self;

    /// Takes cells that all belong to output `at`. The first has the index `index`, the others follow at a distance of
    /// `step`.
    fn run(&mut self, at: usize, cells: &[<Self::Cell as Cell>::Raw], index: u64, step: u64);

    /// Takes rows whose cells belong to the outputs from `at` on, one each. The first row has the index `index`, the
    /// others follow at a distance of `step`.
    fn rows(&mut self, at: usize, rows: Rows<'_, Self::Cell>, index: u64, step: u64);

    /// Merges `n` accumulators of `later`, from `from` on, into those from `at` on. The cells of `later` come after
    /// those already accumulated.
    fn merge(&mut self, at: usize, later: &Self, from: usize, n: usize);

    /// The answers; `cells` went into each.
    fn finish(self, op: ReduceOp, cells: u64) -> Values;
}

/// Rows of equal width at equal distance.
pub(super) struct Rows<'a, C> {
    bytes: &'a [u8],
    distance: usize,
    /// How many rows.
    pub(super) count: usize,
    /// Cells per row.
    pub(super) width: usize,
    cell: std::marker::PhantomData<C>,
}

/// The number of columns processed at once: their accumulators stay in a near cache, and rows are read in runs that are
/// long enough for hardware prefetching.
pub(super) const STRIP: usize = 4096;

impl<'a, C: Cell> Rows<'a, C> {
    /// `count` rows of `width` cells, `distance` bytes from one to the next.
    pub(super) fn new(bytes: &'a [u8], distance: usize, count: usize, width: usize) -> Self {
        Self { bytes, distance, count, width, cell: std::marker::PhantomData }
    }

    /// The strips of columns: first column and width.
    pub(super) fn strips(&self) -> impl Iterator<Item = (usize, usize)> + use<C> {
        let width = self.width;
        (0..width).step_by(STRIP).map(move |first| (first, STRIP.min(width - first)))
    }

    /// `width` cells of a row, from column `first` on.
    #[inline]
    pub(super) fn row(&self, row: usize, first: usize, width: usize) -> &'a [C::Raw] {
        let start = row * self.distance + first * C::SIZE;
        C::cells(self.bytes.within(start..start + width * C::SIZE))
    }

    /// The rows `block` of a strip, four at a time, so that accumulators are loaded and stored once for four cells. The
    /// remaining rows come one by one.
    #[inline]
    pub(super) fn stacks(
        &self,
        block: (usize, usize),
        (first, width): (usize, usize),
    ) -> impl Iterator<Item = Stack<'a, C::Raw>> {
        let at = move |row| self.row(row, first, width);
        let mut row = block.0;
        std::iter::from_fn(move || {
            let start = row;
            match block.1 - start {
                0 => None,
                1..4 => {
                    row += 1;
                    Some(Stack::One(at(start)))
                }
                _ => {
                    row += 4;
                    Some(Stack::Four([at(start), at(start + 1), at(start + 2), at(start + 3)]))
                }
            }
        })
    }

    /// Blocks of at most `rows` rows: first row and the one after the last.
    pub(super) fn blocks(&self, rows: usize) -> impl Iterator<Item = (usize, usize)> + use<C> {
        let count = self.count;
        (0..count).step_by(rows).map(move |first| (first, count.min(first + rows)))
    }
}

/// Rows of a strip that are processed in one pass.
pub(super) enum Stack<'a, R> {
    One(&'a [R]),
    Four([&'a [R]; 4]),
}

impl<R: Copy> Stack<'_, R> {
    /// Calls `one` or `four` for each accumulator and its cells.
    #[inline]
    pub(super) fn each<A>(
        self,
        accumulators: &mut [A],
        mut one: impl FnMut(&mut A, R),
        mut four: impl FnMut(&mut A, [R; 4]),
    ) {
        match self {
            Self::One(row) => {
                for (accumulator, raw) in accumulators.iter_mut().zip(row) {
                    one(accumulator, *raw);
                }
            }
            Self::Four([a, b, c, d]) => {
                let cells = a.iter().zip(b).zip(c.iter().zip(d));
                for (accumulator, ((a, b), (c, d))) in accumulators.iter_mut().zip(cells) {
                    four(accumulator, [*a, *b, *c, *d]);
                }
            }
        }
    }
}
