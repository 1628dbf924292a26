//! The structures on disk, one file each; parse and write side by side.
//!
//! Lengths and offsets come from strangers: nothing here indexes or slices without a check.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub(crate) mod catalog;
pub(crate) mod directory;
pub(crate) mod dtype;
pub(crate) mod footer;
pub(crate) mod geometry;
pub(crate) mod index;
pub(crate) mod limits;
pub(crate) mod metadata;
mod orderly;
pub(crate) mod secondary;
pub(crate) mod statistics;
pub(crate) mod superblock;
pub(crate) mod zone;

/// Rounds up to a multiple of 8; `None` beyond 64 bits.
pub(crate) fn align8(n: u64) -> Option<u64> {
    n.checked_next_multiple_of(8)
}
