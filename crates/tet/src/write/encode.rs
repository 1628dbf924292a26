//! Cutting and encoding of chunks, on any thread.

use std::borrow::Cow;

use tesselle_codec::compress::zstd;
use tesselle_core::array::{AxisCopy, BoxCopy};
use tesselle_core::{Error, Result};

use crate::meta::geometry::Grid;
use crate::meta::index::Codec;
use crate::meta::statistics::ChunkStatistics;

/// How the chunks of one dataset are encoded.
#[derive(Debug, Clone)]
pub(crate) struct Encoder {
    pub(crate) codec: Codec,
    pub(crate) level: Option<i32>,
    /// Whether frames carry a checksum.
    pub(crate) checksum: bool,
    /// The null sentinel, little-endian.
    pub(crate) fill: Option<Vec<u8>>,
    /// Whether zone maps are wanted.
    pub(crate) statistics: bool,
}

/// A payload.
#[derive(Debug)]
pub(crate) struct Encoded<'a> {
    pub(crate) codec: Codec,
    pub(crate) payload: Cow<'a, [u8]>,
    pub(crate) statistics: Option<ChunkStatistics>,
}

impl Encoder {
    /// Encodes a decoded chunk.
    pub(crate) fn encode<'a>(&self, grid: &Grid, chunk: Cow<'a, [u8]>) -> Result<Encoded<'a>> {
        let statistics =
            self.statistics.then(|| ChunkStatistics::of(grid.dtype, self.fill.as_deref(), &chunk));
        let payload = match self.codec {
            Codec::Raw => chunk,
            Codec::Zstd => {
                let mut out = Vec::new();
                let level = self.level.unwrap_or(zstd::DEFAULT_LEVEL);
                if self.checksum {
                    zstd::compress_with_checksum(level, &chunk, &mut out)?;
                } else {
                    zstd::compress(level, &chunk, &mut out)?;
                }
                Cow::Owned(out)
            }
        };
        Ok(Encoded { codec: self.codec, payload, statistics })
    }
}

/// Cuts one chunk out of the rows of its band: `rows` contains, row-major, all positions of the chunk on the first axis
/// and everything of the other axes. Returns it if it is there in one piece; otherwise it is put into `buffer`.
pub(crate) fn cut<'a>(
    grid: &Grid,
    chunk: &[u64],
    rows: &'a [u8],
    buffer: &mut Vec<u8>,
) -> Result<Option<&'a [u8]>> {
    let extents = grid.extents(chunk);
    let axes = extents.iter().zip(chunk).zip(grid.shape.iter().zip(&grid.chunk_shape)).enumerate().map(
        |(axis, ((len, at), (extent, edge)))| AxisCopy {
            len: *len,
            src_first: if axis == 0 { 0 } else { at * edge },
            src_step: 1,
            src_extent: if axis == 0 { *len } else { *extent },
            dst_first: 0,
            dst_extent: *len,
        },
    );
    let copy = BoxCopy::new(axes, grid.dtype.size());
    let size = usize::try_from(grid.chunk_bytes(chunk))
        .map_err(|_| Error::limit("a chunk exceeds the address space"))?;
    let short = || Error::internal("a band is shorter than its chunks");
    if copy.is_one_run() {
        return rows.get(copy.src_start..copy.src_start + size).map(Some).ok_or_else(short);
    }
    buffer.resize(size, 0);
    copy.copy(rows.get(copy.src_start..).ok_or_else(short)?, buffer)?;
    Ok(None)
}
