//! `TimeseriesMetadata` of version 000002 and later: one series of one device with its chunks.
//!
//! Version 000002 stores the chunk list elsewhere in the file and refers to it; later versions append it.

use tesselle_core::{Cursor, Result};

use super::primitive::Primitives as _;
use super::{DataType, PutPrimitives, Statistics, Version, primitive::len32};

/// Set in the kind byte when there is more than one chunk.
const MANY_CHUNKS: u8 = 0x01;
/// Set by the Java library for the time column of an aligned device.
const TIME_COLUMN: u8 = 0x80;
/// Set by the Java library for the value columns of an aligned device.
const VALUE_COLUMN: u8 = 0x40;

/// Whether each chunk of the list has statistics of its own: true if any bit other than those of aligned
/// columns is set.
fn has_many_chunks(kind: u8) -> bool {
    kind & !(TIME_COLUMN | VALUE_COLUMN) != 0
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimeseriesMetadata {
    /// The kind byte, as stored.
    pub kind: u8,
    /// The measurement; empty for the time column of an aligned device.
    pub measurement: String,
    /// The type of the values.
    pub data_type: DataType,
    /// Merged over the chunks.
    pub statistics: Statistics,
    /// In file order.
    pub chunks: Vec<TimeseriesChunk>,
}

/// One chunk of a series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimeseriesChunk {
    /// Offset of the chunk header's marker.
    pub offset: u64,
    /// Statistics of the chunk.
    pub statistics: Statistics,
}

/// A series with one chunk, which shares the statistics of the series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OneChunk<'a> {
    /// The measurement; empty for the time column of an aligned device.
    pub(crate) measurement: &'a str,
    /// The type of the values.
    pub(crate) data_type: DataType,
    /// Statistics of the chunk.
    pub(crate) statistics: Statistics,
    /// Offset of the chunk header's marker.
    pub(crate) offset: u64,
}

impl<'a> OneChunk<'a> {
    /// Reads a series of version 3 and later; `None` unless it has exactly one chunk.
    pub(crate) fn parse(cursor: &mut Cursor<'a>, version: Version) -> Result<Option<Self>> {
        let kind = cursor.u8()?;
        let measurement = cursor.vstr()?;
        let data_type = DataType::from_code(i32::from(cursor.u8()?))?;
        let list = cursor.uvar()?;
        let statistics = Statistics::parse(cursor, data_type, version)?;
        if has_many_chunks(kind) || list != 8 {
            cursor.bytes_u64(u64::from(list))?;
            return Ok(None);
        }
        let offset = cursor.offset64()?;
        Ok(Some(Self { measurement, data_type, statistics, offset }))
    }
}

impl TimeseriesMetadata {
    /// The kind byte of a series.
    pub(crate) fn kind_of(chunks: usize, time_column: bool, value_column: bool) -> u8 {
        let many = if chunks > 1 { MANY_CHUNKS } else { 0 };
        many | if time_column { TIME_COLUMN } else { 0 } | if value_column { VALUE_COLUMN } else { 0 }
    }

    /// Reads a series of version 3 and later.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        let kind = cursor.u8()?;
        let measurement = cursor.vstr()?.to_string();
        let data_type = DataType::from_code(i32::from(cursor.u8()?))?;
        let list = cursor.uvar()?;
        let statistics = Statistics::parse(cursor, data_type, version)?;
        let mut list = cursor.sub(u64::from(list), "chunk metadata list")?;
        let mut chunks = Vec::new();
        while !list.is_empty() {
            let offset = list.offset64()?;
            // The statistics of the series are those of its only chunk.
            let statistics = if has_many_chunks(kind) {
                Statistics::parse(&mut list, data_type, version)?
            } else {
                statistics.clone()
            };
            chunks.push(TimeseriesChunk { offset, statistics });
        }
        Ok(Self { kind, measurement, data_type, statistics, chunks })
    }

    /// Writes what [`TimeseriesMetadata::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        out.push(self.kind);
        out.put_vstr(Some(&self.measurement))?;
        out.push(self.data_type.code());
        let mut list = Vec::new();
        for chunk in &self.chunks {
            list.put_i64(chunk.offset.cast_signed());
            if has_many_chunks(self.kind) {
                chunk.statistics.write(&mut list, self.data_type, version)?;
            }
        }
        out.put_uvar(len32(list.len())?.cast_unsigned());
        self.statistics.write(out, self.data_type, version)?;
        out.extend_from_slice(&list);
        Ok(())
    }

    /// Reads a series of version 000002. `at` returns the bytes of an absolute range of the metadata section.
    pub(crate) fn parse_v2<'a>(
        cursor: &mut Cursor<'a>,
        at: impl FnOnce(u64, u64) -> Result<Cursor<'a>>,
    ) -> Result<Self> {
        let measurement = cursor.string()?.to_string();
        let data_type = DataType::from_code(i32::from(cursor.i16_be()?))?;
        let (list_offset, list_size) = (cursor.offset64()?, cursor.len32()?);
        let statistics = Statistics::parse(cursor, data_type, Version::V2)?;
        let mut list = at(list_offset, list_size)?;
        let mut chunks = Vec::new();
        while !list.is_empty() {
            let name = list.string()?;
            if name != measurement {
                let message = format!(
                    "a chunk of '{}' is listed under '{}'",
                    name.escape_debug(),
                    measurement.escape_debug()
                );
                return Err(list.corrupt(message).class("bad_chunk_list"));
            }
            let offset = list.offset64()?;
            let chunk_type = DataType::from_code(i32::from(list.i16_be()?))?;
            let statistics = Statistics::parse(&mut list, chunk_type, Version::V2)?;
            chunks.push(TimeseriesChunk { offset, statistics });
        }
        Ok(Self { kind: 0, measurement, data_type, statistics, chunks })
    }

    /// Writes the chunk list of version 000002.
    pub(crate) fn write_chunk_list_v2(&self, out: &mut Vec<u8>) -> Result<()> {
        for chunk in &self.chunks {
            out.put_string(&self.measurement)?;
            out.put_i64(chunk.offset.cast_signed());
            out.put_i16(i16::from(self.data_type.code()));
            chunk.statistics.write(out, self.data_type, Version::V2)?;
        }
        Ok(())
    }

    /// Writes a series of version 000002 with a chunk list at `list_offset`.
    pub(crate) fn write_v2(&self, out: &mut Vec<u8>, list_offset: u64, list_size: usize) -> Result<()> {
        out.put_string(&self.measurement)?;
        out.put_i16(i16::from(self.data_type.code()));
        out.put_i64(list_offset.cast_signed());
        out.put_i32(len32(list_size)?);
        self.statistics.write(out, self.data_type, Version::V2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_with_one_chunk_reads_the_same_without_its_list() {
        for (chunks, one) in [(1, true), (2, false), (0, false)] {
            let series = series(chunks);
            let mut out = Vec::new();
            series.write(&mut out, Version::V4).unwrap();
            let mut cursor = Cursor::new(&out, 0, "series");
            let found = OneChunk::parse(&mut cursor, Version::V4).unwrap();
            cursor.expect_end().unwrap();
            assert_eq!(found.is_some(), one);
            if let Some(found) = found {
                assert_eq!(found.measurement, series.measurement);
                assert_eq!((found.offset, found.statistics), (series.chunks[0].offset, series.statistics));
            }
        }
    }

    fn series(chunks: usize) -> TimeseriesMetadata {
        let statistics = Statistics { count: 2, start_time: 1, end_time: 2, ..Statistics::default() };
        TimeseriesMetadata {
            kind: TimeseriesMetadata::kind_of(chunks, true, false),
            measurement: String::new(),
            data_type: DataType::Vector,
            statistics: statistics.clone(),
            chunks: (0..chunks)
                .map(|i| TimeseriesChunk { offset: 12 + i as u64, statistics: statistics.clone() })
                .collect(),
        }
    }

    #[test]
    fn one_and_many_chunks_round_trip() {
        for chunks in [1, 3] {
            let series = series(chunks);
            let mut out = Vec::new();
            series.write(&mut out, Version::V3).unwrap();
            let mut cursor = Cursor::new(&out, 0, "series");
            assert_eq!(TimeseriesMetadata::parse(&mut cursor, Version::V3).unwrap(), series);
            cursor.expect_end().unwrap();
        }
    }

    #[test]
    fn version_2_stores_its_chunk_list_elsewhere() {
        let series = TimeseriesMetadata { kind: 0, measurement: "s".into(), ..series(2) };
        let (mut list, mut out) = (Vec::new(), Vec::new());
        series.write_chunk_list_v2(&mut list).unwrap();
        series.write_v2(&mut out, 500, list.len()).unwrap();
        let read = TimeseriesMetadata::parse_v2(&mut Cursor::new(&out, 0, "series"), |offset, size| {
            assert_eq!((offset, size), (500, list.len() as u64));
            Ok(Cursor::new(&list, offset, "list"))
        });
        assert_eq!(read.unwrap(), series);
    }
}
