//! Writing files of every version: points in, pages, chunk groups and metadata out.
//!
//! ```text
//! Sink (Arrow) -> Writer -> DeviceBuffer -> page (encoded in parallel) -> chunk -> Output -> Tail
//! ```
//!
//! Rows that fill a page are encoded immediately, zero-copy from the caller's buffers; the others are
//! buffered. When `group_bytes` have been collected, the pages of each device are written as one chunk group.
//! Rows to be sorted pass through temporary files if they do not fit into memory. The data for the index at the end stays in memory.
//!
//! # Settings
//!
//! Settings by name:
//!
//! | name | value | default |
//! |---|---|---|
//! | `version` | `4`, `3`, `2` (000002), `1` (000001), `0.8` | `4` |
//! | `device` | the device of all rows | the table's name, else `root.data` |
//! | `device_column` | the column that names the device of each row | |
//! | `model` | `tree` or `table` (version 4) | `tree`, with `tags` `table` |
//! | `tags` | columns that identify the devices of a table | none |
//! | `time` | the time column, or `@row` for row numbers | `time`, else the only timestamp |
//! | `aligned` | `true`: the series of a device share their times (versions 3 and 4) | `true`; `false` for
//! rows of separate series |
//! | `encoding` | for every column whose type it supports | by type, see [`Encoding::default_for`] |
//! | `encodings` | `column:NAME,column:NAME` | |
//! | `compression`, `compressions` | the same for compressors | LZ4, before 000002 SNAPPY |
//! | `decimals` | round floats to this many decimals in RLE and TS_2DIFF | as many as preserve every value |
//! | `time_encoding` | TS_2DIFF, PLAIN, RLE, REGULAR | TS_2DIFF, which readers expect |
//! | `order` | `refuse` or `sort` points out of time order | `refuse` |
//! | `page_points`, `page_bytes` | maximum of a column in a page; sizes may have a unit, as in `64KiB` | 10000, 256 KiB |
//! | `group_bytes` | bytes collected before a flush | 64 MiB |
//! | `degree` | entries of an index node | 256, in 000002 1024 |
//!
//! Rows with the columns `device`, `measurement`, `time` and one non-null value column are points of many
//! series (the table `*` of a file has that form).
//!
//! [`Encoding::default_for`]: crate::meta::Encoding::default_for

mod append;
pub(crate) mod buffer;
mod chunk;
mod encode;
#[cfg(test)]
mod golden;
mod labels;
pub(crate) mod options;
pub(crate) mod output;
mod page;
mod resume;
pub(crate) mod schema;
mod sink;
mod sort;
pub(crate) mod statistics;
pub(crate) mod tail;
#[cfg(test)]
mod tests;
mod typed;
pub(crate) mod values;
mod writer;
mod writer_options;

pub(crate) use append::append;
pub use buffer::Column;
pub(crate) use sink::start;
pub use typed::WriteOptions;
pub use values::{Strings, Values};
pub use writer::Writer;
pub use writer_options::{Order, WriterOptions};
