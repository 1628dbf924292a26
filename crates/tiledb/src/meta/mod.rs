//! The structures on disk, one file each, parse and write side by side.

pub mod datatype;
