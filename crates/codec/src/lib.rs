//! Bit-exact kernels of chunked data files.
//!
//! Slices in, buffers out: no I/O, no Arrow, no knowledge of any container. Every decoder takes strangers' bytes
//! and therefore bounds its output by a size that the caller has checked, and answers damage with an [`Error`].
//!
//! One folder per family, each with its `encode` and `decode` side by side.

pub mod bitmap;
pub mod bitstream;
pub mod camel;
pub mod chimp;
pub mod compress;
pub mod decimal;
pub mod delta_binary;
pub mod dictionary;
mod error;
pub mod freq;
pub mod gorilla;
pub mod plain;
pub mod regular;
pub mod rlbe;
pub mod rle_hybrid;
pub mod sprintz;
pub mod word;
pub mod zigzag;

pub use error::{Error, Result};
