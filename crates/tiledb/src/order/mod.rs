//! Where cells lie: the tile grid of dense arrays and the global order of sparse ones.

pub mod grid;
pub mod hilbert;
