//! Parquet, with zstd pages and the Arrow schema kept.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tesselle_core::storage::Staged;
use tesselle_core::{Location, Result, Sink, Summary};

use super::ForeignBatches;
use super::reader::LocationReader;
use super::writer::{Failure, StagedWriter, damaged};

struct ParquetSink {
    writer: ArrowWriter<StagedWriter>,
    failed: Failure,
    rows: u64,
}

pub(super) fn sink(out: Box<dyn Staged>, schema: &SchemaRef) -> Result<Box<dyn Sink>> {
    let (out, failed) = StagedWriter::new(out);
    let level = ZstdLevel::try_new(3).map_err(|e| failed.or_refused("Parquet", e))?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties));
    let writer = writer.map_err(|e| failed.or_refused("Parquet", e))?;
    Ok(Box::new(ParquetSink { writer, failed, rows: 0 }))
}

impl Sink for ParquetSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(|e| self.failed.or_refused("Parquet", e))
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        let out = self.writer.into_inner().map_err(|e| self.failed.or_refused("Parquet", e))?.into_inner();
        let summary = Summary { rows: self.rows, bytes: out.position(), pieces: 0 };
        out.commit()?;
        Ok(summary)
    }
}

pub(super) fn read(location: &Location) -> Result<ForeignBatches> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(LocationReader::new(location)?)
        .map_err(|e| damaged("Parquet", e))?;
    let schema = builder.schema().clone();
    let reader = builder.with_batch_size(64 << 10).build().map_err(|e| damaged("Parquet", e))?;
    Ok(ForeignBatches { schema, batches: Box::new(reader.map(|b| b.map_err(|e| damaged("Parquet", e)))) })
}
