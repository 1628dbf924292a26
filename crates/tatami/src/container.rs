//! The format and its containers.

use std::sync::Arc;

use serde_json::Value;
use tesselle_core::{
    Capabilities, Confidence, Container, Created, Depth, Description, Driver, Error, Format, LayoutMap,
    Location, OpenOptions, Probe, Repaired, Report, Result, Rewritten, Table, WriteOptions, WriteRequest,
};

use crate::collection::{Collection, CollectionContainer, MANIFEST_MAGIC, MANIFEST_NAME};
use crate::layout::layout;
use crate::meta::header::MAGIC;
use crate::read::describe;
use crate::read::file::File;
use crate::read::table::FileTable;
use crate::repair::repair;
use crate::rewrite::rewrite;
use crate::search;
use crate::verify::verify;
use crate::write::start::start;

/// The name of the format.
pub(crate) const NAME: &str = "tatami";

/// The tatami format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tatami;

impl Format for Tatami {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "tatami column files, search segments and collections"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["tatami"]
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
        if probe.head.starts_with(&MAGIC) || (probe.size > 0 && probe.tail.ends_with(&MAGIC)) {
            return Confidence::Content;
        }
        if probe.has_extension("tatami") { Confidence::Name } else { Confidence::No }
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        let is_manifest =
            |name: &str| name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("manifest"));
        if location.is_dir()? || (is_manifest(location.name()) && location.exists()?) {
            return Ok(Arc::new(CollectionContainer::new(Collection::open(location, options)?)));
        }
        Ok(Arc::new(FileContainer { file: File::open(location, options)? }))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::ROWS;
        capabilities.verifies = true;
        capabilities
    }

    fn start(&self, request: WriteRequest, driver: &Driver) -> Result<Created> {
        start(request, driver)
    }

    fn rewrite(
        &self,
        source: &Location,
        target: &Location,
        open: &OpenOptions,
        write: &WriteOptions,
        driver: &Driver,
    ) -> Result<Option<Rewritten>> {
        rewrite(source, target, open, write, driver)
    }

    fn repair(
        &self,
        source: &Location,
        target: &Location,
        options: &OpenOptions,
        driver: &Driver,
    ) -> Result<Repaired> {
        if source.is_dir()? {
            return Err(
                Error::invalid("a collection is not repaired as a whole").hint("repair its files one by one")
            );
        }
        repair(source, target, options, driver)
    }
}

/// One file.
#[derive(Debug)]
struct FileContainer {
    file: File,
}

impl Container for FileContainer {
    fn describe(&self) -> Result<Description> {
        let mut out = describe::describe(&self.file);
        if let Some(search) = search::describe(&self.file)? {
            out.extra.insert("search".into(), search);
        }
        Ok(out)
    }

    fn table_names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        if name.is_empty() {
            return Ok(Arc::new(FileTable::new(self.file.clone())?));
        }
        Err(Error::not_found(format!("table '{name}' does not exist"))
            .hint("a tatami file has one table without a name"))
    }

    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Value>> {
        describe::chunks(&self.file, limit)
    }

    fn chunk_count(&self) -> Option<u64> {
        Some(self.file.footer().groups.iter().map(|g| g.chunks.len() as u64).sum())
    }

    fn layout(&self) -> Result<LayoutMap> {
        Ok(layout(&self.file))
    }

    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
        verify(&self.file, depth, driver, report)
    }
}
