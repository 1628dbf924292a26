//! An opened file: checked metadata, and access to records.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use tesselle_codec::compress::zstd::RawDictionary;
use tesselle_core::{At, Context, Error, Location, OpenOptions, Result};

use crate::meta::extension::features;
use crate::meta::footer::{Footer, RawFooter};
use crate::meta::header::{HEADER_LEN, Header, flags};
use crate::meta::reclass;
use crate::meta::record::{RECORD_LEN, Record};
use crate::meta::string_blobs;
use crate::meta::trailer::{MIN_FILE_LEN, TRAILER_LEN, Trailer};
use crate::meta::types::{LogicalType, RecordKind};
use crate::read::column::Decoding;
use crate::read::dictionary::ValueDictionary;
use crate::read::payload::PayloadReader;
use crate::read::schema::to_arrow;

/// Bytes read first from the end: footers are small, so one request usually covers trailer and footer.
const TAIL_WINDOW: u64 = 64 << 10;

/// An opened file. Clones share all state.
#[derive(Debug, Clone)]
pub struct File {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    location: Location,
    path: Arc<str>,
    size: u64,
    header: Header,
    footer: Footer,
    trailer: Trailer,
    schema: SchemaRef,
    options: OpenOptions,
    /// Per row group and blob column: the number of preceding blobs.
    blob_bases: HashMap<usize, Vec<u64>>,
    dictionaries: Mutex<HashMap<u64, Arc<RawDictionary>>>,
    value_dictionaries: Mutex<HashMap<usize, Arc<ValueDictionary>>>,
    cache: OnceLock<Mutex<crate::read::cache::PageCache>>,
    /// The live rows, loaded on first use.
    live: OnceLock<Option<BooleanBuffer>>,
}

impl File {
    /// Opens a file: reads and checks footer and header, but no data.
    pub fn open(location: &Location, options: &OpenOptions) -> Result<Self> {
        Self::open_checked(location, options).in_file(location.path())
    }

    fn open_checked(location: &Location, options: &OpenOptions) -> Result<Self> {
        let size = location.size()?;
        if size < MIN_FILE_LEN {
            return Err(Error::corrupt(format!(
                "the file has {size} bytes, fewer than a header and a trailer"
            ))
            .class("too_small")
            .offset(0));
        }
        let tail_at = size - size.min(TAIL_WINDOW);
        let parts = location.read(&[0..HEADER_LEN, tail_at..size])?;
        let [head, tail] = parts.as_slice() else {
            return Err(Error::internal("a storage returned too few bytes"));
        };
        let trailer_at = tail.len() - TRAILER_LEN as usize;
        let trailer = Trailer::parse(tail.part(trailer_at..)?, size)?;
        let footer_bytes = if trailer.footer_offset >= tail_at {
            let start = (trailer.footer_offset - tail_at) as usize;
            tail.slice(start..trailer_at)
        } else {
            if u64::from(trailer.footer_len) > options.limits.metadata_bytes {
                let (len, limit) = (trailer.footer_len, options.limits.metadata_bytes);
                return Err(Error::limit(format!("a footer of {len} bytes exceeds the limit of {limit}")));
            }
            location.read_range(trailer.footer_offset..size - TRAILER_LEN)?
        };
        trailer.check(&footer_bytes)?;
        // The footer is checked before the header, like the original does; only the minor version is needed
        // early.
        let header = Header::parse(head);
        let minor = header.as_ref().map_or(1, |h| h.minor);
        let raw = RawFooter::parse(&footer_bytes, trailer.footer_offset, minor)?;
        let header = header?;
        check_header(&header, &raw, &trailer)?;
        let footer = raw.check()?;
        Ok(Self::assemble(location, options, size, header, footer, trailer))
    }

    /// Opens a damaged file of which only the first `size` bytes count: the footer must be valid, the header
    /// need not be.
    pub(crate) fn open_overlooking(location: &Location, options: &OpenOptions, size: u64) -> Result<Self> {
        if size < MIN_FILE_LEN {
            return Err(Error::corrupt("too few bytes").class("too_small"));
        }
        let trailer = Trailer::parse(&location.read_range(size - TRAILER_LEN..size)?, size)?;
        let footer_bytes = location.read_range(trailer.footer_offset..size - TRAILER_LEN)?;
        trailer.check(&footer_bytes)?;
        Self::open_with_footer(location, options, size, trailer.footer_offset, &footer_bytes)
    }

    /// Opens a damaged file with a located or repaired footer that starts at `footer_offset`.
    pub(crate) fn open_with_footer(
        location: &Location,
        options: &OpenOptions,
        size: u64,
        footer_offset: u64,
        footer_bytes: &Bytes,
    ) -> Result<Self> {
        let trailer = Trailer {
            footer_offset,
            footer_len: u32::try_from(footer_bytes.len())
                .map_err(|_| Error::limit("a footer is too long"))?,
            footer_crc: tesselle_codec::crc::crc32c(footer_bytes),
        };
        let header = Header::parse(&location.read_range(0..HEADER_LEN)?).ok();
        let minor = header.as_ref().map_or(1, |h| h.minor);
        let raw = RawFooter::parse(footer_bytes, trailer.footer_offset, minor)?;
        let footer = raw.check()?;
        let rows = footer.groups.iter().fold(0u64, |n, g| n.saturating_add(g.rows));
        let block_tree = if footer.inverted.is_some() { flags::SEARCH | flags::BLOCK_TREE } else { 0 };
        let lost = Header {
            major: 1,
            minor: 1,
            flags: block_tree,
            checksum: 1,
            default_codec: 2,
            page_size_hint: 0,
            uuid: [0; 16],
            rows,
            footer_offset: trailer.footer_offset,
            created_ms: 0,
            creator_id: 0,
        };
        let header = Header { rows, footer_offset: trailer.footer_offset, ..header.unwrap_or(lost) };
        Ok(Self::assemble(location, options, size, header, footer, trailer))
    }

    fn assemble(
        location: &Location,
        options: &OpenOptions,
        size: u64,
        header: Header,
        footer: Footer,
        trailer: Trailer,
    ) -> Self {
        let strings = string_blobs::parse(&footer.key_value);
        let schema = to_arrow(&footer.schema, &strings, options.text_as_binary);
        let blob_bases = blob_bases(&footer);
        let inner = Inner {
            path: location.path().into(),
            location: location.clone(),
            size,
            header,
            footer,
            trailer,
            schema,
            options: options.clone(),
            blob_bases,
            dictionaries: Mutex::default(),
            value_dictionaries: Mutex::default(),
            cache: OnceLock::new(),
            live: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The location of the file.
    pub fn location(&self) -> &Location {
        &self.inner.location
    }

    /// All columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.inner.schema)
    }

    /// Number of stored rows, including deleted documents of a search segment.
    pub fn rows(&self) -> u64 {
        self.inner.header.rows
    }

    pub(crate) fn path(&self) -> &Arc<str> {
        &self.inner.path
    }

    pub(crate) fn size(&self) -> u64 {
        self.inner.size
    }

    pub(crate) fn header(&self) -> &Header {
        &self.inner.header
    }

    pub(crate) fn footer(&self) -> &Footer {
        &self.inner.footer
    }

    pub(crate) fn trailer(&self) -> &Trailer {
        &self.inner.trailer
    }

    pub(crate) fn options(&self) -> &OpenOptions {
        &self.inner.options
    }

    pub(crate) fn profile(&self) -> PayloadReader<'_> {
        PayloadReader { extension: &self.inner.footer.extension, limits: &self.inner.options.limits }
    }

    pub(crate) fn known_live(&self) -> &OnceLock<Option<BooleanBuffer>> {
        &self.inner.live
    }

    pub(crate) fn cache(&self) -> &Mutex<crate::read::cache::PageCache> {
        self.inner.cache.get_or_init(Mutex::default)
    }

    /// Number of blobs of a column before a row group.
    pub(crate) fn blob_base(&self, column: usize, group: usize) -> Result<u64> {
        let bases = self.inner.blob_bases.get(&column).and_then(|bases| bases.get(group));
        bases.copied().ok_or_else(|| Error::internal("a row group of a blob column is not counted"))
    }

    /// The decoding parameters of a column; its value dictionary must be loaded.
    pub(crate) fn decoding(&self, column: usize) -> Decoding {
        Decoding {
            fsst: self.inner.footer.extension.has(features::FSST),
            dictionary: lock(&self.inner.value_dictionaries).get(&column).cloned(),
            text_as_binary: self.inner.options.text_as_binary,
            limit: self.inner.options.limits.piece_bytes,
        }
    }

    /// The range of a column's value dictionary, if it is not loaded yet.
    pub(crate) fn missing_value_dictionary(&self, column: usize) -> Option<Range<u64>> {
        let extension = &self.inner.footer.extension;
        let entry = extension.dictionary(column).filter(|_| extension.has(features::DICTIONARY))?;
        if lock(&self.inner.value_dictionaries).contains_key(&column) {
            return None;
        }
        let end = entry.offset.saturating_add(RECORD_LEN).saturating_add(entry.stored);
        Some(entry.offset.min(self.size())..end.min(self.size()))
    }

    /// Stores the fetched value dictionary of a column.
    pub(crate) fn put_value_dictionary(&self, column: usize, bytes: &[u8]) -> Result<()> {
        let Some(entry) = self.inner.footer.extension.dictionary(column) else { return Ok(()) };
        let piece = || format!("value dictionary of column {column}");
        let payload = self.fetched_record(bytes, entry.offset).in_piece(piece)?;
        let dictionary =
            ValueDictionary::parse(&payload, entry.entries).at_offset(entry.offset).in_piece(piece)?;
        lock(&self.inner.value_dictionaries).insert(column, Arc::new(dictionary));
        Ok(())
    }

    /// Loads everything that decoding a column needs in addition to its pages; for callers that may do I/O.
    pub(crate) fn load_value_dictionary(&self, column: usize) -> Result<()> {
        match self.missing_value_dictionary(column) {
            Some(range) => {
                self.put_value_dictionary(column, &self.read(range.start, range.end - range.start)?)
            }
            None => Ok(()),
        }
    }

    /// The range of a content dictionary (1-based), if it is not loaded yet. The footer states only its
    /// decoded size, so the range is its maximum size.
    pub(crate) fn missing_content_dictionary(&self, number: u64) -> Result<Option<Range<u64>>> {
        let Some(index) = number.checked_sub(1) else { return Ok(None) };
        if lock(&self.inner.dictionaries).contains_key(&number) {
            return Ok(None);
        }
        let entry = usize::try_from(index).ok().and_then(|i| self.inner.footer.dictionaries.get(i));
        let Some(entry) = entry else {
            return Err(Error::corrupt(format!(
                "a blob column names dictionary {number}, which the file does not have"
            ))
            .class("missing_blob"));
        };
        let most = entry.uncompressed.saturating_add(entry.uncompressed / 128).saturating_add(512);
        let end = entry.offset.saturating_add(RECORD_LEN).saturating_add(most);
        Ok(Some(entry.offset.min(self.size())..end.min(self.size())))
    }

    /// Stores the fetched content dictionary.
    pub(crate) fn put_content_dictionary(&self, number: u64, offset: u64, bytes: &[u8]) -> Result<()> {
        let content = self.fetched_record(bytes, offset).in_piece(|| format!("dictionary {number}"))?;
        lock(&self.inner.dictionaries).insert(number, Arc::new(RawDictionary::new(content.into_owned())));
        Ok(())
    }

    /// A content dictionary (1-based; 0 is none); for callers that may do I/O if it is not loaded.
    pub(crate) fn content_dictionary(&self, number: u64) -> Result<Option<Arc<RawDictionary>>> {
        if let Some(range) = self.missing_content_dictionary(number)? {
            let bytes = self.read(range.start, range.end - range.start)?;
            self.put_content_dictionary(number, range.start, &bytes)?;
        }
        Ok(lock(&self.inner.dictionaries).get(&number).cloned())
    }

    /// The payload of a record in fetched bytes.
    fn fetched_record<'a>(&self, bytes: &'a [u8], offset: u64) -> Result<std::borrow::Cow<'a, [u8]>> {
        let record = Record::parse(bytes, offset).map_err(|e| as_short_read(&e))?;
        self.check_inside(offset, record.stored_len())?;
        let stored = bytes.get(RECORD_LEN as usize..).and_then(|rest| rest.get(..record.compressed as usize));
        let Some(stored) = stored else {
            return Err(Error::corrupt("a record is longer than its content allows")
                .class("short_read")
                .offset(offset));
        };
        self.profile().open(&record, stored, offset)
    }

    /// Reads a record: its header and the stored payload. The checksum is not checked yet.
    pub(crate) fn record(&self, offset: u64) -> Result<(Record, Bytes)> {
        let head = self.read(offset, RECORD_LEN)?;
        let record = Record::parse(&head, offset)?;
        let payload = self.read(offset.saturating_add(RECORD_LEN), u64::from(record.compressed))?;
        Ok((record, payload))
    }

    /// Reads the payload of an index record with the length that the footer states.
    pub(crate) fn index_record(&self, offset: u64, len: u64) -> Result<Bytes> {
        let (record, payload) = self.record(offset)?;
        record.check(&payload, offset)?;
        if payload.len() as u64 != len {
            let found = payload.len();
            return Err(Error::corrupt(format!(
                "an index record has {found} bytes, the footer states {len}"
            ))
            .class("bad_index")
            .offset(offset));
        }
        if record.kind != RecordKind::Index.id() && record.codec != 0 {
            let opened = self.profile().open(&record, &payload, offset)?;
            return Ok(Bytes::from(opened.into_owned()));
        }
        Ok(payload)
    }

    /// Where the payload of an index record is, of `len` bytes as the footer states, if it is stored as it is. Only the
    /// header of the record is read.
    pub(crate) fn plain_index(&self, offset: u64, len: u64) -> Result<Option<u64>> {
        let record = Record::parse(&self.read(offset, RECORD_LEN)?, offset)?;
        let start = offset.saturating_add(RECORD_LEN);
        self.check_inside(start, u64::from(record.compressed))?;
        let plain = record.kind == RecordKind::Index.id() || record.codec == 0;
        Ok((plain && u64::from(record.compressed) == len).then_some(start))
    }

    /// Reads `len` bytes; past the end of the file is damage, not an I/O failure.
    pub(crate) fn read(&self, offset: u64, len: u64) -> Result<Bytes> {
        let end = self.check_inside(offset, len)?;
        self.inner.location.read_range(offset..end).in_file(&self.inner.path)
    }

    /// Returns the end of `len` bytes at `offset`, if they are inside the file.
    pub(crate) fn check_inside(&self, offset: u64, len: u64) -> Result<u64> {
        offset.checked_add(len).filter(|end| *end <= self.inner.size).ok_or_else(|| {
            let size = self.inner.size;
            Error::corrupt(format!("{len} bytes at {offset} needed, but the file has {size}"))
                .class("short_read")
                .offset(offset)
                .file(self.inner.path.to_string())
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check_header(header: &Header, footer: &RawFooter, trailer: &Trailer) -> Result<()> {
    if header.footer_offset != trailer.footer_offset {
        let (stated, found) = (header.footer_offset, trailer.footer_offset);
        return Err(Error::corrupt(format!("the header states footer offset {stated}, the trailer {found}"))
            .class("footer_offset_mismatch")
            .offset(40));
    }
    let (stated, found) = (header.rows, footer.rest.stats.rows);
    if stated != found {
        return Err(Error::corrupt(format!("the header states {stated} rows, the footer {found}"))
            .class("row_count_mismatch")
            .offset(32));
    }
    Ok(())
}

fn blob_bases(footer: &Footer) -> HashMap<usize, Vec<u64>> {
    let columns = footer.schema.fields.iter().enumerate().filter(|(_, f)| f.logical == LogicalType::BlobRef);
    let bases = columns.map(|(column, _)| {
        let mut base = 0u64;
        let per_group = footer.groups.iter().map(|group| {
            let here = base;
            let present = group.chunk(column).map_or(0, |c| c.values.saturating_sub(c.nulls));
            base = base.saturating_add(present);
            here
        });
        (column, per_group.collect())
    });
    bases.collect()
}

/// Names a damaged page in errors.
pub(crate) fn page_piece(group: usize, column: usize, page: usize) -> String {
    format!("row group {group}, column {column}, page {page}")
}

/// Maps the error of a truncated record header to the error class of the format.
pub(crate) fn as_short_read(error: &Error) -> Error {
    reclass(error, "short_read")
}
