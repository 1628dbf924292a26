//! Cell positions: the tile grid of dense arrays and the global order of sparse arrays.

pub(crate) mod grid;
pub(crate) mod hilbert;
