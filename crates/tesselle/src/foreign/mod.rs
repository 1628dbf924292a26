//! Files of other worlds, in and out: Arrow IPC, Parquet, CSV, JSON lines, npy.
//!
//! Each side is the seam the formats use as well: a [`Sink`] to write, batches (or an array face) to read.

mod csv;
mod ipc;
mod jsonl;
pub mod npy;
mod parquet;
mod reader;
mod writer;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tesselle_core::storage::Staged;
use tesselle_core::{Error, Location, Result, Sink};

pub use ipc::IpcKind;

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
}

impl Foreign {
    /// All of them, with the name and the endings of their files.
    const ALL: [(Self, &'static str, &'static [&'static str]); 5] = [
        (Self::Arrow, "arrow", &["arrow", "feather", "ipc", "arrows"]),
        (Self::Parquet, "parquet", &["parquet", "pq"]),
        (Self::Csv, "csv", &["csv"]),
        (Self::Jsonl, "jsonl", &["jsonl", "ndjson"]),
        (Self::Npy, "npy", &["npy"]),
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
        if !location.is_file()? {
            return Ok(None);
        }
        let head = location.read_range(0..location.size()?.min(16))?;
        Ok(Self::sniff(&head).or_else(|| Self::from_extension(location.name())))
    }

    /// Takes batches of `schema` and writes them to `out`.
    pub fn sink(self, out: Box<dyn Staged>, schema: &SchemaRef, ipc: IpcKind) -> Result<Box<dyn Sink>> {
        match self {
            Self::Arrow => ipc::sink(out, schema, ipc),
            Self::Parquet => parquet::sink(out, schema),
            Self::Csv => csv::sink(out, schema),
            Self::Jsonl => Ok(jsonl::sink(out)),
            Self::Npy => npy::column_sink(out, schema),
        }
    }

    /// Reads the batches of a file.
    pub fn read(self, location: &Location) -> Result<ForeignBatches> {
        let batches = match self {
            Self::Arrow => ipc::read(location),
            Self::Parquet => parquet::read(location),
            Self::Csv => csv::read(location),
            Self::Npy => npy::read_rows(location),
            Self::Jsonl => Err(Error::unsupported("JSON lines can be written, but not read")
                .hint("convert the file to Parquet or CSV first")),
        };
        batches.map_err(|error| error.file(location.path()))
    }
}

/// The batches of a foreign file.
pub struct ForeignBatches {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}
