//! Differences between neighbours: delta, delta of deltas, exclusive or.

pub mod delta;
pub mod double_delta;
#[cfg(test)]
mod tests;
pub mod xor;
