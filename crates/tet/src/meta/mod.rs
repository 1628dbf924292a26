//! On-disk structures, one file each, with parsing and writing side by side.
//!
//! Lengths and offsets are untrusted: nothing here indexes or slices without a check.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub(crate) mod catalog;
pub(crate) mod directory;
pub(crate) mod dtype;
pub(crate) mod footer;
pub(crate) mod geometry;
pub(crate) mod index;
pub(crate) mod limits;
pub(crate) mod metadata;
mod regular;
pub(crate) mod rows;
pub(crate) mod secondary;
pub(crate) mod statistics;
pub(crate) mod superblock;
pub(crate) mod zone;

/// Rounds up to a multiple of 8; `None` if it exceeds 64 bits.
pub(crate) fn align8(n: u64) -> Option<u64> {
    n.checked_next_multiple_of(8)
}
