//! A sequential pass over the data section, record by record, without any metadata.
//!
//! Recovery, verification, the byte map and the sequential dump all use it.

use std::ops::Range;

use bytes::Bytes;
use tesselle_core::{Context as _, Cursor, Error, Location, Result};

use crate::meta::chunk_group::ChunkGroupFooter;
use crate::meta::{ChunkHeader, DeviceId, Version, marker};
use crate::read::loaded::Loaded;

/// Initial guess for the size of a record without its pages.
const WINDOW: u64 = 1 << 10;
/// Maximum size of a record without its pages: names have no limit of their own.
const MAX_RECORD: u64 = 1 << 26;

/// A record of the data section.
#[derive(Debug)]
pub(crate) enum Record {
    /// The header that opens a chunk group (version 3 and later).
    GroupHeader(DeviceId),
    /// The footer that closes a chunk group (up to version 2).
    GroupFooter(ChunkGroupFooter),
    /// A chunk with its pages.
    Chunk(Box<WalkedChunk>),
    /// The version of the preceding groups (version 2).
    Version(i64),
    /// Min and max operation index (version 3 and later).
    OperationRange(i64, i64),
    /// The end of the data section.
    Separator,
}

/// A chunk found by the walk.
#[derive(Debug)]
pub(crate) struct WalkedChunk {
    /// Offset of its pages.
    pub(crate) data_start: u64,
    /// Its header and pages.
    pub(crate) loaded: Loaded,
}

/// A walk over the data section.
#[derive(Debug)]
pub(crate) struct Walker<'a> {
    location: &'a Location,
    version: Version,
    position: u64,
    end: u64,
}

impl<'a> Walker<'a> {
    /// Walks from the header up to `end` at most.
    pub(crate) fn new(location: &'a Location, version: Version, end: u64) -> Self {
        Self::within(location, version, version.head().len() as u64..end)
    }

    /// Walks over a part of the file that starts with a record.
    pub(crate) fn within(location: &'a Location, version: Version, part: Range<u64>) -> Self {
        Self { location, version, position: part.start, end: part.end }
    }

    /// Offset of the next record.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next record with the offset of its first byte; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Record)>> {
        if self.position >= self.end {
            return Ok(None);
        }
        let start = self.position;
        let mut window = WINDOW;
        loop {
            let stop = self.end.min(start.saturating_add(window));
            let bytes = self.location.read_range(start..stop)?;
            let mut cursor = Cursor::new(&bytes, start, "record");
            match self.parse(&mut cursor) {
                Ok(record) => {
                    // A chunk advances the position itself, past its pages.
                    if !matches!(record, Record::Chunk(_)) {
                        self.position = cursor.offset();
                    }
                    return Ok(Some((start, record)));
                }
                Err(error) if error.class_name() == "truncated" && stop < self.end && window < MAX_RECORD => {
                    window = window.saturating_mul(16);
                }
                Err(error) => return Err(error.offset(start)),
            }
        }
    }

    fn parse(&mut self, cursor: &mut Cursor<'_>) -> Result<Record> {
        let at = cursor.offset();
        let byte = cursor.u8()?;
        if marker::is_chunk(byte, self.version) {
            let header = ChunkHeader::parse_after(cursor, byte, self.version)?;
            return self.chunk(header, cursor.offset());
        }
        let compact = self.version.is_compact();
        match byte {
            marker::CHUNK_GROUP if compact => {
                let device = DeviceId::parse(cursor, self.version)?;
                named(&device, at)?;
                Ok(Record::GroupHeader(device))
            }
            marker::CHUNK_GROUP => {
                let footer = ChunkGroupFooter::parse_after(cursor, self.version)?;
                named(&footer.device, at)?;
                Ok(Record::GroupFooter(footer))
            }
            marker::SEPARATOR => Ok(Record::Separator),
            marker::VERSION if self.version >= Version::V2 => Ok(Record::Version(cursor.i64_be()?)),
            marker::OPERATION_RANGE if compact => {
                Ok(Record::OperationRange(cursor.i64_be()?, cursor.i64_be()?))
            }
            other => {
                let message = format!("byte {other:#04x} is not the marker of a record");
                Err(Error::corrupt(message).class("bad_marker").offset(at))
            }
        }
    }

    fn chunk(&mut self, header: ChunkHeader, data_start: u64) -> Result<Record> {
        let data_end = data_start.checked_add(header.data_size).filter(|end| *end <= self.end);
        let Some(data_end) = data_end else {
            let message =
                format!("a chunk of {} bytes extends past the end at {}", header.data_size, self.end);
            return Err(Error::corrupt(message).class("cut_chunk").offset(data_start));
        };
        let bytes: Bytes = self.location.read_range(data_start..data_end)?;
        // A page that does not end with its chunk is damage, not a record that needs a larger window.
        let loaded = Loaded::try_new(header, self.version, &bytes, data_start).of_class("bad_page");
        let loaded = loaded
            .map_err(|e| Error::corrupt(e.message().to_string()).class("bad_page").offset(data_start))?;
        self.position = data_end;
        Ok(Record::Chunk(Box::new(WalkedChunk { data_start, loaded })))
    }
}

/// A crash can leave zeros, and zero is the marker of a chunk group; but a chunk group has a device name.
fn named(device: &DeviceId, offset: u64) -> Result<()> {
    if device.path().is_empty() {
        return Err(Error::corrupt("a chunk group has no device").class("bad_marker").offset(offset));
    }
    Ok(())
}
