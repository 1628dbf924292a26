//! Writing files of every version: points in, pages, chunk groups and metadata out.
//!
//! ```text
//! Sink (Arrow) -> Writer -> DeviceBuffer -> page (encoded in parallel) -> chunk -> Output -> Tail
//! ```
//!
//! Rows that fill a page are encoded at once, straight from the caller's buffers; the others wait for more. When
//! `group_bytes` have come in, the pages of each device go out as one chunk group. Points that are to be sorted wait
//! for that moment as they are. What the index at the end needs stays in memory.
//!
//! # Settings
//!
//! Rows are written with these, by name:
//!
//! | name | value | without it |
//! |---|---|---|
//! | `version` | `4`, `3`, `2` (000002), `1` (000001), `0.8` | `4` |
//! | `device` | the device of all rows | the table's name, else `root.data` |
//! | `device_column` | the column that names the device of each row | |
//! | `model` | `tree` or `table` (version 4) | `tree`, with `tags` `table` |
//! | `tags` | columns that tell the devices of a table apart | none |
//! | `time` | the time column, or `@row` to number the rows | `time`, else the only timestamp |
//! | `aligned` | `true`: the series of a device share their times (versions 3 and 4) | `true`, for rows that were separate series `false` |
//! | `encoding` | for every column whose type it can hold | by type, see [`Encoding::default_for`] |
//! | `encodings` | `column:NAME,column:NAME` | |
//! | `compression`, `compressions` | the same for compressors | LZ4, before 000002 SNAPPY |
//! | `decimals` | round floats to so many decimals in RLE and TS_2DIFF | as many as keep every value |
//! | `time_encoding` | TS_2DIFF, PLAIN, RLE, REGULAR | TS_2DIFF, which readers expect |
//! | `order` | `refuse` or `sort` points that are not in order of time | `refuse` |
//! | `page_points`, `page_bytes` | most of a column in a page | 10000, 256 KiB |
//! | `group_bytes` | what is gathered before a flush | 64 MiB |
//! | `degree` | entries of an index node | 256, in 000002 1024 |
//!
//! Rows with the columns `device`, `measurement`, `time` and values of which one is filled are points of many series
//! (the table `*` of a file has that form).
//!
//! [`Encoding::default_for`]: crate::meta::Encoding::default_for

pub(crate) mod buffer;
mod chunk;
mod encode;
#[cfg(test)]
mod golden;
mod labels;
mod options;
pub(crate) mod output;
mod page;
pub(crate) mod schema;
pub(crate) mod settings;
mod sink;
pub(crate) mod statistics;
pub(crate) mod tail;
#[cfg(test)]
mod tests;
mod typed;
pub(crate) mod values;
mod writer;

pub use buffer::Column;
pub use options::{Order, WriterOptions};
pub(crate) use sink::start;
pub use typed::WriteOptions;
pub use values::{Strings, Values};
pub use writer::Writer;
