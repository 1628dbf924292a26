//! Arrow IPC: lossless and typed.

use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::SchemaRef;
use tesselle_core::storage::Staged;
use tesselle_core::{Location, Result, Sink, Summary};

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
        let summary = Summary { rows: self.rows, bytes: out.position(), pieces: 0, ..Summary::default() };
        out.commit()?;
        Ok(summary)
    }
}

pub(crate) fn schema(location: &Location) -> Result<SchemaRef> {
    Ok(match reader(location)?.0 {
        Reader::File(reader) => reader.schema(),
        Reader::Stream(reader) => reader.schema(),
    })
}

enum Reader {
    File(FileReader<BufReader<LocationReader>>),
    Stream(StreamReader<BufReader<LocationReader>>),
}

fn reader(location: &Location) -> Result<(Reader, Arc<AtomicU64>)> {
    let head = location.read_range(0..location.size()?.min(6))?;
    let input = LocationReader::new(location)?;
    let consumed = input.consumed();
    let input = BufReader::new(input);
    let reader = if head.starts_with(b"ARROW1") {
        FileReader::try_new(input, None).map(Reader::File)
    } else {
        StreamReader::try_new(input, None).map(Reader::Stream)
    };
    Ok((reader.map_err(|e| damaged("Arrow", e))?, consumed))
}

/// The batches of a file.
pub(crate) struct IpcBatches {
    /// The rows.
    pub(crate) batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    /// How many bytes of the file have been read so far.
    pub(crate) consumed: Arc<AtomicU64>,
}

pub(crate) fn read(location: &Location) -> Result<IpcBatches> {
    let (reader, consumed) = reader(location)?;
    let batches: Box<dyn Iterator<Item = _> + Send> = match reader {
        Reader::File(reader) => Box::new(reader),
        Reader::Stream(reader) => Box::new(reader),
    };
    Ok(IpcBatches { batches: Box::new(batches.map(|b| b.map_err(|e| damaged("Arrow", e)))), consumed })
}
