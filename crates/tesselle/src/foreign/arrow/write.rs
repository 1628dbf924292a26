//! Writing of Arrow IPC: with an index at the end, or sequentially into a pipe.

use arrow_array::RecordBatch;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::SchemaRef;
use tesselle_core::storage::Staged;
use tesselle_core::{Result, Sink, Summary};

use super::dictionaries::Dictionaries;
use crate::foreign::writer::{Failure, StagedWriter};

enum ArrowWriter {
    File(FileWriter<StagedWriter>, Dictionaries),
    Stream(StreamWriter<StagedWriter>),
}

struct IpcSink {
    writer: ArrowWriter,
    failed: Failure,
    rows: u64,
}

/// Writes a file, or a stream if `out` is a pipe.
pub(super) fn sink(out: Box<dyn Staged>, schema: &SchemaRef) -> Result<Box<dyn Sink>> {
    let is_pipe = out.is_pipe();
    let (out, failed) = StagedWriter::new(out);
    let writer = if is_pipe {
        StreamWriter::try_new(out, schema).map(ArrowWriter::Stream)
    } else {
        let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
        FileWriter::try_new_with_options(out, schema, options)
            .map(|writer| ArrowWriter::File(writer, Dictionaries::new(schema)))
    };
    let writer = writer.map_err(|e| failed.or_refused("Arrow", e))?;
    Ok(Box::new(IpcSink { writer, failed, rows: 0 }))
}

impl Sink for IpcSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        let written = match &mut self.writer {
            ArrowWriter::File(writer, dictionaries) => {
                dictionaries.join(batch).and_then(|batch| writer.write(&batch))
            }
            ArrowWriter::Stream(writer) => writer.write(batch),
        };
        written.map_err(|e| self.failed.or_refused("Arrow", e))
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        // `into_inner` writes the end of the file or stream first.
        let out = match self.writer {
            ArrowWriter::File(writer, _) => writer.into_inner(),
            ArrowWriter::Stream(writer) => writer.into_inner(),
        };
        let out = out.map_err(|e| self.failed.or_refused("Arrow", e))?.into_inner();
        Ok(Summary { rows: self.rows, bytes: out.commit()?, pieces: 0, ..Summary::default() })
    }
}
