//! On-disk structures, one file each, with parsing and writing side by side.

pub mod attribute;
pub mod commits;
pub mod condition;
pub mod consolidated;
pub mod datatype;
pub mod dimension;
pub mod enumeration;
pub mod footer;
pub mod generic_tile;
pub mod group;
pub mod key_value;
pub mod label;
pub mod layout;
pub mod legacy;
pub mod name;
pub mod rtree;
pub mod schema;
pub mod slots;
pub mod statistics;
pub mod value;
pub mod wire;
