//! An Arrow file as a table: a task is a record batch of the footer, so batches are decoded in parallel.

use std::sync::{Arc, OnceLock};

use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MetadataVersion, root_as_footer};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use tesselle_core::{
    ByteRange, Cost, Error, Known, Location, Plan, Result, Scan, Step, Storage, Table, TableFacts,
    TableStats, Task,
};

use super::message::{broken, decompressed, metadata};
use crate::foreign::guard::guarded;
use crate::foreign::no_axes;
use crate::foreign::writer::damaged;

/// The end of a file: the length of the footer, and the magic.
const TRAILER: u64 = 10;
/// Larger footers are not read.
const MAX_FOOTER: u64 = 1 << 30;

/// The record batches of a file.
pub(super) struct FileTable {
    location: Location,
    schema: SchemaRef,
    version: MetadataVersion,
    dictionaries: Arc<[Block]>,
    batches: Vec<Block>,
    /// The largest record batch that is decoded.
    limit: u64,
    rows: OnceLock<Known<u64>>,
}

impl FileTable {
    /// Reads the footer.
    pub(super) fn open(location: &Location, limit: u64) -> Result<Self> {
        let size = location.size()?;
        let short = || Error::corrupt("the Arrow file ends before its footer").class("incomplete");
        let end = size.checked_sub(TRAILER).ok_or_else(short)?;
        let trailer: [u8; 10] = location.read_range(end..size)?.as_ref().try_into().map_err(|_| short())?;
        let len = read_footer_length(trailer).map_err(|e| damaged("Arrow", e).offset(end))? as u64;
        let start = end.checked_sub(len).filter(|_| len <= MAX_FOOTER).ok_or_else(short)?;
        let bytes = location.read_range(start..end)?;
        let footer = root_as_footer(&bytes).map_err(|e| broken(e).offset(start))?;
        let schema = footer.schema().ok_or_else(|| broken("the footer has no schema").offset(start))?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err(Error::unsupported("the byte order of the Arrow file differs from this machine's"));
        }
        let dictionaries = footer.dictionaries().into_iter().flatten().map(|block| checked(*block, start));
        let batches = footer.recordBatches().into_iter().flatten().map(|block| checked(*block, start));
        Ok(Self {
            location: location.clone(),
            schema: Arc::new(guarded("Arrow", || Ok(arrow_ipc::convert::fb_to_schema(schema)))?),
            version: footer.version(),
            dictionaries: dictionaries.collect::<Result<_>>()?,
            batches: batches.collect::<Result<_>>()?,
            limit,
            rows: OnceLock::new(),
        })
    }

    /// The rows of all batches, from the metadata of each.
    fn count(&self) -> Result<u64> {
        let ranges: Vec<_> = self.batches.iter().map(|block| range(block, true)).collect();
        let mut rows = 0_u64;
        for bytes in self.location.read(&ranges)? {
            let batch = metadata(&bytes)?.header_as_record_batch();
            let batch = batch.ok_or_else(|| broken("a block of the footer is not a record batch"))?;
            let length = u64::try_from(batch.length()).map_err(broken)?;
            rows = rows.checked_add(length).ok_or_else(|| broken("too many rows"))?;
        }
        Ok(rows)
    }
}

/// A block, checked to be before the footer.
fn checked(block: Block, footer: u64) -> Result<Block> {
    let parts = (
        u64::try_from(block.offset()),
        u64::try_from(block.metaDataLength()),
        u64::try_from(block.bodyLength()),
    );
    let end = match parts {
        (Ok(offset), Ok(metadata @ 8..), Ok(body)) => {
            offset.checked_add(metadata).and_then(|n| n.checked_add(body))
        }
        _ => None,
    };
    match end {
        Some(end) if end <= footer => Ok(block),
        _ => Err(Error::corrupt("a record batch of the footer is outside the file")
            .class("bad_offset")
            .offset(footer)),
    }
}

/// The range of a block, or of its metadata only. Its numbers are already checked.
fn range(block: &Block, metadata_only: bool) -> std::ops::Range<u64> {
    let start = block.offset().cast_unsigned();
    let metadata = u64::from(block.metaDataLength().cast_unsigned());
    let body = if metadata_only { 0 } else { block.bodyLength().cast_unsigned() };
    start..start + metadata + body
}

impl Table for FileTable {
    fn name(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        // Unreadable metadata leaves the number unknown; reading rows reports the error.
        let rows = self.rows.get_or_init(|| self.count().map_or(Known::Absent, Known::Exact));
        TableStats { rows: rows.clone(), ..TableStats::default() }
    }

    fn facts(&self) -> Result<TableFacts> {
        Ok(TableFacts::of_schema(&self.schema))
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        no_axes(scan)?;
        let shared = Arc::new(Shared {
            path: self.location.path().to_owned(),
            schema: Arc::clone(&self.schema),
            version: self.version,
            projection: scan.column_indices(&self.schema)?,
            dictionaries: Arc::clone(&self.dictionaries),
            limit: self.limit,
            decoder: OnceLock::new(),
        });
        let dictionaries: u64 = self.dictionaries.iter().map(size).sum();
        let task = |(number, block): (usize, &Block)| -> Box<dyn Task> {
            let memory = size(block).saturating_mul(2).saturating_add(dictionaries);
            let cost = Cost { pieces: 1, bytes_in: size(block), memory, rows: 0 };
            Box::new(BatchTask {
                shared: Arc::clone(&shared),
                number,
                block: *block,
                cost,
                largest: size(block),
                state: State::New,
            })
        };
        let tasks = self.batches.iter().enumerate().map(task).collect();
        Ok(Plan { tasks, pieces: self.batches.len() as u64, pruned: 0 })
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.location.storage())
    }
}

fn size(block: &Block) -> u64 {
    let range = range(block, false);
    range.end - range.start
}

/// State shared by the tasks of one plan.
struct Shared {
    path: String,
    schema: SchemaRef,
    version: MetadataVersion,
    projection: Vec<usize>,
    dictionaries: Arc<[Block]>,
    limit: u64,
    /// The decoder with all dictionaries, created by the first task that has read them.
    decoder: OnceLock<FileDecoder>,
}

impl Shared {
    fn need<'a>(&self, blocks: impl IntoIterator<Item = &'a Block>) -> Step {
        let ranges = blocks.into_iter().map(|block| ByteRange::new(&*self.path, range(block, false)));
        Step::Need(ranges.collect())
    }

    fn decoder(&self, dictionaries: Vec<Bytes>) -> Result<FileDecoder> {
        let decoder = FileDecoder::new(Arc::clone(&self.schema), self.version);
        let mut decoder = decoder.with_projection(self.projection.clone());
        for (block, bytes) in self.dictionaries.iter().zip(dictionaries) {
            self.decompressed(block, &bytes)?;
            decoder.read_dictionary(block, &Buffer::from(bytes)).map_err(|e| damaged("Arrow", e))?;
        }
        Ok(decoder)
    }

    fn decompressed(&self, block: &Block, bytes: &[u8]) -> Result<u64> {
        decompressed(bytes, block.metaDataLength().cast_unsigned() as usize, self.limit)
    }
}

enum State {
    New,
    Dictionaries,
    Batch,
    /// The batch was fetched, and its size is known.
    Decode(Bytes),
    Done,
}

/// Decodes one record batch.
struct BatchTask {
    shared: Arc<Shared>,
    number: usize,
    block: Block,
    cost: Cost,
    /// The bytes of the batch, as far as they are known.
    largest: u64,
    state: State,
}

impl BatchTask {
    fn placed(&self, error: Error) -> Error {
        error.file(self.shared.path.as_str()).piece(format!("record batch {}", self.number))
    }

    fn ask_for_batch(&mut self) -> Step {
        self.state = State::Batch;
        self.shared.need([&self.block])
    }
}

impl Task for BatchTask {
    fn cost(&self) -> Cost {
        self.cost
    }

    fn largest_piece(&self) -> u64 {
        self.largest
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::New if self.shared.decoder.get().is_some() => Ok(self.ask_for_batch()),
            State::New => {
                self.state = State::Dictionaries;
                Ok(self.shared.need(&*self.shared.dictionaries))
            }
            State::Dictionaries => {
                let decoder =
                    guarded("Arrow", || self.shared.decoder(fetched)).map_err(|e| self.placed(e))?;
                self.shared.decoder.get_or_init(|| decoder);
                Ok(self.ask_for_batch())
            }
            State::Batch => {
                let bytes = fetched.into_iter().next().unwrap_or_default();
                let stated = guarded("Arrow", || self.shared.decompressed(&self.block, &bytes));
                self.largest = stated.map_err(|error| self.placed(error))?;
                self.state = State::Decode(bytes);
                // Nothing more is fetched; the size is checked before the next step.
                Ok(Step::Need(Vec::new()))
            }
            State::Decode(bytes) => {
                let decoder =
                    self.shared.decoder.get().ok_or_else(|| Error::internal("a batch has no decoder"))?;
                let buffer = Buffer::from(bytes);
                let read =
                    || decoder.read_record_batch(&self.block, &buffer).map_err(|e| damaged("Arrow", e));
                let batch = guarded("Arrow", read).map_err(|error| self.placed(error))?;
                Ok(batch.map_or(Step::Done, Step::Batch))
            }
            State::Done => Ok(Step::Done),
        }
    }
}
