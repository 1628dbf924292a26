//! The `.tet` tensor container: read, write, verify, repair.
//!
//! A file is a superblock, a directory of named tensors, one index of all their tiles, the tiles themselves, and
//! optionally a footer with history, metadata and zone maps. Each dataset appears as a table (its axes, then `value`)
//! and as an array. `docs/formats/tet.md` has the bytes.
//!
//! This crate must not know any other format, nor threads of its own: plans are run by a
//! [`Driver`].
#![forbid(unsafe_code)]

mod layout;
mod meta;
mod read;
mod repair;
mod statistics;
mod verify;
mod write;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tesselle_core::{
    ArrayView, Confidence, Container, Driver, Format, Location, OpenOptions, Probe, Repaired, Result,
    Rewritten, Sink, Summary, WriteOptions,
};

#[doc(hidden)]
pub use meta::footer::HistoryRow;
pub use meta::index::{Codec, MemoryBudget};
pub use meta::metadata::{AxisLabels, DatasetMetadata, FileMetadata, Metadata};
pub use read::File;
pub use write::{
    Alignment, DatasetSpec, FooterChange, FooterSpec, RewriteOptions, Writer, WriterOptions,
    default_chunk_shape, rewrite, write_array,
};

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tet;

impl Format for Tet {
    fn name(&self) -> &'static str {
        "tet"
    }

    fn summary(&self) -> &'static str {
        "tensors in tiles, raw or zstd, with one chunk index (.tet)"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["tet"]
    }

    fn sniff(&self, probe: &Probe) -> Confidence {
        if probe.entries.is_some() {
            Confidence::No
        } else if probe.head.starts_with(&meta::superblock::MAGIC) {
            Confidence::Content
        } else if probe.has_extension("tet") {
            Confidence::Name
        } else {
            Confidence::No
        }
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(File::open(location, options)?))
    }
    fn create(
        &self,
        location: &Location,
        schema: SchemaRef,
        options: &WriteOptions,
        driver: &Driver,
    ) -> Result<Box<dyn Sink>> {
        Ok(Box::new(write::TetSink::new(location, &schema, options, driver)?))
    }

    fn create_from_array(
        &self,
        location: &Location,
        source: &dyn ArrayView,
        options: &WriteOptions,
        driver: &Driver,
    ) -> Result<Summary> {
        write::create_from_array(location, source, options, driver)
    }

    fn takes_arrays(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        source: &Location,
        target: &Location,
        open: &OpenOptions,
        write: &WriteOptions,
        driver: &Driver,
    ) -> Result<Option<Rewritten>> {
        write::rewrite_with(source, target, open, write, driver)
    }

    fn repair(
        &self,
        source: &Location,
        target: &Location,
        options: &OpenOptions,
        driver: &Driver,
    ) -> Result<Repaired> {
        repair::repair(source, target, options, driver)
    }
}
