//! Other file formats of the registry: Arrow IPC, Parquet, CSV, JSON lines, npy, Zarr.

mod arrow;
mod container;
mod csv;
pub(crate) mod grid;
mod jsonl;
mod noted;
mod npy;
mod parquet;
mod text;
mod writer;
mod zarr;

pub use arrow::ArrowIpc;
use arrow_schema::{DataType, Field, Schema};
pub use csv::{Csv, Tsv};
pub use jsonl::JsonLines;
pub use npy::Npy;
pub use parquet::Parquet;
use tesselle_core::{Action, Confidence, Error, Format, Probe, Result, Scan};
pub use zarr::Zarr;

/// Detects a file of `format` by its first bytes, else by its name.
fn sniff(format: &dyn Format, probe: &Probe, magic: &[&[u8]]) -> Confidence {
    if probe.entries.is_some() {
        Confidence::No
    } else if magic.iter().any(|magic| probe.head.starts_with(magic)) {
        Confidence::Content
    } else if format.extensions().iter().any(|extension| probe.has_extension(extension)) {
        Confidence::Name
    } else {
        Confidence::No
    }
}

/// Fails on a selection of a table that is not an array.
fn no_axes(scan: &Scan) -> Result<()> {
    match scan.selection {
        Some(_) => Err(Error::invalid("slices apply to arrays, but this table is not an array")
            .suggest("use {} instead", [Action::Filter])),
        None => Ok(()),
    }
}

/// A schema with the given types.
fn with_types(schema: &Schema, types: &[(String, DataType)]) -> Result<Schema> {
    let known = || schema.fields().iter().map(|field| field.name().as_str());
    if let Some((name, _)) = types.iter().find(|(name, _)| schema.index_of(name).is_err()) {
        return Err(Error::unknown_name("column", name, known()));
    }
    let typed = |field: &Field| {
        let own = types.iter().find(|(name, _)| name == field.name());
        own.map_or_else(|| field.clone(), |(name, kind)| Field::new(name, kind.clone(), true))
    };
    Ok(Schema::new(schema.fields().iter().map(|field| typed(field)).collect::<Vec<Field>>()))
}
