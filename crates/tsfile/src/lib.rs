//! TsFile: time series of devices, in the five file versions that Apache IoTDB and Apache TsFile have written
//! since 0.8.
//!
//! [`TsFile`] opens a file or a data directory as a container. Each device is a table: `time`, then its
//! measurements, joined on time. The table `*` has one row per point of the whole container. Files of the
//! table model (version 4) have tables with tag columns. Deletions stored next to a file are applied; of two
//! points of a series at the same time the later one wins.
//!
//! ```text
//! meta/    on-disk structures, parse and write side by side           legacy/  0.8 and 000001, without an
//! index tree
//! read/    file -> assemble -> plan -> task -> source -> join -> batches
//! write/   rows -> pages -> chunk groups -> tail
//! rewrite/ rewrite of a whole archive into another file
//! walk     the data section front to back: layout, verify, repair, tools
//! ```
//!
//! ```no_run
//! use tesselle_core::{Format, Location, OpenOptions};
//!
//! let container = tesselle_tsfile::TsFile.open(&Location::local("plant.tsfile")?, &OpenOptions::default())?;
//! for name in container.table_names() {
//!     let table = container.table(&name)?;
//!     assert_eq!(table.schema().field(0).name(), "time");
//! }
//! # Ok::<(), tesselle_core::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod aggregate;
mod container;
mod describe;
mod format;
mod layout;
mod legacy;
mod meta;
mod open;
pub mod original;
mod points;
mod read;
mod records;
mod repair;
mod rewrite;
mod table;
#[doc(hidden)]
pub mod testing;
pub mod tools;
pub mod upkeep;
mod verify;
pub mod write;

pub use format::TsFile;
pub use meta::schema::{Category, MeasurementSchema, Properties, TableSchema};
pub use meta::{Compression, DataType, DeviceId, Encoding, Physical, Sum, Value, Version};
pub use write::WriteOptions;
