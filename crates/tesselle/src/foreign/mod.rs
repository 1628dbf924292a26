//! Files of other worlds, in and out: Arrow IPC, Parquet, CSV, JSON lines, npy, Zarr.
//!
//! Each side is the seam the formats use as well: a [`Sink`] to write, batches (or an array face) to read.

pub(crate) mod csv;
pub(crate) mod grid;
pub(crate) mod ipc;
pub(crate) mod jsonl;
pub mod npy;
pub(crate) mod parquet;
mod reader;
pub(crate) mod text;
mod writer;
pub(crate) mod zarr;

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tesselle_core::storage::Staged;
use tesselle_core::{Driver, Error, Location, Result, Sink, Table};

pub use ipc::IpcKind;
use text::TextTable;

/// A foreign file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Foreign {
    /// Arrow IPC, file or stream.
    Arrow,
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a header line.
    Csv,
    /// One JSON object a line.
    Jsonl,
    /// NumPy's array file.
    Npy,
    /// Folders of Zarr, version 3.
    Zarr,
}

impl Foreign {
    /// All of them, with the name and the endings of their files.
    const ALL: [(Self, &'static str, &'static [&'static str]); 6] = [
        (Self::Arrow, "arrow", &["arrow", "feather", "ipc", "arrows"]),
        (Self::Parquet, "parquet", &["parquet", "pq"]),
        (Self::Csv, "csv", &["csv"]),
        (Self::Jsonl, "jsonl", &["jsonl", "ndjson"]),
        (Self::Npy, "npy", &["npy"]),
        (Self::Zarr, "zarr", &["zarr"]),
    ];

    /// The name used by `--to` and `--as`.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n, _)| *n == name).map(|(kind, ..)| *kind)
    }

    /// The format of a file name's ending.
    pub fn from_extension(name: &str) -> Option<Self> {
        let (_, end) = name.rsplit_once('.')?;
        Self::ALL
            .iter()
            .find(|(.., ends)| ends.iter().any(|e| e.eq_ignore_ascii_case(end)))
            .map(|(kind, ..)| *kind)
    }

    /// The format by the first bytes of a file.
    pub fn sniff(head: &[u8]) -> Option<Self> {
        const MAGIC: [(&[u8], Foreign); 4] = [
            (b"ARROW1", Foreign::Arrow),
            (b"PAR1", Foreign::Parquet),
            (b"\x93NUMPY", Foreign::Npy),
            (b"\xff\xff\xff\xff", Foreign::Arrow),
        ];
        MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind)
    }

    /// What a location holds, by content first and name second.
    pub fn detect(location: &Location) -> Result<Option<Self>> {
        if location.is_dir()? {
            return Ok(zarr::is_zarr(location)?.then_some(Self::Zarr));
        }
        if !location.is_file()? {
            return Ok(None);
        }
        let head = location.read_range(0..location.size()?.min(16))?;
        Ok(Self::sniff(&head).or_else(|| Self::from_extension(location.name())))
    }

    /// Text files of the same columns as one table, whose types all of their records tell but for those given. `None`
    /// where the format is not one of text.
    pub fn text_table(
        self,
        files: &[Location],
        types: &[(String, DataType)],
    ) -> Result<Option<Arc<dyn Table>>> {
        Ok(match self {
            Self::Csv => Some(Arc::new(TextTable::open(files, csv::CsvText, types)?)),
            Self::Jsonl => Some(Arc::new(TextTable::open(files, jsonl::JsonText, types)?)),
            _ => None,
        })
    }

    /// Takes batches of `schema` and writes them to `out`.
    pub fn sink(self, out: Box<dyn Staged>, schema: &SchemaRef, ipc: IpcKind) -> Result<Box<dyn Sink>> {
        self.sink_on(out, schema, ipc, None)
    }

    /// Like [`Foreign::sink`], on the threads and within the memory of a driver.
    pub(crate) fn sink_on(
        self,
        out: Box<dyn Staged>,
        schema: &SchemaRef,
        ipc: IpcKind,
        driver: Option<&Driver>,
    ) -> Result<Box<dyn Sink>> {
        match self {
            Self::Arrow => ipc::sink(out, schema, ipc),
            Self::Parquet => parquet::sink(out, schema, driver),
            Self::Csv => csv::sink(out, schema),
            Self::Jsonl => Ok(jsonl::sink(out)),
            Self::Npy => npy::column_sink(out, schema),
            Self::Zarr => Err(Error::invalid("Zarr is written to a folder, not to a stream")),
        }
    }
}

/// A schema with the types that the caller gave.
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
