//! Cell positions: the tile grid of dense arrays and the global order of sparse arrays.

pub mod grid;
pub mod hilbert;
