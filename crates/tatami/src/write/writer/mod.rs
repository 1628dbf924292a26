//! The writer: splits batches into row groups, writes their records, and closes the file with its footer.

mod close;
mod resume;

use std::collections::HashMap;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema as ArrowSchema};
use tesselle_core::storage::Staged;
use tesselle_core::{Action, At, Driver, Error, Location, Result, Sink, Summary};

use super::blobs::BlobSpool;
use super::dictionary::DictionaryBuilder;
use super::group::{EncodedChunk, Pending, encode_group};
use super::options::{Profile, WriterOptions};
use super::order::OrderCheck;
use super::page::Packing;
use super::schema::{blobs_of_strings, from_arrow, normalize};
use crate::meta::extension::features;
use crate::meta::footer::Footer;
use crate::meta::groups::{Chunk, RowGroup};
use crate::meta::header::HEADER_LEN;
use crate::meta::page_index::{self, PageEntry};
use crate::meta::record::Record;
use crate::meta::regions::{BlobColumn, BlobRun, BloomRef};
use crate::meta::schema::Schema;
use crate::meta::string_blobs;
use crate::meta::types::{Codec, Encoding, LogicalType, RecordKind};
use crate::meta::zone::Zone;
use crate::scalars::binary_at;
use crate::search::RunBytes;

/// Bloom filters held in memory before they are written between row groups.
const BLOOM_BUFFER: usize = 32 << 20;

/// The runs of an inverted index, built by `search`.
#[derive(Debug, Default)]
pub(crate) struct InvertedRuns {
    pub(crate) terms: RunBytes,
    pub(crate) postings: RunBytes,
    pub(crate) skips: RunBytes,
    /// Empty if positions are not stored.
    pub(crate) positions: RunBytes,
    /// Empty when every document is live.
    pub(crate) live: RunBytes,
    pub(crate) term_count: u64,
    pub(crate) documents: u64,
    /// Whether the terms are a block tree instead of a flat list.
    pub(crate) block_tree: bool,
}

/// Writes one file. Dropping it without [`Sink::finish`] leaves nothing behind.
pub struct Writer {
    out: Box<dyn Staged>,
    driver: Driver,
    arrow: ArrowSchema,
    options: WriterOptions,
    packing: Packing,
    footer: Footer,
    columns: Vec<Pending>,
    rows: usize,
    bytes: u64,
    order: Option<OrderCheck>,
    blobs: Vec<Option<BlobSpool>>,
    blob_runs: Vec<Vec<BlobRun>>,
    dictionaries: Vec<Option<DictionaryBuilder>>,
    pending_blooms: Vec<Vec<u8>>,
    inverted: Option<InvertedRuns>,
    pages: u64,
    minor: u16,
    /// Rows of the file that is added to.
    resumed_rows: u64,
    /// Its blob columns.
    resumed_blobs: HashMap<usize, BlobColumn>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("rows", &self.footer.stats.rows)
            .field("position", &self.out.position())
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts a new file that accepts batches of `schema`.
    pub fn create(
        location: &Location,
        schema: &ArrowSchema,
        options: WriterOptions,
        overwrite: bool,
        driver: &Driver,
    ) -> Result<Self> {
        if options.codec == Codec::Lz4 && options.profile == Profile::Plain {
            return Err(Error::invalid("lz4 needs the extended profile"));
        }
        let meta = from_arrow(schema, &options)?;
        let mut options = options;
        options.metadata.retain(|(key, _)| key != string_blobs::KEY);
        options.metadata.extend(string_blobs::write(&blobs_of_strings(schema, &meta)));
        Self::with_schema(location, meta, schema, options, overwrite, driver)
    }

    /// Like [`Writer::create`], with the schema of the file.
    pub(crate) fn with_schema(
        location: &Location,
        meta: Schema,
        schema: &ArrowSchema,
        options: WriterOptions,
        overwrite: bool,
        driver: &Driver,
    ) -> Result<Self> {
        let mut out = location.create(overwrite)?;
        // Placeholder of the header: an unfinished file has zeros there.
        out.write(&[0; HEADER_LEN as usize])?;
        let order = meta.sort_key().and_then(|key| meta.fields.get(key));
        let order = order.map(|field| OrderCheck::new(field.display_name(), field.logical));
        let is = |field: &crate::meta::schema::Field, logical: LogicalType| field.logical == logical;
        let blobs = meta
            .fields
            .iter()
            .map(|f| is(f, LogicalType::BlobRef).then(|| BlobSpool::new(options.blob_run_bytes)));
        let extended = options.profile == Profile::Extended;
        let dictionaries =
            meta.fields.iter().map(|f| (extended && f.logical.is_binary()).then(DictionaryBuilder::default));
        let mut footer = Footer::default();
        footer.key_value.push((b"tatami.version".to_vec(), b"1.1".to_vec()));
        if let Some(field) = meta.sort_key().and_then(|key| meta.fields.get(key)) {
            footer.key_value.push((b"tatami.sort_key".to_vec(), field.name.clone()));
        }
        let pairs =
            options.metadata.iter().filter(|(key, _)| key != "tatami.version" && key != "tatami.sort_key");
        footer.key_value.extend(pairs.map(|(k, v)| (k.clone().into_bytes(), v.clone().into_bytes())));
        let mut writer = Self {
            out,
            driver: driver.clone(),
            arrow: schema.clone(),
            packing: Packing { codec: options.codec, level: options.level, profile: options.profile },
            columns: vec![Pending::default(); meta.fields.len()],
            rows: 0,
            bytes: 0,
            order,
            blobs: blobs.collect(),
            blob_runs: vec![Vec::new(); meta.fields.len()],
            dictionaries: dictionaries.collect(),
            pending_blooms: Vec::new(),
            inverted: None,
            pages: 0,
            minor: 1,
            resumed_rows: 0,
            resumed_blobs: HashMap::new(),
            footer,
            options,
        };
        writer.declare_features(&meta);
        writer.footer.schema = meta;
        Ok(match writer.options.minor {
            Some(minor) => writer.minor_version(minor),
            None => writer,
        })
    }

    /// Writes another minor version: 0 has neither zone maps nor indexes.
    #[must_use]
    pub(crate) fn minor_version(mut self, minor: u16) -> Self {
        self.minor = minor;
        if let Some((_, version)) = self.footer.key_value.first_mut() {
            *version = format!("1.{minor}").into_bytes();
        }
        self
    }

    /// Closes the current row group.
    pub(crate) fn end_group(&mut self) -> Result<()> {
        self.flush_group()
    }

    fn declare_features(&mut self, schema: &Schema) {
        let extension = &mut self.footer.extension;
        let extended = self.options.profile == Profile::Extended;
        if extended && schema.fields.iter().any(|f| f.logical == LogicalType::List) {
            extension.features |= features::LIST;
        }
        if self.options.codec == Codec::Lz4 {
            extension.features |= features::LZ4;
        }
    }

    /// Makes the file a search segment: its index is written when the file is closed.
    pub(crate) fn attach_inverted(&mut self, runs: InvertedRuns) {
        self.inverted = Some(runs);
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = self.check(batch)?;
        let key = self.footer.schema.sort_key();
        if let (Some(order), Some(keys)) = (&mut self.order, key.and_then(|k| columns.get(k))) {
            order.check(keys.as_ref())?;
        }
        let mut at = 0;
        while at < batch.num_rows() {
            let room = self.options.row_group_rows.saturating_sub(self.rows).max(1);
            let take = room.min(batch.num_rows() - at);
            for (index, column) in columns.iter().enumerate() {
                let slice = column.slice(at, take);
                if let Some(field) = self.footer.schema.fields.get(index) {
                    self.bytes = self.bytes.saturating_add(estimate(slice.as_ref(), field.logical));
                }
                if let Some(Some(spool)) = self.blobs.get_mut(index) {
                    (0..slice.len())
                        .filter(|row| slice.is_valid(*row))
                        .for_each(|row| spool.push(binary_at(slice.as_ref(), row)));
                }
                if let Some(pending) = self.columns.get_mut(index) {
                    // Blob values are in the spool already: only their validity is still needed.
                    let blob = matches!(self.blobs.get(index), Some(Some(_)));
                    pending.push(if blob { validity_only(slice.as_ref()) } else { slice });
                }
            }
            self.rows += take;
            at += take;
            if self.rows >= self.options.row_group_rows || self.bytes >= self.options.row_group_bytes {
                self.flush_group()?;
            }
            self.spill()?;
        }
        Ok(())
    }

    /// The columns of a batch in the types of the encoder; columns that do not match the file's schema are
    /// refused.
    fn check(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let expected = self.arrow.fields();
        if batch.num_columns() != expected.len() {
            let found = batch.num_columns();
            return Err(Error::invalid(format!(
                "a batch of {found} columns was given to a file of {}",
                expected.len()
            )));
        }
        let plain = self.options.profile == Profile::Plain && batch.num_rows() > 0;
        let columns = batch.columns().iter().zip(expected).map(|(array, field)| {
            if plain && matches!(field.data_type(), DataType::List(_)) {
                return Err(Error::invalid(format!(
                    "column '{}' is a list, and the plain format cannot store rows of lists",
                    field.name()
                ))
                .suggest(
                    "add {}; the original engine cannot read such a file",
                    [Action::setting("profile", "extended")],
                ));
            }
            if array.data_type() != field.data_type() {
                let (found, wanted) = (array.data_type(), field.data_type());
                return Err(Error::invalid(format!(
                    "column '{}' is {found} in this batch, expected {wanted}",
                    field.name()
                )));
            }
            if !field.is_nullable() && array.logical_null_count() > 0 {
                return Err(Error::invalid(format!(
                    "column '{}' is not nullable, but has a null",
                    field.name()
                )));
            }
            normalize(array, field.name())
        });
        columns.collect()
    }

    /// Writes the buffered rows as one row group.
    fn flush_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.driver.check_canceled()?;
        let columns =
            std::mem::replace(&mut self.columns, vec![Pending::default(); self.footer.schema.fields.len()]);
        let (schema, rows, page_rows, packing) =
            (&self.footer.schema, self.rows, self.options.page_rows, self.packing);
        let dictionaries = &mut self.dictionaries;
        let driver = self.driver.clone();
        let chunks =
            driver.install(|| encode_group(schema, &columns, rows, page_rows, packing, dictionaries))?;
        drop(columns);
        let start = self.out.position();
        let mut group = RowGroup {
            first_row: self.footer.stats.rows,
            rows: rows as u64,
            bytes: 0,
            bounds: None,
            chunks: Vec::with_capacity(chunks.len()),
        };
        let key = self.footer.schema.sort_key();
        for (column, encoded) in chunks.into_iter().enumerate() {
            let chunk = self.write_chunk(column, encoded, key == Some(column))?;
            if key == Some(column) {
                group.bounds.clone_from(&chunk.zone);
            }
            group.chunks.push(chunk);
        }
        group.bytes = self.out.position() - start;
        self.footer.groups.push(group);
        self.footer.stats.rows += rows as u64;
        (self.rows, self.bytes) = (0, 0);
        if self.pending_blooms.iter().map(Vec::len).sum::<usize>() > BLOOM_BUFFER {
            self.write_blooms()?;
        }
        Ok(())
    }

    fn write_chunk(&mut self, column: usize, encoded: EncodedChunk, is_key: bool) -> Result<Chunk> {
        let logical = self.footer.schema.fields.at(column)?.logical;
        let mut chunk = Chunk {
            column: column as u64,
            offset: self.out.position(),
            compressed: 0,
            uncompressed: 0,
            values: 0,
            nulls: 0,
            pages: encoded.pages.len() as u64,
            encoding: encoded.pages.first().map_or(0, |p| p.record.encoding),
            codec: self.packing.codec.id(),
            zone: Zone::merge_all(logical, encoded.pages.iter().map(|p| p.zone.as_ref())),
            bloom: None,
            page_index: None,
        };
        let mut entries = Vec::new();
        for page in encoded.pages {
            let offset = self.write_record(page.record, &page.payload)?;
            chunk.compressed += u64::from(page.record.compressed);
            chunk.uncompressed += u64::from(page.record.uncompressed);
            chunk.values += u64::from(page.record.values);
            chunk.nulls += u64::from(page.record.nulls);
            entries.push(PageEntry { first_row: u64::from(page.record.first_row), offset, zone: page.zone });
            self.pages += 1;
            let features = &mut self.footer.extension.features;
            if page.uses_dictionary {
                *features |= features::DICTIONARY;
                if let Some(Some(dictionary)) = self.dictionaries.get_mut(column) {
                    dictionary.mark_used();
                }
            } else if page.record.encoding == Encoding::Fsst.id() {
                *features |= features::FSST;
            }
        }
        if is_key && self.minor > 0 {
            chunk.page_index = Some(self.write_index(&page_index::to_bytes(&entries))?);
        }
        if let Some(bloom) = encoded.bloom.filter(|_| self.minor > 0) {
            self.pending_blooms.push(bloom);
            chunk.bloom = Some((self.footer.blooms.len() + self.pending_blooms.len()) as u64);
        }
        self.footer.stats.compressed += chunk.compressed;
        self.footer.stats.uncompressed += chunk.uncompressed;
        Ok(chunk)
    }

    fn write_record(&mut self, record: Record, payload: &[u8]) -> Result<u64> {
        let offset = self.out.position();
        self.out.write(&record.to_bytes())?;
        self.out.write(payload)?;
        Ok(offset)
    }

    fn write_index(&mut self, payload: &[u8]) -> Result<u64> {
        let len = u32::try_from(payload.len()).map_err(|_| {
            Error::limit("an index record exceeds 4 GiB").hint("split the rows over several files")
        })?;
        self.write_record(Record::new(RecordKind::Index, Codec::None, 0, len, payload), payload)
    }

    fn write_blooms(&mut self) -> Result<()> {
        for payload in std::mem::take(&mut self.pending_blooms) {
            let offset = self.write_index(&payload)?;
            self.footer.blooms.push(BloomRef { offset, len: payload.len() as u64, kind: 0 });
        }
        Ok(())
    }
}

impl Sink for Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.append(batch)
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        self.close()
    }
}

/// The size of values by the rule of the format, to decide when a row group is full.
fn estimate(array: &dyn Array, logical: LogicalType) -> u64 {
    let rows = array.len() as u64;
    match logical {
        LogicalType::Bool => rows.div_ceil(8),
        LogicalType::String | LogicalType::Bytes | LogicalType::BlobRef => {
            let lengths = (0..array.len())
                .filter(|row| array.is_valid(*row))
                .map(|row| binary_at(array, row).len() as u64);
            lengths.sum::<u64>() + rows
        }
        LogicalType::List => array.get_array_memory_size() as u64,
        fixed => fixed.scalar_width().unwrap_or(8) as u64 * rows,
    }
}

/// The validity of an array without its values.
fn validity_only(array: &dyn Array) -> ArrayRef {
    let values = arrow_buffer::BooleanBuffer::new_unset(array.len());
    std::sync::Arc::new(arrow_array::BooleanArray::new(values, array.logical_nulls()))
}
