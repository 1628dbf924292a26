//! CSV with a header line. Types are inferred from the whole file, so that a late value cannot break them.

use arrow_array::RecordBatch;
use arrow_csv::reader::Format;
use arrow_csv::{ReaderBuilder, Writer};
use arrow_schema::{DataType, Schema, SchemaRef};
use tesselle_core::storage::Staged;
use tesselle_core::{Error, Location, Result, Sink, Summary};

use super::ForeignBatches;
use super::reader::LocationReader;
use super::writer::{Failure, StagedWriter, damaged};

struct CsvSink {
    writer: Writer<StagedWriter>,
    failed: Failure,
    schema: SchemaRef,
    rows: u64,
}

pub(super) fn sink(out: Box<dyn Staged>, schema: &SchemaRef) -> Result<Box<dyn Sink>> {
    let nested = schema.fields().iter().find(|f| {
        matches!(
            f.data_type(),
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::Struct(_)
        )
    });
    if let Some(field) = nested {
        return Err(Error::invalid(format!("column '{}' holds lists, which CSV cannot", field.name()))
            .hint("use --as jsonl, arrow or parquet, or leave the column out with --columns"));
    }
    let (out, failed) = StagedWriter::new(out);
    Ok(Box::new(CsvSink { writer: Writer::new(out), failed, schema: schema.clone(), rows: 0 }))
}

impl Sink for CsvSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(|e| self.failed.or_refused("CSV", e))
    }

    fn finish(mut self: Box<Self>) -> Result<Summary> {
        if self.rows == 0 {
            // The header line also stands where there is no row.
            self.write(&RecordBatch::new_empty(self.schema.clone()))?;
        }
        let out = self.writer.into_inner().into_inner();
        let summary = Summary { rows: self.rows, bytes: out.position(), pieces: 0 };
        out.commit()?;
        Ok(summary)
    }
}

pub(super) fn read(location: &Location) -> Result<ForeignBatches> {
    let format = Format::default().with_header(true);
    let (schema, _): (Schema, usize) =
        format.infer_schema(LocationReader::new(location)?, None).map_err(|e| damaged("CSV", e))?;
    let schema: SchemaRef = schema.into();
    let reader = ReaderBuilder::new(schema.clone())
        .with_format(format)
        .with_batch_size(8192)
        .build(LocationReader::new(location)?)
        .map_err(|e| damaged("CSV", e))?;
    Ok(ForeignBatches { schema, batches: Box::new(reader.map(|b| b.map_err(|e| damaged("CSV", e)))) })
}
