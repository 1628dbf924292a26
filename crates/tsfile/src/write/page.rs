//! One page: its columns encoded, joined and compressed, with the statistics of its points.

use tesselle_codec::compress::compress;
use tesselle_core::{Context as _, Driver, Result};

use super::chunk::Setting;
use super::encode::Coding;
use super::statistics::{of_points, of_times};
use super::values::{Rows, Slice};
use crate::meta::primitive::len32;
use crate::meta::{Compression, Encoding, PageHeader, PutPrimitives, Statistics};

/// An encoded page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EncodedPage {
    /// Its header, with statistics unless it has no value.
    pub(crate) header: PageHeader,
    /// The bytes after the header.
    pub(crate) stored: Vec<u8>,
    /// Number of values rounded to the requested decimals.
    pub(crate) rounded: u64,
}

/// A page to be encoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageJob<'a> {
    /// The measurement, for messages.
    pub(crate) name: &'a str,
    /// The time of each row.
    pub(crate) times: &'a [i64],
    /// The kind of page, with its values.
    pub(crate) content: Content<'a>,
    /// The compressor.
    pub(crate) compression: Compression,
}

/// The contents of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    /// Times and values of an ordinary series.
    Points(Coding, Slice<'a>),
    /// The times of an aligned device.
    Times,
    /// A column of an aligned device, and which rows have a value (`None`: all).
    Column(Coding, Slice<'a>, Option<&'a [bool]>),
}

/// Encodes pages, in parallel if there are several.
pub(crate) fn encode_all(
    jobs: &[PageJob<'_>],
    setting: &Setting,
    driver: &Driver,
) -> Result<Vec<EncodedPage>> {
    if jobs.len() < 2 || driver.threads() < 2 {
        return jobs.iter().map(|job| job.run(setting)).collect();
    }
    driver.try_map(jobs, |job| job.run(setting))
}

impl PageJob<'_> {
    /// The same page in another encoding.
    pub(crate) fn encoded_as(mut self, encoding: Encoding) -> Self {
        match &mut self.content {
            Content::Points(coding, _) | Content::Column(coding, ..) => coding.encoding = encoding,
            Content::Times => {}
        }
        self
    }

    /// Encodes the page.
    pub(crate) fn run(&self, setting: &Setting) -> Result<EncodedPage> {
        self.encode(setting).in_piece(|| format!("measurement '{}'", self.name.escape_debug()))
    }

    fn encode(&self, setting: &Setting) -> Result<EncodedPage> {
        let mut raw = Vec::new();
        let mut rounded = 0;
        let statistics = match &self.content {
            Content::Points(coding, values) => {
                let mut column = Vec::new();
                setting.time_coding().encode(Slice::Int64(self.times), &mut column)?;
                raw.put_uvar(len32(column.len())?.cast_unsigned());
                raw.extend_from_slice(&column);
                coding.encode(*values, &mut raw)?;
                rounded = coding.rounded(*values);
                of_points(self.times, *values, setting.version)
            }
            Content::Times => {
                setting.time_coding().encode(Slice::Int64(self.times), &mut raw)?;
                of_times(self.times)
            }
            Content::Column(coding, values, present) => {
                let mask = present.filter(|mask| mask.iter().any(|there| !there));
                raw.put_i32(len32(self.times.len())?);
                let Some(mask) = mask else {
                    put_full_bitmap(self.times.len(), &mut raw);
                    coding.encode(*values, &mut raw)?;
                    let statistics = of_points(self.times, *values, setting.version);
                    return self.finish(raw, statistics, coding.rounded(*values));
                };
                put_bitmap(mask, &mut raw);
                let mut times = Vec::new();
                Rows::Where(mask).copy(self.times, &mut times);
                if times.is_empty() {
                    return Ok(EncodedPage::empty());
                }
                let there = values.copy(Rows::Where(mask));
                coding.encode(there.as_slice(), &mut raw)?;
                rounded = coding.rounded(there.as_slice());
                of_points(&times, there.as_slice(), setting.version)
            }
        };
        self.finish(raw, statistics, rounded)
    }

    fn finish(&self, raw: Vec<u8>, statistics: Statistics, rounded: u64) -> Result<EncodedPage> {
        let uncompressed_size = len32(raw.len())?.cast_unsigned();
        let stored = if self.compression == Compression::Uncompressed {
            raw
        } else {
            let mut stored = Vec::new();
            compress(self.compression.compressor(), None, &raw, &mut stored)?;
            stored
        };
        let compressed_size = len32(stored.len())?.cast_unsigned();
        let header = PageHeader { uncompressed_size, compressed_size, statistics: Some(statistics) };
        Ok(EncodedPage { header, stored, rounded })
    }
}

impl EncodedPage {
    /// A page of an aligned column without a value.
    fn empty() -> Self {
        let header = PageHeader { uncompressed_size: 0, compressed_size: 0, statistics: None };
        Self { header, stored: Vec::new(), rounded: 0 }
    }
}

/// One bit per row, the first in the highest bit.
fn put_bitmap(mask: &[bool], out: &mut Vec<u8>) {
    out.extend(mask.chunks(8).map(|rows| {
        rows.iter().enumerate().fold(0u8, |byte, (i, &set)| if set { byte | 0x80 >> i } else { byte })
    }));
}

/// A bitmap in which every row has a value.
fn put_full_bitmap(rows: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + rows / 8, 0xff);
    if !rows.is_multiple_of(8) {
        out.push(!(0xff_u8 >> (rows % 8)));
    }
}
