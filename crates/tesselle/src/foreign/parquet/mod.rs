//! Parquet, with zstd pages and the Arrow schema kept. Columns are encoded in parallel.

mod bloom;
mod bounds;
mod format;
mod learning;
mod stored;
mod table;
mod task;
#[cfg(test)]
mod tests;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
pub use format::Parquet;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use stored::stored_schema;
use table::ParquetTable;
use tesselle_core::driver::parallel;
use tesselle_core::storage::Staged;
use tesselle_core::{Driver, Error, Result, Sink, Summary};

use super::writer::{Failure, StagedWriter};

/// Rows of a row group, unless its memory ends it earlier.
const GROUP_ROWS: usize = 1 << 20;
/// Memory of the row group that is filling.
const GROUP_BYTES: u64 = 256 << 20;

struct ParquetSink {
    writer: SerializedFileWriter<StagedWriter>,
    factory: ArrowRowGroupWriterFactory,
    /// The columns of the current row group.
    columns: Vec<ArrowColumnWriter>,
    group_rows: usize,
    most: u64,
    schema: SchemaRef,
    driver: Option<Driver>,
    failed: Failure,
    rows: u64,
    groups: u64,
}

fn sink(out: Box<dyn Staged>, schema: &SchemaRef, driver: Option<&Driver>) -> Result<Box<dyn Sink>> {
    let schema = stored_schema(schema)?;
    let (out, failed) = StagedWriter::new(out);
    let level = ZstdLevel::try_new(3).map_err(|e| failed.or_refused("Parquet", e))?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
    let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties));
    let writer = writer.and_then(ArrowWriter::into_serialized_writer);
    let (writer, factory) = writer.map_err(|e| failed.or_refused("Parquet", e))?;
    let most = driver.map_or(GROUP_BYTES, |driver| (driver.budget().total() / 2).clamp(1 << 20, GROUP_BYTES));
    Ok(Box::new(ParquetSink {
        writer,
        factory,
        columns: Vec::new(),
        group_rows: 0,
        most,
        schema,
        driver: driver.cloned(),
        failed,
        rows: 0,
        groups: 0,
    }))
}

impl ParquetSink {
    fn append(&mut self, batch: &RecordBatch) -> std::result::Result<(), ParquetError> {
        if self.columns.is_empty() {
            self.columns = self.factory.create_column_writers(self.groups as usize)?;
        }
        let mut leaves: Vec<ArrowLeafColumn> = Vec::with_capacity(self.columns.len());
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            if column.data_type() == field.data_type() {
                leaves.extend(compute_leaves(field, column)?);
            } else {
                leaves.extend(compute_leaves(field, &arrow_cast::cast(column, field.data_type())?)?);
            }
        }
        let columns = &mut self.columns;
        match &self.driver {
            Some(driver) => driver.install(|| {
                parallel::try_for_each(columns.iter_mut().zip(&leaves), |(writer, leaf)| writer.write(leaf))
            })?,
            None => columns.iter_mut().zip(&leaves).try_for_each(|(writer, leaf)| writer.write(leaf))?,
        }
        self.group_rows += batch.num_rows();
        let held: usize = self.columns.iter().map(ArrowColumnWriter::memory_size).sum();
        if self.group_rows >= GROUP_ROWS || held as u64 > self.most {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> std::result::Result<(), ParquetError> {
        if self.group_rows == 0 {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        // The last pages are compressed when a column ends.
        let chunks = match &self.driver {
            Some(driver) => driver.install(|| parallel::try_map(columns, ArrowColumnWriter::close)),
            None => columns.into_iter().map(ArrowColumnWriter::close).collect(),
        };
        let chunks = chunks?;
        let mut group = self.writer.next_row_group()?;
        chunks.into_iter().try_for_each(|chunk| chunk.append_to_row_group(&mut group))?;
        group.close()?;
        self.group_rows = 0;
        self.groups += 1;
        Ok(())
    }
}

impl Sink for ParquetSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_columns() == 0 {
            return Err(Error::invalid("a Parquet file needs at least one column"));
        }
        self.rows += batch.num_rows() as u64;
        // A batch longer than a row group is split, so that groups keep their size.
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = (GROUP_ROWS - self.group_rows).min(batch.num_rows() - start);
            let part = batch.slice(start, rows);
            self.append(&part).map_err(|e| self.failed.or_refused("Parquet", e))?;
            start += rows;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Summary> {
        self.end_group().map_err(|e| self.failed.or_refused("Parquet", e))?;
        let out = self.writer.into_inner().map_err(|e| self.failed.or_refused("Parquet", e))?.into_inner();
        Ok(Summary { rows: self.rows, bytes: out.commit()?, pieces: self.groups, ..Summary::default() })
    }
}
