//! Bit streams, most significant bit first: fields of any width, and runs of integers of one width.

mod packed;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use packed::extend_unpacked;
pub use packed::{pack, packed_len, unpack};
pub use reader::BitReader;
pub use writer::BitWriter;
