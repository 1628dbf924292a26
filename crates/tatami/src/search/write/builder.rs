//! The segment writer.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, UInt16Array};
use arrow_schema::SchemaRef;
use tesselle_core::driver::parallel;
use tesselle_core::{Driver, Error, Location, Result, Sink, Summary};

use super::accumulate::{Accumulator, PARTS};
use super::encode::RunEncoder;
use super::identity::doc_ids;
use super::merge::{merge, spill};
use super::options::IndexOptions;
use super::roles::{Documents, Roles};
use super::scratch::Scratch;
use super::shard::{Gathered, Shard};
use crate::search::cursor::END;
use crate::search::segment::Shape;
use crate::search::snippet::snippet;
use crate::write::options::WriterOptions;
use crate::write::writer::Writer;

/// Default limit of the postings held in memory, unless the options or a small budget set another.
const MEMORY: u64 = 256 << 20;

/// Documents that one thread takes at a time: with more, a frequent term is looked up less often.
const SHARD_DOCS: usize = 2048;

/// Builds a search segment at `location` from the rows of `batches`.
///
/// Documents are numbered in row order. The result does not depend on the sizes of the batches, the number of
/// threads or the memory; dropping the builder midway leaves nothing behind.
pub fn index(
    batches: impl IntoIterator<Item = Result<RecordBatch>>,
    schema: &SchemaRef,
    location: &Location,
    options: &IndexOptions,
    driver: &Driver,
) -> Result<Summary> {
    let mut builder = SegmentBuilder::create(location, schema, options, driver)?;
    for batch in batches {
        builder.write(&batch?)?;
    }
    Box::new(builder).finish()
}

/// A segment being built; also a sink.
#[derive(Debug)]
pub struct SegmentBuilder {
    roles: Roles,
    options: IndexOptions,
    memory: usize,
    schema: SchemaRef,
    writer: Writer,
    accumulator: Accumulator,
    scratch: Scratch,
    runs: Vec<Location>,
    docs: u32,
    driver: Driver,
}

impl SegmentBuilder {
    /// Starts a segment that accepts batches of `schema`.
    pub fn create(
        location: &Location,
        schema: &SchemaRef,
        options: &IndexOptions,
        driver: &Driver,
    ) -> Result<Self> {
        let roles = Roles::try_new(schema, options)?;
        let segment_schema = roles.schema();
        let mut writer_options = WriterOptions {
            bloom: vec!["doc_id".to_owned()],
            ..WriterOptions::within(driver.budget().total())?
        };
        if roles.shape == Shape::Body {
            writer_options.blobs.push("body".to_owned());
        }
        let writer = Writer::create(location, &segment_schema, writer_options, options.overwrite, driver)?;
        let memory = options.memory.unwrap_or_else(|| MEMORY.min(driver.budget().total() / 4) as usize);
        Ok(Self {
            roles,
            options: options.clone(),
            memory,
            schema: segment_schema,
            writer,
            accumulator: Accumulator::new(options.positions),
            scratch: Scratch::next_to(location),
            runs: Vec::new(),
            docs: 0,
            driver: driver.clone(),
        })
    }

    /// Tokenizes the documents in parallel and adds them in order.
    fn add(&mut self, documents: &Documents) -> Result<()> {
        self.driver.check_canceled()?;
        let first = self.docs;
        let last = u32::try_from(documents.rows)
            .ok()
            .and_then(|rows| first.checked_add(rows))
            .filter(|end| *end < END);
        self.docs = last.ok_or_else(|| {
            Error::limit("a segment has fewer than 4294967295 documents")
                .hint("split them into several segments")
        })?;
        let starts: Vec<usize> = (0..documents.rows).step_by(SHARD_DOCS).collect();
        let accumulator = &mut self.accumulator;
        let forward = self.driver.install(|| {
            let tokenized: Vec<(Gathered, TokenCounts)> = parallel::map(starts, |start| {
                let rows = start..documents.rows.min(start + SHARD_DOCS);
                tokenize(documents, rows, first, accumulator.shard())
            });
            let (shards, parts): (Vec<_>, Vec<_>) = tokenized.into_iter().unzip();
            accumulator.absorb(&shards);
            parts.into_iter().fold(TokenCounts::default(), |mut all, part| {
                all.append(part);
                all
            })
        });
        self.write_forward(documents, forward, first)?;
        if self.accumulator.memory() > self.memory {
            let (accumulator, scratch) = (&mut self.accumulator, &mut self.scratch);
            self.runs.push(self.driver.install(|| spill(accumulator, scratch))?);
        }
        Ok(())
    }

    fn write_forward(&mut self, documents: &Documents, forward: TokenCounts, first: u32) -> Result<()> {
        let rows = documents.rows;
        let text: ArrayRef = match self.roles.shape {
            Shape::Body => Arc::new(without_nulls(documents.body.as_ref(), rows)),
            Shape::Snippet => {
                let limit = self.options.snippet_chars;
                let leads: Vec<String> = self.driver.install(|| {
                    parallel::map(0..rows, |row| snippet(value(documents.body.as_ref(), row), limit))
                });
                Arc::new(BinaryArray::from_iter_values(leads))
            }
        };
        let [body, title, anchor, url] = forward.norms;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(doc_ids(documents, first)),
            Arc::new(without_nulls(documents.stored_url.as_ref(), rows)),
            Arc::new(without_nulls(documents.stored_title.as_ref(), rows)),
            text,
        ];
        columns
            .extend([body, title, anchor, url].map(|norms| Arc::new(UInt16Array::from(norms)) as ArrayRef));
        columns.extend(documents.extra.iter().cloned());
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

impl Sink for SegmentBuilder {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        // A batch may be large; the memory held in addition should not be.
        let rows = SHARD_DOCS * self.driver.threads() * 2;
        for start in (0..batch.num_rows()).step_by(rows) {
            let piece = batch.slice(start, rows.min(batch.num_rows() - start));
            let documents = self.roles.documents(&piece)?;
            self.add(&documents)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        let mut this = *self;
        let mut encoder = RunEncoder::new(this.options.dictionary, this.options.positions);
        let (accumulator, runs, scratch) = (this.accumulator, &this.runs, &mut this.scratch);
        let progress = this.driver.progress();
        this.driver.install(|| merge(runs, accumulator, &mut encoder, scratch, progress))?;
        let runs = encoder.finish(scratch)?;
        this.writer.attach_inverted(runs.into_inverted(u64::from(this.docs)));
        Box::new(this.writer).finish()
    }
}

/// Token counts of consecutive documents: body, title, anchor, URL.
#[derive(Debug, Default)]
struct TokenCounts {
    norms: [Vec<u16>; 4],
}

impl TokenCounts {
    fn append(&mut self, mut other: Self) {
        for (to, from) in self.norms.iter_mut().zip(&mut other.norms) {
            to.append(from);
        }
    }
}

/// Counts the tokens of some rows.
fn tokenize(
    documents: &Documents,
    rows: std::ops::Range<usize>,
    first: u32,
    mut shard: Shard,
) -> (Gathered, TokenCounts) {
    let mut part = TokenCounts::default();
    let fields =
        [&documents.body, &documents.title, &documents.anchor, &documents.url].map(|field| field.as_ref());
    for row in rows {
        let doc = first + row as u32;
        for (number, (field, norms)) in fields.iter().zip(&mut part.norms).enumerate() {
            let tokens = shard.add(doc, number as u32, value(*field, row));
            norms.push(u16::try_from(tokens).unwrap_or(u16::MAX));
        }
    }
    (shard.finish(PARTS), part)
}

/// The bytes of a row; empty if there is no column or the value is null.
pub(super) fn value(array: Option<&BinaryArray>, row: usize) -> &[u8] {
    match array {
        Some(array) if row < array.len() && array.is_valid(row) => array.value(row),
        _ => &[],
    }
}

/// The column with empty values for nulls, or only empty values.
fn without_nulls(array: Option<&BinaryArray>, rows: usize) -> BinaryArray {
    match array {
        Some(array) if array.null_count() == 0 => array.clone(),
        _ => {
            let mut builder = BinaryBuilder::with_capacity(rows, 0);
            (0..rows).for_each(|row| builder.append_value(value(array, row)));
            builder.finish()
        }
    }
}
