//! The chunks of a tile body: finding them, and where to cut when writing (spec §4).

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
        let cell = self.chunk_cell().max(1);
        let chunk = (len.min(MAX_CHUNK as usize) / cell * cell).max(cell);
        match offsets {
            Some(offsets) if self.kind == TileKind::Var && len != chunk => var_cuts(len, chunk, offsets),
            _ => (0..len).step_by(chunk).map(|start| (start + chunk).min(len)).collect(),
        }
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
