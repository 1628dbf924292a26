//! Arrow IPC: lossless and typed.

use std::io::BufReader;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::SchemaRef;
use tesselle_core::storage::Staged;
use tesselle_core::{Location, Result, Sink, Summary};

use super::ForeignBatches;
use super::reader::LocationReader;
use super::writer::{StagedWriter, damaged, refused};

/// Which of the two forms of Arrow IPC is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IpcKind {
    /// With an index at the end; for files.
    #[default]
    File,
    /// Front to back only; for pipes.
    Stream,
}

enum IpcSink {
    File(FileWriter<StagedWriter>, u64),
    Stream(StreamWriter<StagedWriter>, u64),
}

pub(super) fn sink(out: Box<dyn Staged>, schema: &SchemaRef, kind: IpcKind) -> Result<Box<dyn Sink>> {
    let out = StagedWriter(out);
    let sink = match kind {
        IpcKind::File => FileWriter::try_new(out, schema).map(|w| IpcSink::File(w, 0)),
        IpcKind::Stream => StreamWriter::try_new(out, schema).map(|w| IpcSink::Stream(w, 0)),
    };
    Ok(Box::new(sink.map_err(|e| refused("Arrow", e))?))
}

impl Sink for IpcSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let (result, rows) = match self {
            Self::File(writer, rows) => (writer.write(batch), rows),
            Self::Stream(writer, rows) => (writer.write(batch), rows),
        };
        *rows += batch.num_rows() as u64;
        result.map_err(|e| refused("Arrow", e))
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        // `into_inner` writes the end of the file or stream first.
        let (out, rows) = match *self {
            Self::File(writer, rows) => (writer.into_inner(), rows),
            Self::Stream(writer, rows) => (writer.into_inner(), rows),
        };
        let out = out.map_err(|e| refused("Arrow", e))?.0;
        let summary = Summary { rows, bytes: out.position(), pieces: 0 };
        out.commit()?;
        Ok(summary)
    }
}

pub(super) fn read(location: &Location) -> Result<ForeignBatches> {
    let head = location.read_range(0..location.size()?.min(6))?;
    let reader = BufReader::new(LocationReader::new(location)?);
    if head.starts_with(b"ARROW1") {
        let reader = FileReader::try_new(reader, None).map_err(|e| damaged("Arrow", e))?;
        let schema = reader.schema();
        return Ok(ForeignBatches {
            schema,
            batches: Box::new(reader.map(|b| b.map_err(|e| damaged("Arrow", e)))),
        });
    }
    let reader = StreamReader::try_new(reader, None).map_err(|e| damaged("Arrow", e))?;
    let schema = reader.schema();
    Ok(ForeignBatches { schema, batches: Box::new(reader.map(|b| b.map_err(|e| damaged("Arrow", e)))) })
}
