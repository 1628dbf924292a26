//! Tiles as readers want them: those of the array, or cut at will from an array that lies in memory as a whole.

use bytes::Bytes;

use super::{ArrayView, DType, TileBytes, TileGrid, TilePart};
use crate::error::{Error, Result};
use crate::selection::Region;

/// Cells of a tile that is cut at will: large enough to keep a thread busy, small enough to share the work.
const CUT_CELLS: u64 = 1 << 20;
/// The longest row of such a tile.
const CUT_ROW: u64 = 1 << 16;

/// Where tiles come from.
pub(crate) struct TileSource<'a> {
    array: &'a dyn ArrayView,
    whole: Option<Whole>,
}

struct Whole {
    bytes: Bytes,
    tile_shape: Vec<u64>,
}

/// A tile: its bytes from the first wanted cell on, and the distance of wanted cells on each axis.
pub(crate) struct Tile<'s> {
    bytes: TileBytes<'s>,
    start: usize,
    pub(crate) strides: Vec<usize>,
}

impl Tile<'_> {
    /// The bytes from the first wanted cell on.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

impl<'a> TileSource<'a> {
    pub(crate) fn new(array: &'a dyn ArrayView) -> Self {
        let shape = array.shape();
        let cells = shape.iter().try_fold(1_u64, |n, extent| n.checked_mul(*extent));
        let size = cells.and_then(|n| n.checked_mul(array.dtype().size() as u64));
        let bytes = array.contiguous().filter(|bytes| Some(bytes.len() as u64) == size);
        let whole = bytes.map(|bytes| Whole { bytes, tile_shape: cut(shape) });
        Self { array, whole }
    }

    pub(crate) fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// Whether a tile costs no memory.
    pub(crate) fn is_shared(&self) -> bool {
        self.whole.is_some()
    }

    /// The tiles that `region` touches.
    pub(crate) fn grid(&self, region: &Region) -> Result<TileGrid> {
        let tile_shape = self.whole.as_ref().map_or(self.array.tile_shape(), |whole| &whole.tile_shape);
        TileGrid::new(self.array.shape(), tile_shape, region)
    }

    /// The tile at `parts`, of which every `steps`th cell is wanted.
    pub(crate) fn load<'s>(
        &self,
        parts: &[TilePart],
        steps: impl DoubleEndedIterator<Item = u64> + ExactSizeIterator,
        scratch: &'s mut Vec<u8>,
    ) -> Result<Tile<'s>> {
        let size = self.array.dtype().size();
        let mut strides = vec![0; parts.len()];
        let mut stride = size;
        let mut start = 0;
        let axes = parts.iter().zip(steps).zip(&mut strides).enumerate().rev();
        if let Some(whole) = &self.whole {
            for (axis, ((part, step), place)) in axes {
                let first = part.tile * whole.tile_shape.get(axis).copied().unwrap_or(1) + part.first;
                start += first as usize * stride;
                *place = (step as usize).saturating_mul(stride);
                stride *= self.array.shape().get(axis).copied().unwrap_or(1) as usize;
            }
            return Ok(Tile { bytes: TileBytes::Shared(whole.bytes.clone()), start, strides });
        }
        let mut rows = 0..1;
        for (axis, ((part, step), place)) in axes {
            *place = (step as usize).saturating_mul(stride);
            if axis == 0 {
                // Only the wanted rows are decoded, so the first of them is the first of the bytes.
                rows = part.first..part.first + (part.len - 1) * step + 1;
                stride *= (rows.end - rows.start) as usize;
            } else {
                start += part.first as usize * stride;
                stride *= part.extent as usize;
            }
        }
        let coordinates: Vec<u64> = parts.iter().map(|part| part.tile).collect();
        let bytes = self.array.tile(&coordinates, rows, scratch)?;
        if bytes.len() != stride {
            let (found, name) = (bytes.len(), coordinates);
            return Err(Error::internal(format!("tile {name:?} has {found} bytes instead of {stride}")));
        }
        Ok(Tile { bytes, start, strides })
    }

    /// Decodes a whole tile straight into its place; `false` where tiles are not decoded at all.
    pub(crate) fn load_into(&self, parts: &[TilePart], dst: &mut [u8]) -> Result<bool> {
        if self.whole.is_some() {
            return Ok(false);
        }
        let coordinates: Vec<u64> = parts.iter().map(|part| part.tile).collect();
        self.array.tile_into(&coordinates, dst).map(|()| true)
    }
}

fn cut(shape: &[u64]) -> Vec<u64> {
    let mut left = CUT_CELLS;
    let mut tile: Vec<u64> = Vec::with_capacity(shape.len());
    for extent in shape.iter().rev() {
        let most = if tile.is_empty() && shape.len() > 1 { CUT_ROW } else { left };
        let cells = (*extent).clamp(1, most.max(1));
        left = (left / cells).max(1);
        tile.push(cells);
    }
    tile.reverse();
    tile
}
