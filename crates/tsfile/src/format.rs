//! The `Format` implementation for the registry.

use std::sync::Arc;

use tesselle_core::storage::EntryKind;
use tesselle_core::{
    AppendRequest, Capabilities, Confidence, Container, Created, Driver, Folder, FolderKind, Format,
    Location, OpenOptions, Probe, Repaired, Result, Rewritten, Settings, Summary, WriteOptions, WriteRequest,
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

impl Format for TsFile {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "TsFile"
    }

    fn summary(&self) -> &'static str {
        "Apache TsFile and IoTDB data directories: time series of devices"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["tsfile"]
    }

    fn sniff(&self, probe: &Probe) -> Confidence {
        if let Some(entries) = &probe.entries {
            let has = |name: &str| entries.iter().any(|e| e == name);
            let files = entries.iter().any(|e| e.ends_with(".tsfile"));
            return if has("sequence") || has("unsequence") || files {
                Confidence::Content
            } else {
                Confidence::No
            };
        }
        if probe.head.starts_with(MAGIC) {
            Confidence::Content
        } else if probe.has_extension("tsfile") {
            Confidence::Name
        } else {
            Confidence::No
        }
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        Ok(Arc::new(TsContainer::new(Archive::open(location, options)?)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::ROWS;
        capabilities.verifies = true;
        capabilities
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

    fn rewrite(
        &self,
        source: &Location,
        target: &Location,
        open: &OpenOptions,
        write: &WriteOptions,
        driver: &Driver,
    ) -> Result<Option<Rewritten>> {
        rewrite::rewrite(source, target, open, write, driver)
    }

    fn newest(&self) -> Option<Settings> {
        let mut settings = Settings::default();
        settings.set("version", Version::V4.name());
        Some(settings)
    }

    fn append(&self, request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
        write::append(request, driver)
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
