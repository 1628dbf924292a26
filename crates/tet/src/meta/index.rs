//! The chunk index `TIDX`: a header and one row per chunk, read in place.
//!
//! | off | size | field |
//! |---|---|---|
//! | 0 | 4 | magic `TIDX` |
//! | 4 | 4 | index_version, 1 |
//! | 8 | 8 | entry_count |
//! | 16 | 2 | memory_budget_percent_bps |
//! | 20 | 4 | memory_budget_bytes |
//!
//! A row of 104 bytes: dataset_id 8, chunk_index 8 * 8, payload_offset 8, raw_byte_len 8, stored_byte_len 8, codec 4,
//! reserved 4. Rows stay bytes: a file with a million of them opens without building a list.

use std::collections::HashMap;
use std::sync::OnceLock;

use bytes::Bytes;
use tesselle_core::{Cursor, Error, Result};

use super::directory::MAX_RANK;
use super::geometry::Grid;
use super::regular;

const MAGIC: [u8; 4] = *b"TIDX";
const INDEX_VERSION: u32 = 1;

/// Hints to a query engine, kept in the index header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryBudget {
    /// Share of the free memory in hundredths of a percent; 0 is the engine's default.
    pub percent_bps: u16,
    /// A fixed cap in bytes; 0 leaves it to the share.
    pub bytes: u32,
}

/// How a chunk is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// The bytes of the chunk.
    Raw,
    /// Zstandard frames.
    Zstd,
}

impl Codec {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Zstd => "zstd",
        }
    }

    /// The maximum bytes that `stored` bytes can decode to: a zstd block takes at least 4 bytes and decodes to at most
    /// 128 KiB.
    pub(crate) fn capacity(self, stored: u64) -> u64 {
        match self {
            Self::Raw => stored,
            Self::Zstd => (stored / 4 + 1).saturating_mul(128 << 10),
        }
    }

    #[inline]
    pub(crate) fn from_tag(tag: u32) -> Option<Self> {
        match tag {
            0 => Some(Self::Raw),
            1 => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// The index header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) entry_count: u64,
    pub(crate) budget: MemoryBudget,
}

impl Header {
    pub(crate) const LEN: usize = 32;

    /// Parses the header of an index region of `region_len` bytes at `base`.
    pub(crate) fn parse(region: &[u8], base: u64) -> Result<Self> {
        let Some(head) = region.get(..Self::LEN) else {
            return Err(Error::corrupt(format!(
                "the chunk index has {} bytes, its header takes {}",
                region.len(),
                Self::LEN
            ))
            .class("index_too_short")
            .offset(24)
            .piece("superblock chunk_index_length"));
        };
        let mut cursor = Cursor::new(head, base, "chunk index header");
        let magic = cursor.array::<4>()?;
        if magic != MAGIC {
            return Err(Error::corrupt(format!(
                "the chunk index starts with {:?}, not with TIDX",
                String::from_utf8_lossy(&magic)
            ))
            .class("bad_index_magic")
            .offset(base)
            .piece("chunk index magic"));
        }
        let version = cursor.u32_le()?;
        if version != INDEX_VERSION {
            return Err(Error::unsupported(format!("index version {version} is not known, only 1 is"))
                .class("unsupported_index_version")
                .offset(base.saturating_add(4))
                .piece("chunk index index_version")
                .hint("the file may come from a newer writer"));
        }
        let entry_count = cursor.u64_le()?;
        let percent_bps = cursor.u16_le()?;
        cursor.skip(2)?;
        Ok(Self { entry_count, budget: MemoryBudget { percent_bps, bytes: cursor.u32_le()? } })
    }

    /// Fails for a row count that does not fill the region exactly.
    pub(crate) fn check_length(&self, region_len: u64, base: u64) -> Result<()> {
        if region_length(self.entry_count) == Some(region_len) {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "{} chunk rows do not match an index of {region_len} bytes",
            self.entry_count
        ))
        .class("bad_index_length")
        .offset(base.saturating_add(8))
        .piece("chunk index entry_count"))
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0..4].copy_from_slice(&MAGIC);
        out[4..8].copy_from_slice(&INDEX_VERSION.to_le_bytes());
        out[8..16].copy_from_slice(&self.entry_count.to_le_bytes());
        out[16..18].copy_from_slice(&self.budget.percent_bps.to_le_bytes());
        out[20..24].copy_from_slice(&self.budget.bytes.to_le_bytes());
        out
    }
}

/// The size of an index with this many rows; `None` if it exceeds 64 bits.
pub(crate) fn region_length(rows: u64) -> Option<u64> {
    rows.checked_mul(Row::LEN as u64)?.checked_add(Header::LEN as u64)
}

/// One row of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) dataset_id: u64,
    pub(crate) chunk: [u64; MAX_RANK],
    pub(crate) payload_offset: u64,
    pub(crate) raw_len: u64,
    pub(crate) stored_len: u64,
    pub(crate) codec: Codec,
}

/// A row as stored.
pub(crate) type RowBytes = [u8; Row::LEN];

#[inline]
pub(crate) fn u64_at<const AT: usize>(row: &RowBytes) -> u64 {
    const { assert!(AT + 8 <= Row::LEN) };
    let mut word = [0; 8];
    word.copy_from_slice(row.get(AT..AT + 8).unwrap_or(&[0; 8]));
    u64::from_le_bytes(word)
}

impl Row {
    pub(crate) const LEN: usize = 104;
    /// The offset of the codec in a row.
    const CODEC_AT: u64 = 96;
    const OFFSET_AT: u64 = 72;
    const RAW_LEN_AT: u64 = 80;

    #[inline]
    pub(crate) fn codec_tag(row: &RowBytes) -> u32 {
        u32::from_le_bytes([row[96], row[97], row[98], row[99]])
    }

    fn chunk_of(row: &RowBytes) -> [u64; MAX_RANK] {
        [
            u64_at::<8>(row),
            u64_at::<16>(row),
            u64_at::<24>(row),
            u64_at::<32>(row),
            u64_at::<40>(row),
            u64_at::<48>(row),
            u64_at::<56>(row),
            u64_at::<64>(row),
        ]
    }

    /// Parses a row; `None` when its codec is not known.
    pub(crate) fn parse(row: &RowBytes) -> Option<Self> {
        Some(Self {
            dataset_id: u64_at::<0>(row),
            chunk: Self::chunk_of(row),
            payload_offset: u64_at::<72>(row),
            raw_len: u64_at::<80>(row),
            stored_len: u64_at::<88>(row),
            codec: Codec::from_tag(Self::codec_tag(row))?,
        })
    }

    pub(crate) fn to_bytes(self) -> RowBytes {
        let mut out = [0; Self::LEN];
        out[0..8].copy_from_slice(&self.dataset_id.to_le_bytes());
        for (slot, at) in out[8..72].chunks_exact_mut(8).zip(self.chunk) {
            slot.copy_from_slice(&at.to_le_bytes());
        }
        out[72..80].copy_from_slice(&self.payload_offset.to_le_bytes());
        out[80..88].copy_from_slice(&self.raw_len.to_le_bytes());
        out[88..96].copy_from_slice(&self.stored_len.to_le_bytes());
        out[96..100].copy_from_slice(&u32::from(self.codec == Codec::Zstd).to_le_bytes());
        out
    }

    /// The coordinates of a dataset of this rank.
    pub(crate) fn chunk(&self, rank: usize) -> &[u64] {
        self.chunk.get(..rank).unwrap_or(&self.chunk)
    }

    /// The most bytes its payload can decode to.
    pub(crate) fn capacity(&self) -> u64 {
        self.codec.capacity(self.stored_len)
    }

    /// The byte range of its payload; valid once the index is checked.
    pub(crate) fn span(&self) -> std::ops::Range<u64> {
        self.payload_offset..self.payload_offset.saturating_add(self.stored_len)
    }

    /// Checks the guarantees of `open` for a row: a known codec, equal lengths when raw, a span below `payload_end`.
    pub(crate) fn check(row: &RowBytes, number: u64, base: u64, payload_end: u64) -> Result<Self> {
        let at = base.saturating_add(number.saturating_mul(Self::LEN as u64));
        let Some(parsed) = Self::parse(row) else {
            return Err(Error::unsupported(format!(
                "codec {} is not known, 0 (raw) and 1 (zstd) are",
                Self::codec_tag(row)
            ))
            .class("unsupported_codec")
            .offset(at.saturating_add(Self::CODEC_AT))
            .piece(format!("chunk {number} codec"))
            .hint("the file may come from a newer writer"));
        };
        if parsed.codec == Codec::Raw && parsed.raw_len != parsed.stored_len {
            return Err(Error::corrupt(format!(
                "a raw chunk states {} raw and {} stored bytes",
                parsed.raw_len, parsed.stored_len
            ))
            .class("raw_stored_mismatch")
            .offset(at.saturating_add(Self::RAW_LEN_AT))
            .piece(format!("chunk {number} raw_byte_len")));
        }
        let end = parsed.payload_offset.checked_add(parsed.stored_len);
        if end.is_none_or(|end| end > payload_end) {
            return Err(Error::corrupt(format!(
                "a chunk takes {} bytes at {}, payloads end at {payload_end}",
                parsed.stored_len, parsed.payload_offset
            ))
            .class("payload_out_of_bounds")
            .offset(at.saturating_add(Self::OFFSET_AT))
            .piece(format!("chunk {number} payload_offset")));
        }
        Ok(parsed)
    }
}

/// A summary of the rows of one dataset, from one pass over the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DatasetRows {
    /// Its first row.
    pub(crate) first: u64,
    /// How many rows it has.
    pub(crate) count: u64,
    /// All its rows are contiguous and list its whole grid in row-major order, so a row number is computable.
    pub(crate) regular: bool,
    /// Every row states the size of its chunk. Only known while `regular`.
    pub(crate) exact: bool,
    /// All payloads are raw and contiguous. Only known while `regular`.
    pub(crate) packed_raw: bool,
    /// The offset of the first payload.
    pub(crate) payload_offset: u64,
    /// Sum of the stored sizes.
    pub(crate) stored_bytes: u64,
    /// The maximum bytes its payloads can decode to.
    pub(crate) capacity: u64,
    /// The codec of its first row.
    pub(crate) codec: Codec,
}

impl DatasetRows {
    pub(crate) const NONE: Self = Self {
        first: 0,
        count: 0,
        regular: false,
        exact: false,
        packed_raw: false,
        payload_offset: 0,
        stored_bytes: 0,
        capacity: 0,
        codec: Codec::Raw,
    };
}

/// The rows of a file, in place, with their summary.
#[derive(Debug)]
pub(crate) struct Index {
    rows: Bytes,
    /// By dataset.
    pub(crate) datasets: Vec<DatasetRows>,
    /// Rows of datasets without a regular order, by dataset and row-major chunk number; the first one wins.
    irregular: OnceLock<HashMap<(u64, u64), u64>>,
}

impl Index {
    /// Checks all rows in one pass. `rows` are at `base`.
    pub(crate) fn try_new(rows: Bytes, base: u64, grids: &[Result<Grid>], payload_end: u64) -> Result<Self> {
        let listed = rows.as_chunks().0;
        let regular = regular::summarize(listed, grids, payload_end);
        let datasets = regular.map_or_else(|| Self::walk(listed, base, grids, payload_end), Ok)?;
        Ok(Self { rows, datasets, irregular: OnceLock::new() })
    }

    /// Checks rows in any order, one after the other.
    pub(crate) fn walk(
        rows: &[RowBytes],
        base: u64,
        grids: &[Result<Grid>],
        payload_end: u64,
    ) -> Result<Vec<DatasetRows>> {
        let mut datasets = vec![DatasetRows::NONE; grids.len()];
        let mut walk = Walk::default();
        for (number, bytes) in (0_u64..).zip(rows) {
            let row = Row::check(bytes, number, base, payload_end)?;
            let Ok(id) = usize::try_from(row.dataset_id) else { continue };
            let (Some(summary), Some(grid)) = (datasets.get_mut(id), grids.get(id)) else { continue };
            walk.step(&row, number, summary, grid.as_ref().ok());
        }
        for (summary, grid) in datasets.iter_mut().zip(grids) {
            summary.regular &= grid.as_ref().is_ok_and(|grid| grid.chunks == summary.count);
        }
        Ok(datasets)
    }

    /// An empty index.
    pub(crate) fn empty() -> Self {
        Self { rows: Bytes::new(), datasets: Vec::new(), irregular: OnceLock::new() }
    }

    pub(crate) fn len(&self) -> u64 {
        (self.rows.len() / Row::LEN) as u64
    }

    /// A row by number.
    pub(crate) fn row(&self, number: u64) -> Option<Row> {
        let number = usize::try_from(number).ok()?;
        self.rows.as_chunks::<{ Row::LEN }>().0.get(number).and_then(Row::parse)
    }

    /// All rows, in file order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Row> + '_ {
        self.rows.as_chunks::<{ Row::LEN }>().0.iter().filter_map(Row::parse)
    }

    /// The row of a chunk, given by coordinates inside the grid; the first one if several have these coordinates.
    pub(crate) fn find(&self, id: usize, grids: &[Result<Grid>], chunk: &[u64]) -> Option<(u64, Row)> {
        let summary = self.datasets.get(id)?;
        let linear = grids.get(id)?.as_ref().ok()?.linear(chunk)?;
        let number = if summary.regular {
            summary.first.checked_add(linear)?
        } else {
            *self.irregular.get_or_init(|| self.map_irregular(grids)).get(&(id as u64, linear))?
        };
        Some((number, self.row(number)?))
    }

    fn map_irregular(&self, grids: &[Result<Grid>]) -> HashMap<(u64, u64), u64> {
        let mut map = HashMap::new();
        for (number, row) in (0_u64..).zip(self.iter()) {
            let Ok(id) = usize::try_from(row.dataset_id) else { continue };
            let irregular = self.datasets.get(id).is_some_and(|summary| !summary.regular);
            let Some(Ok(grid)) = grids.get(id).filter(|_| irregular) else { continue };
            if let Some(linear) = grid.linear(row.chunk(grid.rank())) {
                map.entry((row.dataset_id, linear)).or_insert(number);
            }
        }
        map
    }
}

/// Follows the rows of one dataset through its grid, like an odometer.
#[derive(Debug, Default)]
struct Walk {
    dataset_id: Option<u64>,
    expected: [u64; MAX_RANK],
    next_offset: u64,
}

impl Walk {
    fn step(&mut self, row: &Row, number: u64, summary: &mut DatasetRows, grid: Option<&Grid>) {
        if self.dataset_id != Some(row.dataset_id) {
            *self =
                Self { dataset_id: Some(row.dataset_id), next_offset: row.payload_offset, ..Self::default() };
            let seen = summary.count > 0;
            if !seen {
                summary.first = number;
                summary.payload_offset = row.payload_offset;
                summary.codec = row.codec;
            }
            // Rows in two separate groups have no computable number.
            summary.regular = !seen && grid.is_some();
            summary.exact = true;
            summary.packed_raw = true;
        }
        summary.count += 1;
        summary.stored_bytes = summary.stored_bytes.saturating_add(row.stored_len);
        summary.capacity = summary.capacity.saturating_add(row.capacity());
        let Some(grid) = grid.filter(|_| summary.regular) else { return };
        let expected = self.expected.get(..grid.rank()).unwrap_or(&self.expected);
        if row.chunk(grid.rank()) != expected {
            summary.regular = false;
            return;
        }
        summary.exact &= grid.chunk_bytes(expected) == row.raw_len;
        summary.packed_raw &= row.codec == Codec::Raw && row.payload_offset == self.next_offset;
        self.next_offset = row.payload_offset.saturating_add(row.stored_len);
        for (at, count) in self.expected.iter_mut().zip(&grid.counts).rev() {
            *at += 1;
            if *at < *count {
                break;
            }
            *at = 0;
        }
    }
}
