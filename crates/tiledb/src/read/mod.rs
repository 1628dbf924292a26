//! Reading: columns, plans and tasks.
//!
//! `plan` decides from metadata which tiles are needed; tasks decode them, purely, into Arrow buffers.

pub(crate) mod bounds;
pub(crate) mod build;
mod copy;
pub(crate) mod dense;
mod projection;
pub(crate) mod schema;
pub(crate) mod sparse;
pub(crate) mod tile;
