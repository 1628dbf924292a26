//! Cutting and encoding tiles; pure, for any thread.

use std::borrow::Cow;

use tesselle_codec::compress::zstd;
use tesselle_core::array::{AxisCopy, BoxCopy};
use tesselle_core::{Error, Result};

use crate::meta::geometry::Grid;
use crate::meta::index::Codec;
use crate::meta::statistics::TileStatistics;

/// How the tiles of one dataset are encoded.
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
    pub(crate) statistics: Option<TileStatistics>,
}

impl Encoder {
    /// Encodes a decoded tile.
    pub(crate) fn encode<'a>(&self, grid: &Grid, tile: Cow<'a, [u8]>) -> Result<Encoded<'a>> {
        let statistics = self.statistics.then(|| TileStatistics::of(grid.dtype, self.fill.as_deref(), &tile));
        let payload = match self.codec {
            Codec::Raw => tile,
            Codec::Zstd => {
                let mut out = Vec::new();
                let level = self.level.unwrap_or(zstd::DEFAULT_LEVEL);
                if self.checksum {
                    zstd::compress_with_checksum(level, &tile, &mut out)?;
                } else {
                    zstd::compress(level, &tile, &mut out)?;
                }
                Cow::Owned(out)
            }
        };
        Ok(Encoded { codec: self.codec, payload, statistics })
    }
}

/// Cuts one tile out of the rows of its band: `rows` hold, row-major, all positions that the tile covers on the first
/// axis and everything of the others.
pub(crate) fn cut<'a>(grid: &Grid, tile: &[u64], rows: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    let extents = grid.extents(tile);
    let axes = extents.iter().zip(tile).zip(grid.shape.iter().zip(&grid.chunk_shape)).enumerate().map(
        |(axis, ((len, at), (extent, chunk)))| AxisCopy {
            len: *len,
            src_first: if axis == 0 { 0 } else { at * chunk },
            src_step: 1,
            src_extent: if axis == 0 { *len } else { *extent },
            dst_first: 0,
            dst_extent: *len,
        },
    );
    let copy = BoxCopy::new(axes, grid.dtype.size());
    let size = usize::try_from(grid.tile_bytes(tile))
        .map_err(|_| Error::limit("a tile exceeds the address space"))?;
    let short = || Error::internal("a band is shorter than its tiles");
    if copy.is_one_run() {
        return rows.get(copy.src_start..copy.src_start + size).map(Cow::Borrowed).ok_or_else(short);
    }
    let mut out = vec![0; size];
    copy.copy(rows.get(copy.src_start..).ok_or_else(short)?, &mut out)?;
    Ok(Cow::Owned(out))
}
