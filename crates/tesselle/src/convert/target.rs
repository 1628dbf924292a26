//! Where rows go: a format of this engine, or a foreign file.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use serde_json::{Map, Value};
use tesselle_core::{
    ArrayView, Driver, Error, Format, Location, Region, Result, Sink, Summary, WriteOptions,
};

use crate::foreign::{Foreign, IpcKind, npy, zarr};
use crate::registry;

/// What is written: a format of this engine, or a foreign file.
#[derive(Clone, Copy)]
pub enum Target {
    /// A format of this engine.
    Format(&'static dyn Format),
    /// A foreign file.
    Foreign(Foreign),
}

impl Target {
    /// The format of that name; without one, the format that the name of the file tells.
    pub fn choose(name: Option<&str>, file: &str) -> Result<Self> {
        if let Some(name) = name {
            return match Foreign::from_name(name) {
                Some(kind) => Ok(Self::Foreign(kind)),
                None => registry::format_by_name(name).map(Self::Format),
            };
        }
        if let Some(format) = registry::format_by_extension(file) {
            return Ok(Self::Format(format));
        }
        Foreign::from_extension(file)
            .map(Self::Foreign)
            .ok_or_else(|| Error::invalid(format!("the name '{file}' does not tell the format to write")))
    }

    /// The name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Format(format) => format.name(),
            Self::Foreign(kind) => kind.name(),
        }
    }

    /// The ending of a file of this kind.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Format(format) => format.extensions().first().copied().unwrap_or(format.name()),
            Self::Foreign(kind) => kind.name(),
        }
    }

    pub(super) fn takes_arrays(self) -> bool {
        match self {
            Self::Format(format) => format.takes_arrays(),
            Self::Foreign(kind) => matches!(kind, Foreign::Npy | Foreign::Zarr),
        }
    }

    pub(super) fn write_array(
        self,
        target: &Location,
        array: &dyn ArrayView,
        note: &BTreeMap<String, String>,
        options: &WriteOptions,
        driver: &Driver,
    ) -> Result<Summary> {
        match self {
            Self::Format(format) => format.create_from_array(target, array, options, driver),
            Self::Foreign(Foreign::Zarr) => {
                zarr::write_array(target, array, &attributes(note), options, driver)
            }
            Self::Foreign(_) => {
                options.settings.expect_only(&[])?;
                let whole = Region::whole(array.shape());
                npy::write_array(array, &whole, target.create(options.overwrite)?, driver)
            }
        }
    }

    /// A sink for these columns. Nothing is visible at the location before it is finished.
    pub fn create(
        self,
        location: &Location,
        schema: &SchemaRef,
        options: &WriteOptions,
        driver: &Driver,
    ) -> Result<Box<dyn Sink>> {
        self.sink(location, schema, &BTreeMap::new(), options, driver)
    }

    /// Like [`Target::create`]. What `note` says travels in the schema of files that keep one.
    pub(super) fn sink(
        self,
        target: &Location,
        schema: &SchemaRef,
        note: &BTreeMap<String, String>,
        options: &WriteOptions,
        driver: &Driver,
    ) -> Result<Box<dyn Sink>> {
        match self {
            Self::Format(format) => format.create(target, Arc::clone(schema), options, driver),
            Self::Foreign(Foreign::Zarr) => zarr::sink(target, schema, &attributes(note), options, driver),
            Self::Foreign(kind) => {
                options.settings.expect_only(&[])?;
                let staged = target.create(options.overwrite)?;
                if !matches!(kind, Foreign::Arrow | Foreign::Parquet) {
                    return kind.sink(staged, schema, IpcKind::File);
                }
                let mut metadata = schema.metadata().clone();
                metadata.extend(note.clone());
                let noted = Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata));
                let inner = kind.sink_on(staged, &noted, IpcKind::File, Some(driver))?;
                Ok(Box::new(Noted { inner, schema: noted }))
            }
        }
    }
}

/// What a note says, as JSON again.
fn attributes(note: &BTreeMap<String, String>) -> Map<String, Value> {
    let parsed = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
    note.iter().map(|(name, text)| (name.clone(), parsed(text))).collect()
}

/// Hands batches on under a schema with more metadata.
struct Noted {
    inner: Box<dyn Sink>,
    schema: SchemaRef,
}

impl Sink for Noted {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = batch.clone().with_schema(Arc::clone(&self.schema))?;
        self.inner.write(&batch)
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        self.inner.finish()
    }
}
