//! Cutting and encoding of chunks, on any thread.

use std::borrow::Cow;

use tesselle_codec::compress::zstd;
use tesselle_core::array::{AxisCopy, BoxCopy};
use tesselle_core::{Error, Result};

use crate::meta::geometry::Grid;
use crate::meta::index::Codec;
use crate::meta::statistics::ChunkStatistics;

/// Many parts shorter than this take the system longer than one copy of them.
const SHORTEST_PART: usize = 1 << 10;

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
    let (copy, src) = copy_of(grid, chunk, rows)?;
    let size = copy.bytes();
    if copy.is_one_run() {
        return src.get(..size).map(Some).ok_or_else(short);
    }
    buffer.resize(size, 0);
    copy.copy(src, buffer)?;
    Ok(None)
}

/// Whether whole chunks consist of parts of the rows that are long enough to be written without a copy.
pub(crate) fn has_long_parts(grid: &Grid, rows: &[u8]) -> Result<bool> {
    let (copy, _) = copy_of(grid, &vec![0; grid.rank()], rows)?;
    Ok(copy.run() >= SHORTEST_PART)
}

/// The parts of a chunk in the rows of its band, in order.
pub(crate) fn parts<'a>(grid: &Grid, chunk: &[u64], rows: &'a [u8]) -> Result<Vec<&'a [u8]>> {
    let (copy, src) = copy_of(grid, chunk, rows)?;
    copy.source_runs(src)
}

/// The copy of a chunk out of the rows of its band, and the rows from its first element on.
fn copy_of<'a>(grid: &Grid, chunk: &[u64], rows: &'a [u8]) -> Result<(BoxCopy, &'a [u8])> {
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
    let size = usize::try_from(grid.chunk_bytes(chunk));
    size.map_err(|_| Error::limit("a chunk exceeds the address space"))?;
    let copy = BoxCopy::new(axes, grid.dtype.size());
    let src = rows.get(copy.src_start..).ok_or_else(short)?;
    Ok((copy, src))
}

fn short() -> Error {
    Error::internal("a band is shorter than its chunks")
}
