//! The chunks of a tile body: finding them, and where to cut when writing (spec §4).

use std::ops::Range;

use bytes::Bytes;
use tesselle_core::{Cursor, Error};

use super::{MAX_CHUNK, TileCodec, TileKind};
use crate::Result;

/// One chunk of a tile body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk<'a> {
    /// Where its bytes begin in the tile.
    pub start: usize,
    /// Bytes it decodes to.
    pub original: usize,
    /// Metadata written by the filters.
    pub metadata: &'a [u8],
    /// The filtered bytes.
    pub data: &'a [u8],
}

impl TileCodec {
    /// The chunks of a body whose tile has `len` bytes.
    pub(crate) fn chunks(body: &[u8], len: usize) -> Result<Vec<Chunk<'_>>> {
        let mut cursor = Cursor::new(body, 0, "tile");
        let stated = cursor.u64_le()?;
        let count = cursor.count(stated, 12)?;
        let mut chunks = Vec::with_capacity(count);
        let mut start = 0_usize;
        for _ in 0..count {
            let original = cursor.u32_le()? as usize;
            let filtered = cursor.u32_le()?;
            let metadata = cursor.u32_le()?;
            let metadata = cursor.bytes_u64(metadata.into())?;
            let data = cursor.bytes_u64(filtered.into())?;
            chunks.push(Chunk { start, original, metadata, data });
            start = start.saturating_add(original);
        }
        cursor.expect_end()?;
        if start != len {
            return Err(Error::corrupt(format!("the chunks of a tile have {start} bytes, expected {len}")));
        }
        Ok(chunks)
    }

    /// Where to cut a tile of `len` bytes: the end of each chunk. `offsets` are those of variable-length cells.
    pub(super) fn cuts(&self, len: usize, offsets: Option<&[u64]>) -> Vec<usize> {
        if self.whole_tile {
            return vec![len];
        }
        let chunk = self.chunk_bytes(len);
        match offsets {
            Some(offsets) if self.kind == TileKind::Var && len != chunk => var_cuts(len, chunk, offsets),
            _ => (0..len).step_by(chunk).map(|start| (start + chunk).min(len)).collect(),
        }
    }

    /// Bytes of each chunk but the last of a tile of `len` bytes that is cut.
    fn chunk_bytes(&self, len: usize) -> usize {
        let cell = self.chunk_cell().max(1);
        (len.min(MAX_CHUNK as usize) / cell * cell).max(cell)
    }
}

/// The chunks of a tile that is stored without filters. Its size shows where they have to be if they are cut as usual,
/// which nothing guarantees: their headers, fetched with them, confirm it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlainChunks {
    /// Bytes of the tile.
    len: usize,
    /// Bytes of each chunk but the last.
    each: usize,
}

impl PlainChunks {
    const HEADER: usize = 12;

    /// The chunks of a tile of `len` bytes that has `stored` bytes; `None` unless they have no filter and this size.
    pub(crate) fn of(codec: &TileCodec, len: usize, stored: u64) -> Option<Self> {
        if !codec.is_plain() || len == 0 {
            return None;
        }
        let each = codec.chunk_bytes(len);
        let headers = len.div_ceil(each).checked_mul(Self::HEADER)?.checked_add(8)?;
        (headers.checked_add(len)? as u64 == stored).then_some(Self { len, each })
    }

    /// Where in the stored tile the chunks with the bytes `wanted` are, with their headers.
    pub(crate) fn stored(&self, wanted: &Range<usize>) -> Range<u64> {
        let (first, last) = self.numbers(wanted);
        let start = first * (self.each + Self::HEADER) + 8;
        let end = (last + 1) * Self::HEADER + ((last + 1) * self.each).min(self.len) + 8;
        start as u64..end as u64
    }

    /// The bytes `wanted` of the tile from those of [`PlainChunks::stored`]; `None` if the chunks are cut otherwise.
    pub(crate) fn take(&self, wanted: &Range<usize>, fetched: &Bytes) -> Option<Vec<Bytes>> {
        let (first, last) = self.numbers(wanted);
        let mut cursor = Cursor::new(fetched, 0, "tile");
        let mut parts = Vec::with_capacity(last + 1 - first);
        for number in first..=last {
            let start = number * self.each;
            let original = self.each.min(self.len - start);
            let header = [cursor.u32_le().ok()?, cursor.u32_le().ok()?, cursor.u32_le().ok()?];
            if header.map(|size| size as usize) != [original, original, 0] {
                return None;
            }
            let at = cursor.position();
            cursor.skip(original).ok()?;
            let (from, to) = (wanted.start.max(start) - start, (wanted.end - start).min(original));
            parts.push(fetched.slice(at + from..at + to));
        }
        Some(parts)
    }

    /// The first and the last chunk with the bytes `wanted`, which are not empty.
    fn numbers(&self, wanted: &Range<usize>) -> (usize, usize) {
        (wanted.start / self.each, (wanted.end.max(wanted.start + 1) - 1) / self.each)
    }
}

/// Chunks that end between cells, from half to one and a half times the target size where cells allow it.
fn var_cuts(len: usize, chunk: usize, offsets: &[u64]) -> Vec<usize> {
    let ends = offsets.iter().skip(1).map(|offset| *offset as usize).chain([len]);
    let (mut cuts, mut start, mut previous) = (Vec::new(), 0, 0);
    for end in ends {
        let (open, cell) = (previous - start, end.saturating_sub(previous));
        if open + cell > chunk {
            if open <= chunk / 2 || open + cell <= chunk + chunk / 2 {
                cuts.push(end);
                start = end;
            } else {
                cuts.push(previous);
                start = previous;
                if cell > chunk {
                    cuts.push(end);
                    start = end;
                }
            }
        }
        previous = end;
    }
    if start < len {
        cuts.push(len);
    }
    cuts
}
