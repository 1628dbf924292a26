//! Writing files of every version: points in, pages, chunk groups and metadata out.
//!
//! ```text
//! Sink (Arrow) -> Writer -> DeviceBuffer -> chunk (pages, encoded in parallel) -> Output -> Tail
//! ```
//!
//! Rows gather per device until `group_bytes` are there. Then every device's points are sorted if they have to be,
//! cut into pages, encoded and appended as one chunk group. What the index at the end needs stays in memory.

mod arrow;
mod buffer;
mod chunk;
mod encode;
#[cfg(test)]
mod golden;
mod options;
mod output;
mod settings;
mod sink;
mod statistics;
pub(crate) mod tail;
#[cfg(test)]
mod tests;
mod values;
mod writer;

pub use buffer::Column;
pub use options::{Order, WriterOptions};
pub use sink::create;
pub use values::{Strings, Values};
pub use writer::Writer;
