//! A table in memory: the simplest conforming one.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use crate::error::{Error, Result};
use crate::scan::Scan;
use crate::stats::{Known, TableStats};
use crate::storage::{MemoryStorage, Storage};
use crate::table::Table;
use crate::task::{ByteRange, Cost, Plan, Step, Task};

/// Each batch is a piece. Its bytes in the storage are meaningless, but are fetched.
#[derive(Debug, Clone)]
pub struct MemoryTable {
    schema: SchemaRef,
    pieces: Vec<RecordBatch>,
    storage: Arc<dyn Storage>,
}

/// Bytes stated for each piece.
const PIECE: u64 = 64;
const FILE: &str = "pieces";

impl MemoryTable {
    /// A table of these pieces.
    pub fn new(schema: SchemaRef, pieces: Vec<RecordBatch>) -> Self {
        let storage = MemoryStorage::new();
        storage.put(FILE, vec![0; PIECE as usize * pieces.len()]);
        Self { schema, pieces, storage: Arc::new(storage) }
    }

    /// The same table on another storage.
    #[must_use]
    pub fn on(mut self, wrap: impl FnOnce(Arc<dyn Storage>) -> Arc<dyn Storage>) -> Self {
        self.storage = wrap(self.storage);
        self
    }
}

impl Table for MemoryTable {
    fn name(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        let rows = self.pieces.iter().map(|piece| piece.num_rows() as u64).sum();
        TableStats { rows: Known::Exact(rows), ..TableStats::default() }
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        if scan.selection.is_some() {
            return Err(Error::invalid("the table has no grid to select from"));
        }
        let indices = scan.column_indices(&self.schema)?;
        let tasks = self.pieces.iter().zip(0_u64..).map(|(piece, number)| {
            let range = ByteRange::new(FILE, number * PIECE..(number + 1) * PIECE);
            let batch = piece.project(&indices)?;
            Ok(Box::new(Piece { range: Some(range), batch: Some(batch) }) as Box<dyn Task>)
        });
        let tasks = tasks.collect::<Result<Vec<_>>>()?;
        Ok(Plan { pieces: tasks.len() as u64, pruned: 0, tasks })
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.storage)
    }
}

struct Piece {
    range: Option<ByteRange>,
    batch: Option<RecordBatch>,
}

impl Task for Piece {
    fn cost(&self) -> Cost {
        let memory = self.batch.as_ref().map_or(0, |batch| batch.get_array_memory_size() as u64);
        Cost { pieces: 1, bytes_in: PIECE, memory: memory + PIECE, rows: 0 }
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        if let Some(range) = self.range.take() {
            return Ok(Step::Need(vec![range]));
        }
        match self.batch.take() {
            Some(batch) => {
                assert_eq!(
                    fetched.first().map(Bytes::len),
                    Some(PIECE as usize),
                    "the requested range is passed"
                );
                Ok(Step::Batch(batch))
            }
            None => Ok(Step::Done),
        }
    }
}
