//! CSV with a header line.

mod infer;
mod read;

use arrow_array::RecordBatch;
use arrow_csv::Writer;
use arrow_schema::{DataType, SchemaRef};
use tesselle_core::storage::Staged;
use tesselle_core::{Error, Result, Sink, Summary};

use super::writer::{Failure, StagedWriter};

pub(crate) use read::CsvText;

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
        let summary = Summary { rows: self.rows, bytes: out.position(), pieces: 0, ..Summary::default() };
        out.commit()?;
        Ok(summary)
    }
}
