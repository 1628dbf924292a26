//! Reading: columns, plans and tasks.
//!
//! `plan` selects the tiles from metadata; tasks decode them into Arrow buffers without I/O.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub(crate) mod bounds;
pub(crate) mod build;
mod copy;
pub(crate) mod covered;
pub(crate) mod dense;
mod projection;
pub(crate) mod schema;
pub(crate) mod sparse;
pub(crate) mod tile;
