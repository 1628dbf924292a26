//! Small blocks of unsigned 32-bit integers, as inverted lists store them.
//!
//! Three layouts, all least significant bit first:
//!
//! * [`unpack`]/[`pack`]: every value in `width` bits, without padding between values;
//! * [`decode_groups`]/[`encode_groups`]: four values behind a control byte with their byte lengths;
//! * [`decode_patched`]/[`encode_patched`]: packed low bits plus a list of exceptions with their full value.
//!
//! The number of values is never stored; it is the length of the slice that the caller passes.

mod groups;
mod packed;
mod patched;
#[cfg(test)]
mod tests;

pub use groups::{decode_groups, encode_groups};
pub use packed::{pack, packed_len, unpack};
pub use patched::{decode_patched, encode_patched};

/// Values in a full block.
pub const BLOCK: usize = 128;

/// Bits that `value` needs, at least one.
pub const fn bits(value: u32) -> u32 {
    32 - (value | 1).leading_zeros()
}
