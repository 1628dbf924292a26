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
mod notes;
mod read;
mod repair;
mod statistics;
mod verify;
mod write;

use std::sync::Arc;

#[doc(hidden)]
pub use meta::footer::HistoryRow;
pub use meta::index::{Codec, MemoryBudget};
pub use meta::metadata::{AxisLabels, DatasetMetadata, FileMetadata, Metadata};
pub use read::File;
use tesselle_core::{
    ArrayRequest, Capabilities, Confidence, Container, Created, Driver, Format, Location, OpenOptions, Probe,
    Repaired, Result, Rewritten, WriteOptions, WriteRequest, Written,
};
pub use write::{
    Alignment, DatasetSpec, FooterChange, FooterSpec, RewriteOptions, Writer, WriterOptions,
    default_chunk_shape, extend, remove, rename, rewrite, write_array,
};

/// The name of the format.
pub(crate) const NAME: &str = "tet";

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tet;

impl Format for Tet {
    fn name(&self) -> &'static str {
        NAME
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

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::ARRAYS;
        capabilities.joins_tables = true;
        capabilities.verifies = true;
        capabilities
    }

    fn start(&self, request: WriteRequest, driver: &Driver) -> Result<Created> {
        write::start(request, driver)
    }

    fn write_array(&self, request: ArrayRequest<'_>, driver: &Driver) -> Result<Written> {
        write::from_array(request, driver)
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
