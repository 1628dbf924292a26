//! The `Format` implementation.

use std::sync::Arc;

use tesselle_core::storage::{Entry, EntryKind};
use tesselle_core::{
    AppendRequest, ArrayRequest, ArraysRequest, Capabilities, Confidence, Container, Context, Created,
    Driver, Error, Folder, FolderKind, Format, FormatFacts, Location, OpenOptions, Probe, RepairRequest,
    Repaired, Result, RewriteRequest, Rewritten, Settings, Summary, WriteRequest, Written,
};

use crate::{container, directory, group, is_group, repair, rewrite, write};

/// The name of the format.
pub const NAME: &str = "tiledb";

/// The TileDB format.
#[derive(Debug, Clone, Copy, Default)]
pub struct TileDb;

static FACTS: FormatFacts = FormatFacts {
    name: NAME,
    title: "TileDB",
    summary: "TileDB arrays and groups, dense and sparse, format versions 1 to 23",
    extensions: &["tiledb", "tdb"],
    magic: &[],
    capabilities: {
        let mut capabilities = Capabilities::ARRAYS;
        capabilities.encrypts = true;
        capabilities.several_arrays = true;
        capabilities.keeps_history = true;
        capabilities.rows_keep_more = true;
        capabilities.verifies = true;
        capabilities
    },
};

impl Format for TileDb {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn sniff(&self, probe: &Probe) -> Confidence {
        let Some(entries) = &probe.entries else { return Confidence::No };
        let has = |name: &str| entries.iter().any(|entry| entry == name);
        let marks = ["__schema", directory::OLD_SCHEMA, group::MARKER, "__group", "__fragments", "__commits"];
        if marks.into_iter().any(has) {
            Confidence::Content
        } else if probe.has_extension("tiledb") || probe.has_extension("tdb") {
            Confidence::Name
        } else {
            Confidence::No
        }
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        let opened = if is_group(location)? {
            group::Group::open(location, options).map(|group| Arc::new(group) as Arc<dyn Container>)
        } else {
            container::open_array(location, options)
        };
        opened.in_file(location.path())
    }

    fn folder(&self, folder: &Folder<'_>) -> FolderKind {
        if folder.has("__group") && !folder.has("__schema") {
            return FolderKind::Group;
        }
        // A name alone identifies only an empty or damaged array.
        let inner = |entry: &Entry| entry.kind == EntryKind::Folder && !entry.name.starts_with("__");
        let named = folder.confidence == Confidence::Name && folder.entries.iter().any(inner);
        if named { FolderKind::Place } else { FolderKind::Container }
    }

    fn start(&self, request: WriteRequest, driver: &Driver) -> Result<Created> {
        write::sink::start(request, driver)
    }

    fn write_array(&self, request: ArrayRequest<'_>, driver: &Driver) -> Result<Written> {
        write::sink::write_array(request, driver)
    }

    fn write_arrays(&self, request: ArraysRequest<'_>, driver: &Driver) -> Result<Written> {
        write::sink::write_arrays(&request, driver)
    }

    fn append(&self, request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
        write::append(request, driver)
    }

    fn repair(&self, request: RepairRequest<'_>, driver: &Driver) -> Result<Repaired> {
        if is_group(request.source)? {
            return Err(
                Error::unsupported("a group contains no data itself").hint("repair its member arrays")
            );
        }
        repair::repair(request, driver)
    }

    fn rewrite(&self, request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
        rewrite::rewrite(request, driver)
    }

    fn newest(&self) -> Option<Settings> {
        Some(rewrite::newest())
    }
}
