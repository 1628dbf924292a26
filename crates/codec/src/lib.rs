//! Bit-exact kernels of chunked data files.
//!
//! Slices in, buffers out: no I/O, no Arrow, no knowledge of any container. Every decoder accepts untrusted
//! bytes: it bounds its output by a size that the caller has checked and returns an [`Error`] for damaged
//! input.
//!
//! One folder per encoding family, with `encode` and `decode` side by side.
#![forbid(unsafe_code)]

pub mod bitmap;
pub mod bitstream;
pub mod blosc;
pub mod camel;
pub mod chimp;
#[cfg(feature = "cipher")]
pub mod cipher;
pub mod compress;
pub mod crc;
pub mod decimal;
pub mod delta_binary;
pub mod dictionary;
pub mod difference;
#[cfg(feature = "digest")]
pub mod digest;
mod error;
pub mod freq;
#[cfg(feature = "fsst")]
pub mod fsst;
pub mod gorilla;
mod int;
pub mod intblock;
pub mod intpack;
pub mod plain;
pub mod regular;
pub mod rlbe;
pub mod rle_hybrid;
pub mod runs;
pub mod scale;
pub mod shuffle;
pub mod sprintz;
pub mod strings;
pub mod varint;
#[cfg(feature = "webp")]
pub mod webp;
pub mod window;
mod within;
pub mod word;
pub mod zigzag;

pub use error::{Error, Result};
pub use int::IntKind;
pub use within::Within;
