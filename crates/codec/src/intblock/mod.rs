//! Small blocks of unsigned 32-bit integers, as inverted lists store them, decoded into the caller's array.
//!
//! The layouts are those of [`crate::intpack`], which also writes them: plain bit-packing ([`unpack`]), group
//! varints ([`decode_groups`]) and patched packing ([`decode_patched`]). The use differs: at most 128 values
//! at a time, thousands of blocks per query, no allocation, and a decoder returns where its block ends,
//! because another block follows without a length.

mod groups;
mod packed;
mod patched;
#[cfg(test)]
mod tests;

pub use groups::decode_groups;
pub use packed::unpack;
pub use patched::decode_patched;

/// Values in a full block.
pub const BLOCK: usize = 128;
