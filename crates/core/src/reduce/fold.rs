//! What a kernel is: accumulators for some outputs, fed by runs and by rows.

use super::ReduceOp;
use super::cell::Cell;
use super::result::Values;

/// Accumulators of one operation over one cell type, a column of each component.
pub(super) trait Fold: Send + Sized {
    /// The cells it takes.
    type Cell: Cell;

    /// Whether it needs to know where a cell lies among the reduced axes.
    const INDEXED: bool = false;

    /// Memory per output.
    const BYTES: usize;

    /// Accumulators of `outputs` outputs, with nothing in them.
    fn new(outputs: usize) -> Self;

    /// Takes cells that all go to output `at`; the first has the index `index`, the others follow one by one.
    fn run(&mut self, at: usize, cells: &[<Self::Cell as Cell>::Raw], index: u64);

    /// Takes rows whose cells go to the outputs from `at` on, one each. The first row has the index `index`, the
    /// others follow at a distance of `step`.
    fn rows(&mut self, at: usize, rows: Rows<'_, Self::Cell>, index: u64, step: u64);

    /// Takes over `n` accumulators of `later`, from `from` on, into those from `at` on. What `later` holds comes
    /// after what is held here.
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

/// The part of the columns that is worked on at once: its accumulators stay in the first-level cache.
pub(super) const STRIP: usize = 1024;

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
        C::cells(self.bytes.get(start..start + width * C::SIZE).unwrap_or_default())
    }

    /// Blocks of at most `rows` rows: first row and the one after the last.
    pub(super) fn blocks(&self, rows: usize) -> impl Iterator<Item = (usize, usize)> + use<C> {
        let count = self.count;
        (0..count).step_by(rows).map(move |first| (first, count.min(first + rows)))
    }
}
