//! Reading: opened files, tables, arrays, plans and tasks.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod array;
pub(crate) mod axes;
mod band;
pub(crate) mod copy;
mod describe;
mod opened;
mod plan;
mod table;
mod task;
mod zones;

pub use opened::File;
pub(crate) use opened::{Opened, decode_into};
