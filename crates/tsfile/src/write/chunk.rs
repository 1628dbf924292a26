//! From pages to chunks: page boundaries, and the headers before pages.

use std::ops::Range;

use tesselle_core::{Error, Result};

use super::encode::{Coding, Decimals, USUAL_DECIMALS};
use super::page::EncodedPage;
use super::values::Slice;
use crate::meta::primitive::len32;
use crate::meta::schema::MeasurementSchema;
use crate::meta::{ChunkHeader, Encoding, Statistics, Version, marker};

/// Maximum contents of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageLimits {
    /// Number of points.
    pub(crate) points: usize,
    /// Bytes of the largest column before encoding.
    pub(crate) bytes: usize,
}

/// Settings for every chunk of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// The version of the file.
    pub(crate) version: Version,
    /// The encoding of times; only aligned groups record it in the file.
    pub(crate) time_encoding: Encoding,
    /// Maximum contents of one page.
    pub(crate) pages: PageLimits,
    /// Whether values that would not round-trip are refused.
    pub(crate) exact: bool,
    /// Whether chunks whose encoding would change values get another one.
    pub(crate) fallback: bool,
}

/// An encoded chunk, and its statistics for the metadata.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EncodedChunk {
    /// The header, with the size and marker of the pages.
    pub(crate) header: ChunkHeader,
    /// The pages.
    pub(crate) body: Vec<u8>,
    /// Statistics over all pages.
    pub(crate) statistics: Statistics,
    /// Number of values rounded to the requested decimals.
    pub(crate) rounded: u64,
    /// The requested encoding, if it would have changed values.
    pub(crate) refused: Option<Encoding>,
}

/// The decimals that RLE and TS_2DIFF preserve of floats, from the properties of a series.
pub(crate) fn decimals(schema: &MeasurementSchema) -> Result<Decimals> {
    let Some((_, value)) = schema.properties.iter().find(|(key, _)| key == MAX_POINT_NUMBER) else {
        return Ok(Decimals::Fitting);
    };
    let number: i32 = value.parse().map_err(|_| {
        Error::invalid(format!("{MAX_POINT_NUMBER} '{value}' of '{}' is not a number", schema.name))
    })?;
    // A negative setting is ignored.
    Ok(u32::try_from(number).map_or(Decimals::Fitting, Decimals::Fixed))
}

/// The property with the number of decimals.
pub(crate) const MAX_POINT_NUMBER: &str = "max_point_number";

/// The pages of `ranges` that are final: all but the last, and that one too if it is full.
pub(crate) fn closed(mut ranges: Vec<Range<usize>>, limits: PageLimits) -> Vec<Range<usize>> {
    if ranges.last().is_some_and(|last| last.len() < limits.points) {
        ranges.pop();
    }
    ranges
}

/// Splits `rows` rows into pages so that no column exceeds the limits.
pub(crate) fn page_ranges(rows: usize, limits: PageLimits, columns: &[Slice<'_>]) -> Vec<Range<usize>> {
    let points = limits.points.max(1);
    let mut pages = Vec::new();
    let mut start = 0;
    while start < rows {
        let mut end = rows.min(start + points);
        for column in columns {
            end = end.min(fit(*column, start, end, limits.bytes));
        }
        pages.push(start..end);
        start = end;
    }
    pages
}

/// The end of a page that starts at `start` for this column; at least one row fits.
fn fit(column: Slice<'_>, start: usize, end: usize, bytes: usize) -> usize {
    if !matches!(column, Slice::Binary(_)) {
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

/// The pages of an unfinished chunk.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    pages: Vec<EncodedPage>,
    statistics: Statistics,
}

impl Pages {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Appends a page.
    pub(crate) fn push(&mut self, page: EncodedPage, version: Version) {
        if let Some(statistics) = &page.header.statistics {
            self.statistics.merge(statistics, version);
        }
        self.pages.push(page);
    }

    /// Appends the next page of several, if there is one.
    pub(crate) fn push_next(&mut self, pages: &mut impl Iterator<Item = EncodedPage>, version: Version) {
        if let Some(page) = pages.next() {
            self.push(page, version);
        }
    }

    /// Builds the chunk of these pages and `rest`. From version 3 on the statistics of a single page are only
    /// in the metadata, and a chunk without a value has no pages.
    pub(crate) fn chunk(
        &self,
        rest: &[EncodedPage],
        mut header: ChunkHeader,
        version: Version,
    ) -> Result<EncodedChunk> {
        let mut statistics = self.statistics.clone();
        for page in rest.iter().filter_map(|page| page.header.statistics.as_ref()) {
            statistics.merge(page, version);
        }
        let any = statistics.count > 0;
        let pages = || self.pages.iter().chain(rest).filter(|_| any);
        let count = pages().count();
        if version.is_compact() {
            header.marker |= if count > 1 { marker::CHUNK } else { marker::ONE_PAGE_CHUNK };
        } else {
            header.marker = marker::CHUNK;
            header.pages = Some(len32(count)?.cast_unsigned());
        }
        // A header takes less than 100 bytes except for strings.
        let mut body = Vec::with_capacity(pages().map(|page| page.stored.len() + 100).sum());
        for page in pages() {
            page.header.write(&mut body, &header, version)?;
            body.extend_from_slice(&page.stored);
        }
        header.data_size = body.len() as u64;
        let rounded = self.pages.iter().chain(rest).map(|page| page.rounded).sum();
        Ok(EncodedChunk { header, body, statistics, rounded, refused: None })
    }
}

/// The header of a chunk of this series, before its pages are known.
pub(crate) fn header(schema: &MeasurementSchema, mark: u8) -> ChunkHeader {
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

impl Setting {
    /// The encoding of times.
    pub(crate) fn time_coding(&self) -> Coding {
        let decimals = Decimals::Fixed(0);
        Coding { encoding: self.time_encoding, decimals, version: self.version, exact: true }
    }

    /// The encoding of the values of a series.
    pub(crate) fn value_coding(&self, schema: &MeasurementSchema) -> Result<Coding> {
        let decimals = match decimals(schema)? {
            Decimals::Fitting if !self.exact => Decimals::Fixed(USUAL_DECIMALS),
            decimals => decimals,
        };
        Ok(Coding { encoding: schema.encoding, decimals, version: self.version, exact: self.exact })
    }
}
