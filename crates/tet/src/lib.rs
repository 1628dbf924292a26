//! The `.tet` tensor container: read, write, verify, repair.
//!
//! A file is a superblock, a directory of named tensors, one index of all their chunks, the chunks themselves, and
//! optionally a footer with history, metadata and zone maps. Each dataset appears as a table (its axes, then `value`)
//! and as an array. `docs/formats/tet.md` describes the bytes.
//!
//! This crate must not know any other format, and must not start threads: plans are run by a [`Driver`](tesselle_core::Driver).
#![forbid(unsafe_code)]

mod container;
mod describe;
mod format;
mod layout;
mod meta;
mod notes;
mod open;
mod read;
mod repair;
mod rewrite;
mod verify;
mod write;

pub use container::File;
pub use format::Tet;
pub use meta::footer::HistoryRow;
pub use meta::index::{Codec, MemoryBudget};
pub use meta::metadata::{AxisLabels, DatasetMetadata, FileMetadata, Metadata};
pub use rewrite::{FooterChange, RewriteOptions, rewrite};
pub use write::{
    Alignment, DatasetSpec, Footer, FooterSpec, WriteOptions, Writer, WriterOptions, default_chunk_shape,
    extend, remove, rename, write_array,
};
