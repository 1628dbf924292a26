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
use super::writer::{Failure, StagedWriter, damaged};

/// Which of the two forms of Arrow IPC is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IpcKind {
    /// With an index at the end; for files.
    #[default]
    File,
    /// Front to back only; for pipes.
    Stream,
}

enum Writer {
    File(FileWriter<StagedWriter>),
    Stream(StreamWriter<StagedWriter>),
}

struct IpcSink {
    writer: Writer,
    failed: Failure,
    rows: u64,
}

pub(super) fn sink(out: Box<dyn Staged>, schema: &SchemaRef, kind: IpcKind) -> Result<Box<dyn Sink>> {
    let (out, failed) = StagedWriter::new(out);
    let writer = match kind {
        IpcKind::File => FileWriter::try_new(out, schema).map(Writer::File),
        IpcKind::Stream => StreamWriter::try_new(out, schema).map(Writer::Stream),
    };
    let writer = writer.map_err(|e| failed.or_refused("Arrow", e))?;
    Ok(Box::new(IpcSink { writer, failed, rows: 0 }))
}

impl Sink for IpcSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        let written = match &mut self.writer {
            Writer::File(writer) => writer.write(batch),
            Writer::Stream(writer) => writer.write(batch),
        };
        written.map_err(|e| self.failed.or_refused("Arrow", e))
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        // `into_inner` writes the end of the file or stream first.
        let out = match self.writer {
            Writer::File(writer) => writer.into_inner(),
            Writer::Stream(writer) => writer.into_inner(),
        };
        let out = out.map_err(|e| self.failed.or_refused("Arrow", e))?.into_inner();
        let summary = Summary { rows: self.rows, bytes: out.position(), pieces: 0 };
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
