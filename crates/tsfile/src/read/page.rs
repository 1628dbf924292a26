//! A page: decompressed, split, decoded.

use std::ops::Range;

use bytes::Bytes;
use tesselle_codec::compress;
use tesselle_core::{Context as _, Cursor, Error, Result};

use super::column::{DecodedValues, NONE};
use super::values;
use crate::meta::{ChunkHeader, Compression, Encoding, PageHeader, Physical, Statistics, Version};

/// Maximum decompressed size of a page, regardless of its header. The original aims at 64 KiB.
const MAX_PAGE_BYTES: u64 = 1 << 29;

/// A page in the bytes of its chunk.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Its header.
    pub(crate) header: PageHeader,
    /// The absolute offset of the header.
    pub(crate) offset: u64,
    /// The absolute offset of the compressed bytes.
    pub(crate) start: u64,
    /// The compressed bytes; empty if only the header was read.
    pub(crate) data: Bytes,
}

/// Splits the bytes of a chunk, which start at `offset`, into its pages.
pub(crate) fn split(header: &ChunkHeader, version: Version, bytes: &Bytes, offset: u64) -> Result<Vec<Page>> {
    let mut cursor = Cursor::new(bytes, offset, "page header");
    let mut pages = Vec::new();
    while !cursor.is_empty() {
        let at = cursor.offset();
        let page = PageHeader::parse(&mut cursor, header, version)?;
        let (start, from) = (cursor.offset(), cursor.position());
        cursor.bytes_u64(u64::from(page.compressed_size)).in_piece(|| format!("page {}", pages.len()))?;
        pages.push(Page { header: page, offset: at, start, data: bytes.slice(from..cursor.position()) });
    }
    if header.pages.is_some_and(|n| n as usize != pages.len()) {
        let message =
            format!("a chunk states {} pages and has {}", header.pages.unwrap_or_default(), pages.len());
        return Err(Error::corrupt(message).class("bad_count").offset(offset));
    }
    Ok(pages)
}

impl Page {
    /// The range of the compressed bytes.
    pub(crate) fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(u64::from(self.header.compressed_size))
    }

    /// The bytes before compression; stored in `scratch` unless the page is uncompressed.
    pub(crate) fn unfold<'a>(
        &'a self,
        compression: Compression,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8]> {
        self.unfold_bytes(compression, scratch).at_offset(self.offset)
    }

    fn unfold_bytes<'a>(&'a self, compression: Compression, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let (size, stored) = (u64::from(self.header.uncompressed_size), self.data.len() as u64);
        // The maximum expansion ratio of each compressor.
        let ratio = match compression {
            Compression::Uncompressed => {
                if size != stored {
                    let message = format!("an uncompressed page has {stored} bytes and states {size}");
                    return Err(Error::corrupt(message).class("bad_length"));
                }
                return Ok(&self.data);
            }
            Compression::Snappy => 64,
            Compression::Lz4 | Compression::Lzo => 256,
            Compression::Gzip => 1040,
            Compression::Zstd | Compression::Lzma2 => u64::MAX,
        };
        if size > MAX_PAGE_BYTES || size > stored.saturating_mul(ratio).saturating_add(64) {
            let message = format!("a page of {stored} bytes cannot decompress to {size}");
            return Err(Error::corrupt(message).class("bad_length"));
        }
        // The bytes of an earlier page are overwritten completely: a page that decompresses to less than
        // stated is an error.
        scratch.resize(size as usize, 0);
        compress::decompress_into(compression.compressor(), &self.data, scratch)?;
        Ok(scratch)
    }
}

/// The two columns of an ordinary page.
pub(crate) fn split_columns(bytes: &[u8], offset: u64) -> Result<(&[u8], &[u8])> {
    let mut cursor = Cursor::new(bytes, 0, "page");
    let length = cursor.uvarint().at_offset(offset)?;
    let times = cursor.bytes_u64(length).map_err(|_| {
        let message = format!("the time column of a page takes {length} bytes, the page has {}", bytes.len());
        Error::corrupt(message).class("bad_length").offset(offset)
    })?;
    Ok((times, cursor.rest()))
}

/// Appends the points of an ordinary page to `times` and `column` (`None` if only times are needed).
pub(crate) fn decode_points(
    page: &Page,
    header: &ChunkHeader,
    version: Version,
    statistics: Option<&Statistics>,
    times: &mut Vec<i64>,
    column: Option<&mut DecodedValues>,
) -> Result<()> {
    if page.header.uncompressed_size == 0 {
        return Ok(());
    }
    let mut scratch = Vec::new();
    let bytes = page.unfold(header.compression, &mut scratch)?;
    let (time_bytes, value_bytes) = split_columns(bytes, page.offset)?;
    let statistics = page.header.statistics.as_ref().or(statistics);
    let before = times.len();
    times.extend(values::decode_times(time_bytes, None, statistics).at_offset(page.offset)?);
    if let Some(column) = column {
        let count = times.len() - before;
        values::decode(column, header.encoding, version, value_bytes, count, statistics)
            .at_offset(page.offset)?;
    }
    Ok(())
}

/// The times of a page of a time column.
pub(crate) fn decode_time_page(
    page: &Page,
    header: &ChunkHeader,
    statistics: Option<&Statistics>,
    scratch: &mut Vec<u8>,
) -> Result<Vec<i64>> {
    if page.header.uncompressed_size == 0 {
        return Ok(Vec::new());
    }
    let bytes = page.unfold(header.compression, scratch)?;
    let statistics = page.header.statistics.as_ref().or(statistics);
    // A time column with an encoding that never applies to times uses the default encoding: some writers
    // leave the field at PLAIN.
    values::decode_times(bytes, Some(header.encoding), statistics)
        .or_else(|error| match header.encoding {
            Encoding::Ts2Diff => Err(error),
            _ => values::decode_times(bytes, None, statistics),
        })
        .at_offset(page.offset)
}

/// The values of a page of an aligned column: one row per time of the matching time page.
#[derive(Debug)]
pub(crate) struct AlignedValues {
    /// The stored values.
    pub(crate) values: DecodedValues,
    /// For each row the index of its value, or [`NONE`]; absent if every row has a value.
    pub(crate) picks: Option<Vec<u32>>,
}

/// Decodes the first `wanted` of the `rows` rows of a page of an aligned value column.
pub(crate) fn decode_aligned(
    page: &Page,
    header: &ChunkHeader,
    version: Version,
    physical: Physical,
    statistics: Option<&Statistics>,
    (rows, wanted): (usize, usize),
    scratch: &mut Vec<u8>,
) -> Result<AlignedValues> {
    let mut values = DecodedValues::new(physical);
    if page.header.uncompressed_size == 0 {
        return Ok(AlignedValues { values, picks: Some(vec![NONE; rows]) });
    }
    let bytes = page.unfold(header.compression, scratch)?;
    let mut cursor = Cursor::new(bytes, 0, "aligned page");
    let stated = cursor.i32_be().at_offset(page.offset)?;
    if usize::try_from(stated).ok() != Some(rows) {
        let message = format!("a page of an aligned column has {stated} rows, the time column {rows}");
        return Err(Error::corrupt(message).class("bad_count").offset(page.offset));
    }
    let bitmap = cursor.bytes(rows.div_ceil(8)).at_offset(page.offset)?;
    let (picks, present) = unpack(bitmap, rows.min(wanted));
    let statistics = page.header.statistics.as_ref().or(statistics);
    values::decode(&mut values, header.encoding, version, cursor.rest(), present, statistics)
        .at_offset(page.offset)?;
    Ok(AlignedValues { values, picks })
}

/// The value index of each row, and the number of values; `None` if all rows have one.
fn unpack(bitmap: &[u8], rows: usize) -> (Option<Vec<u32>>, usize) {
    // Bits after the last row are ignored.
    let bits = bitmap.iter().take(rows.div_ceil(8)).enumerate().map(|(i, byte)| {
        let real = rows.saturating_sub(i * 8).min(8);
        byte & !(0xff_u16 >> real) as u8
    });
    let present: usize = bits.clone().map(|byte| byte.count_ones() as usize).sum();
    if present == rows {
        return (None, rows);
    }
    let mut picks = Vec::with_capacity(rows);
    let mut next = 0_u32;
    for (i, byte) in bits.enumerate() {
        for bit in 0..rows.saturating_sub(i * 8).min(8) {
            let is_present = byte & (0x80 >> bit) != 0;
            picks.push(if is_present { next } else { NONE });
            next += u32::from(is_present);
        }
    }
    (Some(picks), present)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitmaps_start_with_the_most_significant_bit() {
        assert_eq!(unpack(&[0b1010_0000], 3), (Some(vec![0, NONE, 1]), 2));
        assert_eq!(unpack(&[0xff, 0b1100_0000], 10), (None, 10));
        assert_eq!(unpack(&[0xff, 0b0111_1111], 10), (Some(vec![0, 1, 2, 3, 4, 5, 6, 7, NONE, 8]), 9));
        assert_eq!(unpack(&[], 0), (None, 0));
    }
}
