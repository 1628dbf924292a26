//! Reading: opened files, and datasets as arrays and tables.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub(crate) mod array;
pub(crate) mod schema;
pub(crate) mod zones;
