//! The chunk header, followed by the pages of one series in one chunk group.
//!
//! | version | layout |
//! |---|---|
//! | 0.8, 000001 | `01`, `str` name, `i32` size, `i16` type, `i32` pages, `i16` compression, `i16` encoding, `i64` tombstone |
//! | 000002 | the same without the tombstone |
//! | 3, 4 | marker, `vstr` name, `uvar` size, `u8` type, `u8` compression, `u8` encoding |

use tesselle_core::{Context as _, Cursor, Error, Result};

use super::primitive::Primitives as _;
use super::{Compression, DataType, Encoding, PutPrimitives, Version, marker, primitive::len32};

/// A chunk header. `data_size` bytes of pages follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    /// The marker byte the chunk starts with.
    pub marker: u8,
    /// The measurement; empty for the time column of an aligned device.
    pub measurement: String,
    /// Bytes of all pages, headers included.
    pub data_size: u64,
    /// The type of the values.
    pub data_type: DataType,
    /// Pages, where the layout states them.
    pub pages: Option<u32>,
    /// The compressor of every page.
    pub compression: Compression,
    /// The encoding of the values or, for a time column, of the times.
    pub encoding: Encoding,
}

impl ChunkHeader {
    /// The maximum size of a header with a measurement name of `name` bytes.
    pub(crate) fn max_size(name: usize, version: Version) -> u64 {
        let fixed = if version.is_compact() { 1 + 5 + 5 + 3 } else { 27 };
        name as u64 + fixed
    }

    /// Whether this is the time column of an aligned group.
    pub(crate) fn is_time_column(&self) -> bool {
        self.data_type == DataType::Vector
    }

    /// Whether this is a value column of an aligned group.
    pub(crate) fn is_value_column(&self) -> bool {
        self.marker & marker::VALUE_COLUMN != 0
    }

    /// Whether page headers carry statistics.
    pub(crate) fn has_page_statistics(&self, version: Version) -> bool {
        !version.is_compact() || marker::kind(self.marker) == marker::CHUNK
    }

    /// Reads a header, marker included.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        let at = cursor.offset();
        let marker = cursor.u8()?;
        if !marker::is_chunk(marker, version) {
            let message = format!("byte {marker:#04x} is not the marker of a chunk");
            return Err(Error::corrupt(message).class("bad_marker").offset(at));
        }
        Self::parse_after(cursor, marker, version)
    }

    /// The encoding of a header of version 3 and later.
    pub(crate) fn parse_encoding(cursor: &mut Cursor<'_>, version: Version) -> Result<Encoding> {
        let marker = cursor.u8()?;
        if !version.is_compact() || !marker::is_chunk(marker, version) {
            return Err(cursor.corrupt("not a chunk marker of this version").class("bad_marker"));
        }
        cursor.vstr()?;
        cursor.uvar()?;
        cursor.bytes(2)?;
        Encoding::from_code(i32::from(cursor.u8()?))
    }

    /// Reads a header whose marker is consumed.
    pub(crate) fn parse_after(cursor: &mut Cursor<'_>, marker: u8, version: Version) -> Result<Self> {
        let at = cursor.offset();
        Self::parse_fields(cursor, marker, version).at_offset(at).in_piece(|| "chunk header")
    }

    fn parse_fields(cursor: &mut Cursor<'_>, marker: u8, version: Version) -> Result<Self> {
        if version.is_compact() {
            let measurement = cursor.vstr()?.to_string();
            let data_size = u64::from(cursor.uvar()?);
            let data_type = DataType::from_code(i32::from(cursor.u8()?))?;
            check_role(marker, data_type)?;
            let compression = Compression::from_code(i32::from(cursor.u8()?))?;
            let encoding = Encoding::from_code(i32::from(cursor.u8()?))?;
            return Ok(Self {
                marker,
                measurement,
                data_size,
                data_type,
                pages: None,
                compression,
                encoding,
            });
        }
        let measurement = cursor.string()?.to_string();
        let data_size = cursor.len32()?;
        let data_type = DataType::from_code(i32::from(cursor.i16_be()?))?;
        let pages = Some(cursor.len32()? as u32);
        let compression = Compression::from_code(i32::from(cursor.i16_be()?))?;
        let encoding = Encoding::from_code(i32::from(cursor.i16_be()?))?;
        if version != Version::V2 {
            // The tombstone is always 0 and has no meaning.
            cursor.i64_be()?;
        }
        Ok(Self { marker, measurement, data_size, data_type, pages, compression, encoding })
    }

    /// Writes what [`ChunkHeader::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        out.push(self.marker);
        let data_size = len32(usize::try_from(self.data_size).unwrap_or(usize::MAX))?;
        if version.is_compact() {
            out.put_vstr(Some(&self.measurement))?;
            out.put_uvar(data_size.cast_unsigned());
            out.extend([self.data_type.code(), self.compression.code(), self.encoding.code()]);
            return Ok(());
        }
        out.put_string(&self.measurement)?;
        out.put_i32(data_size);
        out.put_i16(i16::from(self.data_type.code()));
        let pages = self.pages.ok_or_else(|| Error::internal("a chunk header has no number of pages"))?;
        out.put_i32(len32(pages as usize)?);
        out.put_i16(i16::from(self.compression.code()));
        out.put_i16(i16::from(self.encoding.code()));
        if version != Version::V2 {
            out.put_i64(0);
        }
        Ok(())
    }
}

/// Checks that a marker and a type agree about the column: readers find time columns by the type alone, in the metadata.
fn check_role(marker: u8, data_type: DataType) -> Result<()> {
    let is_times = data_type == DataType::Vector;
    let (marked, contradicts) = if marker & marker::VALUE_COLUMN != 0 {
        ("a value column", is_times)
    } else {
        ("a time column", !is_times && marker & marker::TIME_COLUMN != 0)
    };
    if contradicts {
        let message = format!("a chunk is marked as {marked}, but has type {}", data_type.name());
        return Err(Error::corrupt(message).class("bad_chunk"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_within_their_maximum_size() {
        for version in Version::ALL {
            let header = ChunkHeader {
                marker: marker::CHUNK,
                measurement: "温度".into(),
                data_size: 85,
                data_type: DataType::Int32,
                pages: (!version.is_compact()).then_some(1),
                compression: Compression::Lz4,
                encoding: Encoding::Rle,
            };
            let mut out = Vec::new();
            header.write(&mut out, version).unwrap();
            assert!(out.len() as u64 <= ChunkHeader::max_size("温度".len(), version));
            let mut cursor = Cursor::new(&out, 0, "chunk");
            assert_eq!(ChunkHeader::parse(&mut cursor, version).unwrap(), header);
            cursor.expect_end().unwrap();
        }
    }

    #[test]
    fn a_marker_that_contradicts_the_type_is_refused() {
        let header = |mark, data_type: DataType| {
            let header = ChunkHeader {
                marker: marker::ONE_PAGE_CHUNK | mark,
                measurement: String::new(),
                data_size: 1,
                data_type,
                pages: None,
                compression: Compression::Uncompressed,
                encoding: Encoding::Plain,
            };
            let mut out = Vec::new();
            header.write(&mut out, Version::V4).unwrap();
            ChunkHeader::parse(&mut Cursor::new(&out, 0, "chunk"), Version::V4).map(|_| ())
        };
        for (mark, data_type) in [
            (0, DataType::Text),
            (marker::TIME_COLUMN, DataType::Vector),
            (marker::VALUE_COLUMN, DataType::Text),
        ] {
            header(mark, data_type).unwrap();
        }
        for (mark, data_type) in
            [(marker::TIME_COLUMN, DataType::Text), (marker::VALUE_COLUMN, DataType::Vector)]
        {
            assert_eq!(header(mark, data_type).unwrap_err().class_name(), "bad_chunk");
        }
    }

    #[test]
    fn a_wrong_marker_is_refused() {
        let error = ChunkHeader::parse(&mut Cursor::new(&[9], 40, "chunk"), Version::V3).unwrap_err();
        assert_eq!((error.class_name(), error.byte_offset()), ("bad_marker", Some(40)));
    }
}
