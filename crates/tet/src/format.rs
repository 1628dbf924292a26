//! The `Format` implementation.

use std::sync::Arc;

use tesselle_core::{
    AppendRequest, ArrayRequest, ArraysRequest, Capabilities, Container, Created, Driver, Format,
    FormatFacts, Location, OpenOptions, RepairRequest, Repaired, Result, RewriteRequest, Rewritten, Settings,
    Summary, WriteRequest, Written,
};

use crate::container::File;
use crate::{meta, repair, rewrite, write};

/// The name of the format.
pub(crate) const NAME: &str = "tet";

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tet;

static FACTS: FormatFacts = FormatFacts {
    name: NAME,
    title: NAME,
    summary: "tensors in chunks, raw or zstd, with one chunk index (.tet)",
    extensions: &["tet"],
    magic: &[&meta::superblock::MAGIC],
    capabilities: {
        let mut capabilities = Capabilities::ARRAYS;
        capabilities.joins_tables = true;
        capabilities.several_arrays = true;
        capabilities.verifies = true;
        capabilities.fills_lost = true;
        capabilities
    },
};

impl Format for Tet {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(File::open(location, options)?))
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

    fn rewrite(&self, request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
        rewrite::rewrite_with(request, driver)
    }

    fn newest(&self) -> Option<Settings> {
        let mut settings = Settings::default();
        settings.set("footer", "v2");
        Some(settings)
    }

    fn append(&self, request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
        write::append(&request, driver)
    }

    fn repair(&self, request: RepairRequest<'_>, driver: &Driver) -> Result<Repaired> {
        repair::repair(request, driver)
    }
}
