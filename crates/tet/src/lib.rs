//! The `.tet` tensor container: read, write, verify, repair.
//!
//! A file is a superblock, a directory of named tensors, one index of all their tiles, the tiles themselves, and
//! optionally a footer with history, metadata and zone maps. Each dataset appears as a table (its axes, then `value`)
//! and as an array. `FORMAT.md` beside this crate has the bytes.
//!
//! This crate must not know any other format, nor threads of its own: plans are run by a
//! [`Driver`](tesselle_core::Driver).
#![forbid(unsafe_code)]

mod layout;
mod meta;
mod read;
mod statistics;
mod verify;

use std::sync::Arc;

use tesselle_core::{Confidence, Container, Format, Location, OpenOptions, Probe, Result};

pub use meta::footer::HistoryRow;
pub use meta::index::{Codec, MemoryBudget};
pub use meta::metadata::{AxisLabels, DatasetMetadata, FileMetadata, Metadata};
pub use read::File;

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
}
