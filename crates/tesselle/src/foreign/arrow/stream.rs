//! An Arrow stream as a table: one task that reads from start to end, one message at a time.

use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use tesselle_core::{
    ByteRange, Cost, Error, Location, Plan, Result, Scan, Step, Storage, Table, TableFacts, TableStats, Task,
};

use super::message::{broken, decompressed, metadata, metadata_end, prefix};
use crate::foreign::guard::guarded;
use crate::foreign::no_axes;
use crate::foreign::writer::damaged;

/// Bytes read at the start of a message; its metadata are usually among them.
const HEAD: u64 = 16 << 10;

/// The record batches of a stream.
pub(super) struct StreamTable {
    location: Location,
    size: u64,
    /// The largest message that is decoded.
    limit: u64,
    schema: SchemaRef,
}

impl StreamTable {
    /// Reads the schema, which is the first message.
    pub(super) fn open(location: &Location, limit: u64) -> Result<Self> {
        let size = location.size()?;
        let short =
            || Error::corrupt("the Arrow stream ends before its schema").class("incomplete").offset(size);
        let head = location.read_range(0..size.min(HEAD))?;
        let end = metadata_end(&head)?.map(|end| end as u64).filter(|end| *end <= size).ok_or_else(short)?;
        let message = location.read_range(0..end)?;
        let schema = metadata(&message)?.header_as_schema();
        let schema = schema.ok_or_else(|| broken("the stream does not start with a schema"))?;
        let schema = Arc::new(guarded("Arrow", || Ok(arrow_ipc::convert::fb_to_schema(schema)))?);
        Ok(Self { location: location.clone(), size, limit, schema })
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

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        no_axes(scan)?;
        let task = StreamTask {
            path: self.location.path().to_owned(),
            size: self.size,
            limit: self.limit,
            at: 0,
            largest: 0,
            state: State::Start,
            decoder: StreamDecoder::new(),
            projection: scan.column_indices(&self.schema)?,
        };
        Ok(Plan { tasks: vec![Box::new(task)], pieces: 1, pruned: 0 })
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.location.storage())
    }
}

enum State {
    Start,
    /// The start of a message was requested.
    Head,
    /// A whole message was requested, with a body that starts here.
    Message(usize),
    /// A message is decoded; its size is known.
    Decode(Buffer),
}

/// Decodes the stream.
struct StreamTask {
    path: String,
    size: u64,
    limit: u64,
    /// The message that is read or comes next.
    at: u64,
    /// The bytes of the message, as far as they are known.
    largest: u64,
    state: State,
    decoder: StreamDecoder,
    projection: Vec<usize>,
}

impl StreamTask {
    /// Requests the message at the current position from its start up to `end`.
    fn need(&self, end: u64) -> Step {
        Step::Need(vec![ByteRange::new(&*self.path, self.at..end)])
    }

    fn incomplete(&self) -> Error {
        Error::corrupt("the Arrow stream ends inside a message").class("incomplete").offset(self.at)
    }

    /// Requests the message that starts with `head`, or more of its metadata; `None` at the end of the stream.
    fn message(&mut self, head: &[u8]) -> Result<Option<Step>> {
        let body = metadata_end(head)?.ok_or_else(|| self.incomplete())?;
        if body == prefix(head) {
            return Ok(None);
        }
        if head.len() < body {
            let end = self.at.checked_add(body as u64).filter(|end| *end <= self.size);
            self.state = State::Head;
            return Ok(Some(self.need(end.ok_or_else(|| self.incomplete())?)));
        }
        let stored = u64::try_from(metadata(head)?.bodyLength()).map_err(broken)?;
        let end = self.at.checked_add(body as u64).and_then(|start| start.checked_add(stored));
        let end = end.filter(|end| *end <= self.size).ok_or_else(|| self.incomplete())?;
        self.largest = stored;
        self.state = State::Message(body);
        Ok(Some(self.need(end)))
    }

    fn advance(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        let bytes = fetched.into_iter().next().unwrap_or_default();
        match std::mem::replace(&mut self.state, State::Start) {
            State::Start => {}
            State::Head => {
                if let Some(step) = self.message(&bytes)? {
                    return Ok(step);
                }
                // The decoder may hold a batch without a body until something follows.
                self.at = self.size;
                self.state = State::Decode(Buffer::from(bytes.slice(..prefix(&bytes))));
                return Ok(Step::Need(Vec::new()));
            }
            State::Message(body) => {
                self.largest = decompressed(&bytes, body, self.limit)?;
                self.at += bytes.len() as u64;
                self.state = State::Decode(Buffer::from(bytes));
                // Nothing more is fetched; the size is checked before the next step.
                return Ok(Step::Need(Vec::new()));
            }
            State::Decode(mut message) => {
                while !message.is_empty() {
                    let batch = self.decoder.decode(&mut message).map_err(|e| damaged("Arrow", e))?;
                    if let Some(batch) = batch {
                        self.state = State::Decode(message);
                        return Ok(Step::Batch(batch.project(&self.projection)?));
                    }
                }
            }
        }
        if self.at < self.size {
            self.state = State::Head;
            return Ok(self.need(self.size.min(self.at + HEAD)));
        }
        self.decoder.finish().map_err(|e| damaged("Arrow", e).class("incomplete"))?;
        Ok(Step::Done)
    }
}

impl Task for StreamTask {
    fn cost(&self) -> Cost {
        // The size of its batches is unknown in advance.
        Cost { pieces: 1, bytes_in: self.size, memory: self.size.min(16 << 20), rows: 0 }
    }

    fn largest_piece(&self) -> u64 {
        self.largest
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        guarded("Arrow", || self.advance(fetched)).map_err(|error| error.file(self.path.as_str()))
    }
}
