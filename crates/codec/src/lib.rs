//! Bit-exact kernels of chunked data files.
//!
//! Slices in, buffers out: no I/O, no Arrow, no knowledge of any container. Every decoder takes strangers' bytes
//! and therefore bounds its output by a size that the caller has checked, and answers damage with an [`Error`].
//!
//! One folder per family, each with its `encode` and `decode` side by side.

pub mod compress;
pub mod crc;
mod error;
#[cfg(feature = "fsst")]
pub mod fsst;
pub mod intblock;
pub mod intpack;
pub mod varint;

pub use error::{Error, Result};
