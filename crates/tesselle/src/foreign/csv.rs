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

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

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

/// The columns: named by the header line, typed by the caller or else by the whole file.
pub(super) fn schema(location: &Location, types: &[(String, DataType)]) -> Result<SchemaRef> {
    let infer = |rows| {
        let input = LocationReader::new(location)?;
        let found = format().infer_schema(input, rows);
        found.map(|(schema, _)| schema).map_err(|e| damaged("CSV", e))
    };
    let mut schema: Schema = infer(Some(1))?;
    if schema.fields().iter().any(|field| !types.iter().any(|(name, _)| name == field.name())) {
        schema = infer(None)?;
    }
    Ok(super::with_types(&schema, types)?.into())
}

fn format() -> Format {
    Format::default().with_header(true)
}

pub(super) fn read(location: &Location, schema: SchemaRef) -> Result<ForeignBatches> {
    let input = LocationReader::new(location)?;
    let consumed = input.consumed();
    let reader = ReaderBuilder::new(schema)
        .with_format(format())
        .with_batch_size(BATCH_ROWS)
        .build(input)
        .map_err(|e| damaged("CSV", e))?;
    let batches = Box::new(reader.map(|b| b.map_err(|e| damaged("CSV", e))));
    Ok(ForeignBatches { batches, consumed })
}
