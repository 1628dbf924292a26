//! tsfile

#![forbid(unsafe_code)]

pub mod meta;
