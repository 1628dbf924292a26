//! Reading: opened files, and datasets as arrays and tables.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod array;
pub(crate) mod axes;
mod describe;
mod opened;
mod zones;

pub use opened::File;
pub(crate) use opened::{Opened, decode_into};
