//! Compact forms of integer sequences, all built on one bit stream: lowest bit first, values back to back, the last
//! byte padded with zeros.
//!
//! Values are widened to 64 bits before they are encoded (sign-extended for signed types) and cut back to their own
//! width when decoded; sums wrap. The number of values is never stored: the caller knows it.
//!
//! | form | layout |
//! |---|---|
//! | [`frame`] | width, base, packed distances from the base |
//! | [`delta`] | first value, then [`frame`] over zig-zag differences |
//! | [`rle`] | width, then runs and literal groups after varint controls |
//! | [`group`] | one control byte per four values, each 1 to 4 bytes |
//! | [`pfor`] | width, listed exceptions, packed low bits |
//!
//! Every form has `encode`, `decode` and `encoded_len`; the last one lets a writer compare forms without
//! encoding them.

pub mod bits;
pub mod delta;
pub mod frame;
pub mod group;
mod int;
pub mod pfor;
pub mod rle;
#[cfg(test)]
mod tests;

pub use int::Int;
