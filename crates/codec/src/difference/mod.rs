//! Differences between neighbors: delta, delta of deltas, XOR.

pub mod delta;
pub mod double_delta;
#[cfg(test)]
mod tests;
pub mod xor;
