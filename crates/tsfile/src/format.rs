//! The format as the registry knows it.

use crate::archive::Archive;
use crate::container::TsContainer;
use crate::meta::version::MAGIC;
use crate::repair;
use crate::rewrite;
use crate::write;
use arrow_schema::SchemaRef;
use std::sync::Arc;
use tesselle_core::{
    Confidence, Container, Driver, Format, Location, OpenOptions, Probe, Repaired, Result, Rewritten, Sink,
    WriteOptions,
};

/// TsFile: files of every version, and data directories of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct TsFile;

impl Format for TsFile {
    fn name(&self) -> &'static str {
        "tsfile"
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

    fn create(
        &self,
        location: &Location,
        schema: SchemaRef,
        options: &WriteOptions,
        driver: &Driver,
    ) -> Result<Box<dyn Sink>> {
        write::create(location, &schema, options, driver)
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
