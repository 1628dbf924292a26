//! The last resort: recovers the intact records of a file without a footer, one row each.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use tesselle_core::{Driver, Error, Location, OpenOptions, Outcome, Repaired, Result, Sink};

use crate::meta::extension::{Extension, features};
use crate::meta::header::HEADER_LEN;
use crate::meta::record::{RECORD_LEN, Record};
use crate::read::payload::PayloadReader;
use crate::write::options::WriterOptions;
use crate::write::writer::Writer;

/// Bytes read at once while searching for records.
const WINDOW: u64 = 8 << 20;
/// How far the search goes before it reports progress.
const STEP: u64 = 1 << 16;
/// How many times the size of the file may be checksummed without success before the search ends.
const PATIENCE: u64 = 16;

/// Recovers every record with a valid checksum.
pub(super) fn salvage(
    source: &Location,
    target: &Location,
    options: &OpenOptions,
    driver: &Driver,
    why: &Error,
) -> Result<Repaired> {
    let schema = Schema::new(vec![
        Field::new("offset", DataType::UInt64, false),
        Field::new("kind", DataType::UInt8, false),
        Field::new("encoding", DataType::UInt8, false),
        Field::new("codec", DataType::UInt8, false),
        Field::new("values", DataType::UInt32, false),
        Field::new("nulls", DataType::UInt32, false),
        Field::new("first_row", DataType::UInt32, false),
        Field::new("decompressed", DataType::Boolean, false),
        Field::new("payload", DataType::Binary, false),
    ]);
    let layout = WriterOptions::within(driver.budget().total())?;
    let mut writer = Box::new(Writer::create(target, &schema, layout, true, driver)?);
    let size = source.size()?;
    let mut search = Search { source, size, window: 0..0, bytes: Bytes::new(), spent: 0 };
    let mut offset = HEADER_LEN.min(size);
    let (mut kept, mut found) = (0u64, 0u64);
    driver.progress().expect(size - offset);
    let mut reported = offset;
    while offset + RECORD_LEN <= size && search.spent / PATIENCE <= size {
        driver.check_canceled()?;
        if offset - reported >= STEP {
            driver.progress().advance(offset - reported);
            reported = offset;
        }
        let Some((record, stored)) = search.record(offset)? else {
            offset += 1;
            continue;
        };
        writer.write(&row(offset, &record, &stored, options, &schema)?)?;
        kept += record.stored_len();
        found += 1;
        offset += record.stored_len();
    }
    driver.progress().advance(size - reported);
    writer.finish()?;
    let mut repaired = Repaired { kept_bytes: kept, dropped_bytes: size - kept, ..Repaired::default() };
    repaired.note(Outcome::Partial, format!("the footer with the schema is lost: {}", why.without_hint()));
    let message = format!(
        "the result is another table with {found} intact records, one row with the payload each: without the schema they \
         cannot be decoded"
    );
    repaired.note(Outcome::Partial, message);
    Ok(repaired)
}

fn row(
    offset: u64,
    record: &Record,
    stored: &[u8],
    options: &OpenOptions,
    schema: &Schema,
) -> Result<RecordBatch> {
    let extension = Extension { features: features::LZ4, ..Extension::default() };
    let opened =
        PayloadReader { extension: &extension, limits: &options.limits }.decompress(record, stored, offset);
    let decompressed = opened.is_ok();
    let payload = opened.unwrap_or(stored.into());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from(vec![offset])),
        Arc::new(UInt8Array::from(vec![record.kind])),
        Arc::new(UInt8Array::from(vec![record.encoding])),
        Arc::new(UInt8Array::from(vec![record.codec])),
        Arc::new(UInt32Array::from(vec![record.values])),
        Arc::new(UInt32Array::from(vec![record.nulls])),
        Arc::new(UInt32Array::from(vec![record.first_row])),
        Arc::new(BooleanArray::from(vec![decompressed])),
        Arc::new(BinaryArray::from(vec![payload.as_ref()])),
    ];
    Ok(RecordBatch::try_new(Arc::new(schema.clone()), columns)?)
}

/// Searches for records byte by byte.
struct Search<'a> {
    source: &'a Location,
    size: u64,
    window: std::ops::Range<u64>,
    bytes: Bytes,
    /// Bytes checksummed so far.
    spent: u64,
}

impl Search<'_> {
    /// The record at `offset`, if there is one with a valid checksum.
    fn record(&mut self, offset: u64) -> Result<Option<(Record, Bytes)>> {
        let head = self.read(offset, RECORD_LEN)?;
        let record = Record::parse(&head, offset)?;
        let reserved = head.get(28..32).is_none_or(|r| r != [0; 4]);
        let ids = record.kind > 3 || record.encoding > 8 || record.codec > 3 || record.flags > 3;
        let fits = offset.checked_add(record.stored_len()).is_some_and(|end| end <= self.size);
        if reserved || ids || !fits || record.nulls > record.values {
            return Ok(None);
        }
        let payload = self.read(offset + RECORD_LEN, u64::from(record.compressed))?;
        self.spent += u64::from(record.compressed) + RECORD_LEN;
        // Zeros look like empty records: an empty payload proves nothing.
        let empty = record.compressed == 0;
        Ok((!empty && record.check(&payload, offset).is_ok()).then_some((record, payload)))
    }

    fn read(&mut self, offset: u64, len: u64) -> Result<Bytes> {
        if len > WINDOW {
            return self.source.read_range(offset..offset + len);
        }
        if offset < self.window.start || offset + len > self.window.end {
            self.window = offset..(offset + WINDOW).min(self.size);
            self.bytes = self.source.read_range(self.window.clone())?;
        }
        let start = usize::try_from(offset - self.window.start).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
        let there = self.bytes.get(start..end).is_some();
        if there {
            Ok(self.bytes.slice(start..end))
        } else {
            Err(Error::internal("a window that ends early"))
        }
    }
}
