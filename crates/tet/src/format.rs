//! The `Format` implementation.

use std::sync::Arc;

use tesselle_core::{
    AppendRequest, ArrayRequest, ArraysRequest, Capabilities, Confidence, Container, Created, Driver, Format,
    Location, OpenOptions, Probe, Repaired, Result, Rewritten, Settings, Summary, WriteOptions, WriteRequest,
    Written,
};

use crate::container::File;
use crate::{meta, repair, rewrite, write};

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
        "tensors in chunks, raw or zstd, with one chunk index (.tet)"
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
        capabilities.several_arrays = true;
        capabilities.verifies = true;
        capabilities.fills_lost = true;
        capabilities
    }

    fn start(&self, request: WriteRequest, driver: &Driver) -> Result<Created> {
        write::start(request, driver)
    }

    fn write_array(&self, request: ArrayRequest<'_>, driver: &Driver) -> Result<Written> {
        write::from_array(request, driver)
    }

    fn write_arrays(&self, request: ArraysRequest<'_>, driver: &Driver) -> Result<Written> {
        write::from_arrays(request, driver)
    }

    fn rewrite(
        &self,
        source: &Location,
        target: &Location,
        open: &OpenOptions,
        write: &WriteOptions,
        driver: &Driver,
    ) -> Result<Option<Rewritten>> {
        rewrite::rewrite_with(source, target, open, write, driver)
    }

    fn newest(&self) -> Option<Settings> {
        let mut settings = Settings::default();
        settings.set("footer", "v2");
        Some(settings)
    }

    fn append(&self, request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
        write::append(&request, driver)
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
