//! The `Format` implementation for the registry.

use std::sync::Arc;

use tesselle_core::storage::EntryKind;
use tesselle_core::{
    AppendRequest, Capabilities, Confidence, Container, Created, Driver, Folder, FolderKind, Format,
    FormatFacts, Location, OpenOptions, Probe, RepairRequest, Repaired, Result, RewriteRequest, Rewritten,
    Settings, Summary, WriteRequest,
};

use crate::container::TsContainer;
use crate::meta::Version;
use crate::meta::version::MAGIC;
use crate::open::Archive;
use crate::repair;
use crate::rewrite;
use crate::write;

/// The name of the format.
pub(crate) const NAME: &str = "tsfile";

/// TsFile: files of every version, and data directories.
#[derive(Debug, Clone, Copy, Default)]
pub struct TsFile;

static FACTS: FormatFacts = FormatFacts {
    name: NAME,
    title: "TsFile",
    summary: "Apache TsFile and IoTDB data directories: time series of devices",
    extensions: &["tsfile"],
    magic: &[MAGIC],
    capabilities: {
        let mut capabilities = Capabilities::ROWS;
        capabilities.verifies = true;
        capabilities
    },
};

impl Format for TsFile {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn sniff(&self, probe: &Probe) -> Confidence {
        let Some(entries) = &probe.entries else { return self.facts().sniff_file(probe) };
        let has = |name: &str| entries.iter().any(|e| e == name);
        let files = entries.iter().any(|e| e.ends_with(".tsfile"));
        if has("sequence") || has("unsequence") || files { Confidence::Content } else { Confidence::No }
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(TsContainer::new(Archive::open(location, options)?)))
    }

    fn folder(&self, folder: &Folder<'_>) -> FolderKind {
        if folder.has("sequence") || folder.has("unsequence") {
            return FolderKind::Container;
        }
        // A folder of TsFiles and their side files is one data directory; next to other containers each file
        // is its own.
        let stranger = folder.entries.iter().any(|entry| match entry.kind {
            EntryKind::Folder => true,
            EntryKind::Other => false,
            EntryKind::File => !entry.name.contains(".tsfile") && (folder.is_known)(&entry.name),
        });
        if stranger { FolderKind::Place } else { FolderKind::Container }
    }

    fn start(&self, request: WriteRequest, driver: &Driver) -> Result<Created> {
        write::start(request, driver)
    }

    fn rewrite(&self, request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
        rewrite::rewrite(request, driver)
    }

    fn newest(&self) -> Option<Settings> {
        let mut settings = Settings::default();
        settings.set("version", Version::V4.name());
        Some(settings)
    }

    fn append(&self, request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
        write::append(request, driver)
    }

    fn repair(&self, request: RepairRequest<'_>, driver: &Driver) -> Result<Repaired> {
        repair::repair(request, driver)
    }
}
