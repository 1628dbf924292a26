//! tsfile

#![forbid(unsafe_code)]

mod archive;
mod container;
mod describe;
mod format;
mod legacy;
pub mod meta;
mod read;
mod table;
pub mod write;

pub use format::TsFile;
