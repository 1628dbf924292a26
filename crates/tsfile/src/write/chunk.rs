//! Points to chunks: cut into pages, encode, compress, put the headers before them.

use super::encode::Coding;
use super::statistics::{of_points, of_times};
use super::values::{Rows, Slice, Values};
use crate::meta::primitive::len32;
use crate::meta::schema::MeasurementSchema;
use crate::meta::{
    ChunkHeader, Compression, DataType, Encoding, PageHeader, PutPrimitives, Statistics, Version, marker,
};
use std::ops::Range;
use tesselle_codec::compress::compress;
use tesselle_core::{Context as _, Error, Result};

/// How much goes into one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageLimits {
    /// Points.
    pub(crate) points: usize,
    /// Bytes of the largest column before encoding.
    pub(crate) bytes: usize,
}

/// What every chunk of a file is written with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// The layout of the file.
    pub(crate) version: Version,
    /// How times are encoded; only aligned groups say so in the file.
    pub(crate) time_encoding: Encoding,
    /// How much goes into one page.
    pub(crate) pages: PageLimits,
    /// Whether values that would come back as something else are refused.
    pub(crate) exact: bool,
}

/// A chunk in bytes, and what the metadata will say about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EncodedChunk {
    /// The header, whose size and marker fit the pages.
    pub(crate) header: ChunkHeader,
    /// The pages.
    pub(crate) body: Vec<u8>,
    /// Over all pages.
    pub(crate) statistics: Statistics,
}

impl EncodedChunk {
    /// Writes header and pages.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        self.header.write(out, version)?;
        out.extend_from_slice(&self.body);
        Ok(())
    }
}

/// The decimals that RLE and TS_2DIFF keep of floats, from the properties of a series.
pub(crate) fn decimals(schema: &MeasurementSchema) -> Result<u32> {
    let Some((_, text)) = schema.properties.iter().find(|(key, _)| key == MAX_POINT_NUMBER) else {
        return Ok(DEFAULT_DECIMALS);
    };
    let number: i32 = text.parse().map_err(|_| {
        Error::invalid(format!("{MAX_POINT_NUMBER} '{text}' of '{}' is not a number", schema.name))
    })?;
    // A negative setting counts as none.
    Ok(u32::try_from(number).unwrap_or(DEFAULT_DECIMALS))
}

/// The property that names the decimals.
pub(crate) const MAX_POINT_NUMBER: &str = "max_point_number";
const DEFAULT_DECIMALS: u32 = 2;

/// Cuts `rows` rows into pages so that no column outgrows the limits.
pub(crate) fn page_ranges(rows: usize, limits: PageLimits, columns: &[&Values]) -> Vec<Range<usize>> {
    let points = limits.points.max(1);
    let mut pages = Vec::new();
    let mut start = 0;
    while start < rows {
        let mut end = rows.min(start + points);
        for column in columns {
            end = end.min(fit(column, start, end, limits.bytes));
        }
        pages.push(start..end);
        start = end;
    }
    pages
}

/// Where a page that starts at `start` has to end for this column; at least one row fits.
fn fit(column: &Values, start: usize, end: usize, bytes: usize) -> usize {
    if !matches!(column, Values::Binary(_)) {
        let rows = bytes / column.row_size(start).max(8);
        return end.min(start + rows.max(1));
    }
    let mut left = bytes.saturating_sub(column.row_size(start));
    for i in start + 1..end {
        let size = column.row_size(i);
        if size > left {
            return i;
        }
        left -= size;
    }
    end
}

/// Builds the pages of a chunk.
struct Pages {
    version: Version,
    compression: Compression,
    /// Headers and stored bytes; no bytes for a page without a value.
    pages: Vec<(PageHeader, Vec<u8>)>,
    statistics: Statistics,
}

impl Pages {
    fn new(version: Version, compression: Compression) -> Self {
        Self { version, compression, pages: Vec::new(), statistics: Statistics::default() }
    }

    fn push(&mut self, raw: &[u8], statistics: Statistics) -> Result<()> {
        let mut stored = Vec::new();
        compress(self.compression.compressor(), None, raw, &mut stored)?;
        self.statistics.merge(&statistics, self.version);
        let header = PageHeader {
            uncompressed_size: len32(raw.len())?.cast_unsigned(),
            compressed_size: len32(stored.len())?.cast_unsigned(),
            statistics: Some(statistics),
        };
        self.pages.push((header, stored));
        Ok(())
    }

    fn push_empty(&mut self) {
        let header = PageHeader { uncompressed_size: 0, compressed_size: 0, statistics: None };
        self.pages.push((header, Vec::new()));
    }

    /// Puts headers before pages. From version 3 on a single page leaves its statistics to the metadata, and a
    /// chunk without a value has no pages at all.
    fn finish(mut self, mut header: ChunkHeader) -> Result<EncodedChunk> {
        if self.statistics.count == 0 {
            self.pages.clear();
        }
        if self.version.is_compact() {
            let kind = if self.pages.len() > 1 { marker::CHUNK } else { marker::ONE_PAGE_CHUNK };
            header.marker |= kind;
        } else {
            header.marker = marker::CHUNK;
            header.pages = Some(len32(self.pages.len())?.cast_unsigned());
        }
        let mut body = Vec::new();
        for (page, stored) in &self.pages {
            page.write(&mut body, &header, self.version)?;
            body.extend_from_slice(stored);
        }
        header.data_size = body.len() as u64;
        Ok(EncodedChunk { header, body, statistics: self.statistics })
    }
}

fn header(schema: &MeasurementSchema, mark: u8) -> ChunkHeader {
    ChunkHeader {
        marker: mark,
        measurement: schema.name.clone(),
        data_size: 0,
        data_type: schema.data_type,
        pages: None,
        compression: schema.compression,
        encoding: schema.encoding,
    }
}

fn time_coding(setting: &Setting) -> Coding {
    Coding { encoding: setting.time_encoding, decimals: 0, version: setting.version, exact: true }
}

fn value_coding(schema: &MeasurementSchema, setting: &Setting) -> Result<Coding> {
    let decimals = decimals(schema)?;
    Ok(Coding { encoding: schema.encoding, decimals, version: setting.version, exact: setting.exact })
}

/// The chunk of an ordinary series.
pub(crate) fn ordinary(
    schema: &MeasurementSchema,
    times: &[i64],
    values: &Values,
    setting: &Setting,
) -> Result<EncodedChunk> {
    let ranges = page_ranges(times.len(), setting.pages, &[values]);
    ordinary_pages(schema, times, values, setting, &ranges)
        .in_piece(|| format!("measurement '{}'", schema.name.escape_debug()))
}

/// As [`ordinary`], with the pages given.
pub(crate) fn ordinary_pages(
    schema: &MeasurementSchema,
    times: &[i64],
    values: &Values,
    setting: &Setting,
    ranges: &[Range<usize>],
) -> Result<EncodedChunk> {
    let coding = value_coding(schema, setting)?;
    let mut pages = Pages::new(setting.version, schema.compression);
    let (mut column, mut raw) = (Vec::new(), Vec::new());
    for range in ranges {
        let part = times.get(range.clone()).unwrap_or_default();
        let slice = values.slice(range.clone());
        column.clear();
        raw.clear();
        time_coding(setting).encode(Slice::Int64(part), &mut column)?;
        raw.put_uvar(len32(column.len())?.cast_unsigned());
        raw.extend_from_slice(&column);
        coding.encode(slice, &mut raw)?;
        pages.push(&raw, of_points(part, slice, setting.version))?;
    }
    pages.finish(header(schema, 0))
}

/// The time chunk of an aligned group.
pub(crate) fn aligned_times(
    times: &[i64],
    compression: Compression,
    setting: &Setting,
    ranges: &[Range<usize>],
) -> Result<EncodedChunk> {
    let mut pages = Pages::new(setting.version, compression);
    let mut raw = Vec::new();
    for range in ranges {
        let part = times.get(range.clone()).unwrap_or_default();
        raw.clear();
        time_coding(setting).encode(Slice::Int64(part), &mut raw)?;
        pages.push(&raw, of_times(part))?;
    }
    let schema = MeasurementSchema {
        name: String::new(),
        data_type: DataType::Vector,
        encoding: setting.time_encoding,
        compression,
        properties: Vec::new(),
    };
    pages.finish(header(&schema, marker::TIME_COLUMN))
}

/// A value chunk of an aligned group; `present` says which rows have a value.
pub(crate) fn aligned_values(
    schema: &MeasurementSchema,
    times: &[i64],
    values: &Values,
    present: &[bool],
    setting: &Setting,
    ranges: &[Range<usize>],
) -> Result<EncodedChunk> {
    let coding = value_coding(schema, setting)?;
    let mut pages = Pages::new(setting.version, schema.compression);
    let mut raw = Vec::new();
    for range in ranges {
        let mask = present.get(range.clone()).unwrap_or_default();
        let rows: Vec<usize> = range.clone().zip(mask).filter(|(_, p)| **p).map(|(i, _)| i).collect();
        if rows.is_empty() {
            pages.push_empty();
            continue;
        }
        let mut page_times = Vec::with_capacity(rows.len());
        Rows::At(&rows).copy(times, &mut page_times);
        let picked;
        let slice = if rows.len() == mask.len() {
            values.slice(range.clone())
        } else {
            picked = values.pick(&rows);
            picked.slice(0..rows.len())
        };
        raw.clear();
        raw.put_i32(len32(mask.len())?);
        put_bitmap(mask, &mut raw);
        coding.encode(slice, &mut raw)?;
        pages.push(&raw, of_points(&page_times, slice, setting.version))?;
    }
    pages
        .finish(header(schema, marker::VALUE_COLUMN))
        .in_piece(|| format!("measurement '{}'", schema.name.escape_debug()))
}

/// One bit per row, the first in the highest bit.
fn put_bitmap(mask: &[bool], out: &mut Vec<u8>) {
    out.extend(mask.chunks(8).map(|rows| {
        rows.iter().enumerate().fold(0u8, |byte, (i, &set)| if set { byte | 0x80 >> i } else { byte })
    }));
}
