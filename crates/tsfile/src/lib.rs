//! tsfile

#![forbid(unsafe_code)]

mod archive;
mod container;
mod describe;
mod format;
mod layout;
mod legacy;
pub mod meta;
mod points;
mod read;
mod repair;
mod table;
mod verify;
mod walk;
pub mod write;

pub use format::TsFile;
