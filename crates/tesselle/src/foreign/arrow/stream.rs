//! An Arrow stream as a table: one task that reads from start to end, one window at a time.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use tesselle_core::{
    ByteRange, Cost, Error, Location, Plan, Predicate, Pushdown, Result, Scan, Step, Storage, Table,
    TableFacts, TableStats, Task,
};

use crate::foreign::guard::guarded;
use crate::foreign::no_axes;
use crate::foreign::writer::damaged;

/// Bytes read at a time.
const WINDOW: u64 = 4 << 20;

/// The record batches of a stream.
pub(super) struct StreamTable {
    location: Location,
    size: u64,
    schema: SchemaRef,
}

impl StreamTable {
    /// Reads as far as the schema.
    pub(super) fn open(location: &Location) -> Result<Self> {
        let size = location.size()?;
        let (mut decoder, mut at) = (StreamDecoder::new(), 0);
        loop {
            if let Some(schema) = decoder.schema() {
                return Ok(Self { location: location.clone(), size, schema });
            }
            if at >= size {
                return Err(Error::corrupt("the Arrow stream ends before its schema")
                    .class("incomplete")
                    .offset(size));
            }
            let end = size.min(at + (64 << 10));
            let mut window = Buffer::from(location.read_range(at..end)?);
            guarded("Arrow", || decoder.decode(&mut window).map_err(|e| damaged("Arrow", e)))?;
            at = end;
        }
    }
}

impl Table for StreamTable {
    fn name(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        TableStats::default()
    }

    fn facts(&self) -> Result<TableFacts> {
        Ok(TableFacts::of_schema(&self.schema))
    }

    fn pushdown(&self, _predicate: &Predicate) -> Pushdown {
        Pushdown::None
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        no_axes(scan)?;
        let task = StreamTask {
            path: self.location.path().to_owned(),
            size: self.size,
            at: 0,
            window: Buffer::from(Vec::<u8>::new()),
            decoder: StreamDecoder::new(),
            projection: scan.column_indices(&self.schema)?,
        };
        Ok(Plan { tasks: vec![Box::new(task)], pieces: 1, pruned: 0 })
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.location.storage())
    }
}

/// Decodes the stream.
struct StreamTask {
    path: String,
    size: u64,
    at: u64,
    window: Buffer,
    decoder: StreamDecoder,
    projection: Vec<usize>,
}

impl StreamTask {
    fn decode(&mut self) -> Result<Option<RecordBatch>> {
        let read = || self.decoder.decode(&mut self.window).map_err(|e| damaged("Arrow", e));
        guarded("Arrow", read).map_err(|error| error.file(self.path.as_str()))
    }
}

impl Task for StreamTask {
    fn cost(&self) -> Cost {
        // The size of its batches is unknown in advance.
        Cost { pieces: 1, bytes_in: self.size, memory: self.size.min(4 * WINDOW) }
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        if let Some(bytes) = fetched.into_iter().next() {
            self.at += bytes.len() as u64;
            self.window = Buffer::from(bytes);
        }
        while !self.window.is_empty() {
            if let Some(batch) = self.decode()? {
                return Ok(Step::Batch(batch.project(&self.projection)?));
            }
        }
        if self.at < self.size {
            let end = self.size.min(self.at + WINDOW);
            return Ok(Step::Need(vec![ByteRange::new(&*self.path, self.at..end)]));
        }
        self.decoder
            .finish()
            .map_err(|e| damaged("Arrow", e).class("incomplete").file(self.path.as_str()))?;
        Ok(Step::Done)
    }
}
