//! tsfile

#![forbid(unsafe_code)]

mod legacy;
pub mod meta;
mod read;
pub mod write;
