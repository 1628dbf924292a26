//! On-disk structures, one file each, with parsing and writing side by side.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub(crate) mod attribute;
pub(crate) mod commits;
pub(crate) mod condition;
pub(crate) mod consolidated;
pub(crate) mod datatype;
pub(crate) mod dimension;
pub(crate) mod enumeration;
pub(crate) mod footer;
pub(crate) mod generic_tile;
pub(crate) mod group;
pub(crate) mod key_value;
pub(crate) mod label;
pub(crate) mod layout;
pub(crate) mod legacy;
pub(crate) mod name;
pub(crate) mod rtree;
pub(crate) mod schema;
pub(crate) mod slots;
pub(crate) mod statistics;
pub(crate) mod value;
pub(crate) mod wire;
