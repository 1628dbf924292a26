//! The structures on disk, one file each, parse and write side by side.

pub mod datatype;
pub mod layout;
pub mod name;
pub mod value;
