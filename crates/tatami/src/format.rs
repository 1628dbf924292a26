//! The `Format` implementation for the registry.

use std::sync::Arc;

use tesselle_core::{
    AppendRequest, Capabilities, Confidence, Container, Created, Driver, Error, Format, FormatFacts,
    Location, OpenOptions, Probe, RepairRequest, Repaired, Result, RewriteRequest, Rewritten, Settings,
    Summary, WriteRequest,
};

use crate::collection::{Collection, CollectionContainer, MANIFEST_MAGIC, MANIFEST_NAME};
use crate::container::FileContainer;
use crate::meta::header::MAGIC;
use crate::open::File;
use crate::repair::repair;
use crate::rewrite::rewrite;
use crate::write::append::append;
use crate::write::start::start;

/// The name of the format.
pub(crate) const NAME: &str = "tatami";

/// The tatami format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tatami;

static FACTS: FormatFacts = FormatFacts {
    name: NAME,
    title: NAME,
    summary: "tatami column files, search segments and collections",
    extensions: &["tatami"],
    magic: &[&MAGIC],
    capabilities: {
        let mut capabilities = Capabilities::ROWS;
        capabilities.verifies = true;
        capabilities
    },
};

impl Format for Tatami {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn sniff(&self, probe: &Probe) -> Confidence {
        if let Some(entries) = &probe.entries {
            let there = entries.iter().any(|name| name == MANIFEST_NAME);
            return if there { Confidence::Content } else { Confidence::No };
        }
        if probe.head.starts_with(&MANIFEST_MAGIC) {
            return Confidence::Content;
        }
        if probe.has_extension("manifest") {
            return Confidence::Name;
        }
        if probe.size > 0 && probe.tail.ends_with(&MAGIC) {
            return Confidence::Content;
        }
        self.facts().sniff_file(probe)
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        let is_manifest =
            |name: &str| name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("manifest"));
        if location.is_dir()? || (is_manifest(location.name()) && location.exists()?) {
            return Ok(Arc::new(CollectionContainer::new(Collection::open(location, options)?)));
        }
        Ok(Arc::new(FileContainer { file: File::open(location, options)? }))
    }

    fn start(&self, request: WriteRequest, driver: &Driver) -> Result<Created> {
        start(request, driver)
    }

    fn rewrite(&self, request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
        rewrite(request, driver)
    }

    fn newest(&self) -> Option<Settings> {
        let mut settings = Settings::default();
        settings.set("version", "1.1");
        Some(settings)
    }

    fn append(&self, request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
        append(request, driver)
    }

    fn repair(&self, request: RepairRequest<'_>, driver: &Driver) -> Result<Repaired> {
        if request.source.is_dir()? {
            return Err(Error::invalid("a collection cannot be repaired as a whole")
                .hint("repair its files one by one"));
        }
        repair(request, driver)
    }
}
