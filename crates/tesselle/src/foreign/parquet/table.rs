//! A Parquet file as a table: a task is a row group, so that groups are decoded in parallel.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use tesselle_core::{
    Cost, Error, Known, Location, Plan, Predicate, Pushdown, Result, Scan, Step, Storage, Table, TableStats,
    Task,
};

use crate::foreign::reader::LocationReader;
use crate::foreign::writer::damaged;

/// Rows of a batch.
const BATCH_ROWS: usize = 64 << 10;

/// A Parquet file.
pub(crate) struct ParquetTable {
    location: Location,
    metadata: ArrowReaderMetadata,
    schema: SchemaRef,
}

impl ParquetTable {
    /// Reads the footer.
    pub(crate) fn open(location: &Location) -> Result<Self> {
        let reader = LocationReader::new(location)?;
        let metadata = ArrowReaderMetadata::load(&reader, ArrowReaderOptions::new());
        let metadata = metadata.map_err(|e| damaged("Parquet", e).file(location.path()))?;
        Ok(Self { location: location.clone(), schema: Arc::clone(metadata.schema()), metadata })
    }
}

impl Table for ParquetTable {
    fn name(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        let rows = u64::try_from(self.metadata.metadata().file_metadata().num_rows());
        TableStats { rows: rows.map_or(Known::Absent, Known::Exact), ..TableStats::default() }
    }

    fn pushdown(&self, _predicate: &Predicate) -> Pushdown {
        Pushdown::None
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        if scan.selection.is_some() {
            return Err(Error::invalid("a Parquet file has no axes to slice").hint("use --where instead"));
        }
        let wanted = scan.column_indices(&self.schema)?;
        // The reader gives columns in the order of the file; each task puts them in the order wanted.
        let mut stored = wanted.clone();
        stored.sort_unstable();
        stored.dedup();
        let order: Vec<usize> = wanted.iter().filter_map(|at| stored.binary_search(at).ok()).collect();
        let groups = self.metadata.metadata().row_groups();
        let mut tasks: Vec<Box<dyn Task>> = Vec::new();
        let mut left = scan.limit.unwrap_or(u64::MAX);
        for (number, group) in groups.iter().enumerate() {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(u64::try_from(group.num_rows()).unwrap_or(0));
            let bytes = u64::try_from(group.compressed_size()).unwrap_or(0);
            let raw = u64::try_from(group.total_byte_size()).unwrap_or(0);
            let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
            let batch = raw.saturating_mul(4) / rows * (BATCH_ROWS as u64).min(rows);
            tasks.push(Box::new(GroupTask {
                location: self.location.clone(),
                metadata: self.metadata.clone(),
                stored: stored.clone(),
                order: order.clone(),
                group: number,
                rows: scan.batch_rows.unwrap_or(BATCH_ROWS),
                cost: Cost { pieces: 1, bytes_in: bytes, memory: batch.saturating_add(bytes.min(64 << 20)) },
                reader: None,
            }));
        }
        let pruned = (groups.len() - tasks.len()) as u64;
        Ok(Plan { tasks, pieces: groups.len() as u64, pruned })
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.location.storage())
    }
}

/// One row group. The Parquet reader fetches pages as it goes, so the group is never in memory as a whole.
struct GroupTask {
    location: Location,
    metadata: ArrowReaderMetadata,
    stored: Vec<usize>,
    order: Vec<usize>,
    group: usize,
    rows: usize,
    cost: Cost,
    reader: Option<ParquetRecordBatchReader>,
}

impl GroupTask {
    fn reader(&mut self) -> Result<&mut ParquetRecordBatchReader> {
        let reader = if let Some(reader) = self.reader.take() {
            reader
        } else {
            let input = LocationReader::new(&self.location)?;
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(input, self.metadata.clone());
            let mask = ProjectionMask::roots(builder.parquet_schema(), self.stored.iter().copied());
            let builder = builder.with_row_groups(vec![self.group]).with_projection(mask);
            builder.with_batch_size(self.rows).build().map_err(|e| self.damaged(e))?
        };
        Ok(self.reader.insert(reader))
    }

    fn damaged(&self, error: impl std::error::Error + Send + Sync + 'static) -> Error {
        damaged("Parquet", error).file(self.location.path()).piece(format!("row group {}", self.group))
    }
}

impl Task for GroupTask {
    fn cost(&self) -> Cost {
        self.cost
    }

    fn step(&mut self, _fetched: Vec<Bytes>) -> Result<Step> {
        match self.reader()?.next() {
            None => Ok(Step::Done),
            Some(Ok(batch)) => Ok(Step::Batch(batch.project(&self.order)?)),
            Some(Err(error)) => Err(self.damaged(error)),
        }
    }
}
