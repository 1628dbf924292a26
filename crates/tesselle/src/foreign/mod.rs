//! Other file formats of the registry: Arrow IPC, Parquet, CSV, JSON lines, npy, Zarr.

#[cfg(feature = "arrow-ipc")]
mod arrow;
#[cfg(any(feature = "arrow-ipc", feature = "parquet", feature = "text", feature = "zarr"))]
mod container;
#[cfg(feature = "text")]
mod csv;
#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
mod guard;
#[cfg(feature = "text")]
mod jsonl;
#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
mod noted;
#[cfg(feature = "zarr")]
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "text")]
mod text;
#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
mod writer;
#[cfg(feature = "zarr")]
mod zarr;

#[cfg(feature = "arrow-ipc")]
pub use arrow::ArrowIpc;
#[cfg(feature = "text")]
use arrow_schema::{DataType, Field, Schema};
#[cfg(feature = "text")]
pub use csv::{Csv, Tsv};
#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
pub use guard::silence_reader_panics;
#[cfg(feature = "text")]
pub(crate) use jsonl::JSON_ARRAY;
#[cfg(feature = "text")]
pub use jsonl::JsonLines;
#[cfg(feature = "zarr")]
pub use npy::Npy;
#[cfg(feature = "parquet")]
pub use parquet::Parquet;
#[cfg(any(feature = "arrow-ipc", feature = "parquet", feature = "text"))]
use tesselle_core::{Action, Error, Result, Scan};
#[cfg(feature = "zarr")]
pub use zarr::{Zarr, ZarrCodec, ZarrOptions};

/// Fails on a selection of a table that is not an array.
#[cfg(any(feature = "arrow-ipc", feature = "parquet", feature = "text"))]
fn no_axes(scan: &Scan) -> Result<()> {
    match scan.selection {
        Some(_) => Err(Error::invalid("slices apply to arrays, but this table is not an array")
            .suggest("use {} instead", [Action::Filter])),
        None => Ok(()),
    }
}

/// A schema with the given types.
#[cfg(feature = "text")]
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
