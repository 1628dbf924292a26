//! An array in memory, cut into tiles.

use std::ops::Range;

use bytes::Bytes;

use crate::array::{ArrayView, CopyAxis, DType, TileBytes, TileGrid, copy_box};
use crate::error::{Error, Result};
use crate::selection::Region;

/// Tiles in memory, as a format that stores them raw would hold them.
#[derive(Debug, Clone)]
pub struct TiledArray {
    dtype: DType,
    shape: Vec<u64>,
    tile_shape: Vec<u64>,
    names: Vec<String>,
    tiles: Vec<Bytes>,
    whole: Option<Bytes>,
    decoded: bool,
}

impl TiledArray {
    /// Cuts row-major cells into tiles.
    pub fn new(dtype: DType, shape: &[u64], tile_shape: &[u64], cells: &[u8]) -> Result<Self> {
        let size = dtype.size();
        let grid = TileGrid::new(shape, tile_shape, &Region::whole(shape))?;
        let count = Region::whole(shape).cells().and_then(|n| n.checked_mul(size as u64));
        if count != Some(cells.len() as u64) {
            return Err(Error::invalid("the cells do not fill the shape"));
        }
        let tiles = grid.combinations(0..shape.len()).map(|parts| {
            let (mut src, mut dst, mut start) = (size, size, 0);
            let mut axes = Vec::new();
            for (part, extent) in parts.iter().zip(shape).rev() {
                axes.push(CopyAxis { len: part.len as usize, src, dst });
                start += part.index as usize * src;
                src *= *extent as usize;
                dst *= part.len as usize;
            }
            axes.reverse();
            let mut tile = vec![0; dst];
            let copied = copy_box(size, &axes, cells.get(start..).unwrap_or_default(), &mut tile);
            assert!(copied, "the cells fill the shape");
            Bytes::from(tile)
        });
        Ok(Self {
            dtype,
            shape: shape.to_vec(),
            tile_shape: tile_shape.to_vec(),
            names: (0..shape.len()).map(|axis| format!("axis_{axis}")).collect(),
            tiles: tiles.collect(),
            whole: None,
            decoded: false,
        })
    }

    /// Also offers the array as one slice.
    #[must_use]
    pub fn contiguous_in(mut self, cells: impl Into<Bytes>) -> Self {
        self.whole = Some(cells.into());
        self
    }

    /// Copies tiles into the reader's scratch buffer, as a format that decodes them does.
    #[must_use]
    pub fn decoded(mut self) -> Self {
        self.decoded = true;
        self
    }
}

impl ArrayView for TiledArray {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn tile_shape(&self) -> &[u64] {
        &self.tile_shape
    }

    fn axis_names(&self) -> &[String] {
        &self.names
    }

    fn tile<'s>(&self, tile: &[u64], rows: Range<u64>, scratch: &'s mut Vec<u8>) -> Result<TileBytes<'s>> {
        let mut number = 0;
        let mut row = self.dtype.size();
        for (axis, ((position, extent), tile_extent)) in
            tile.iter().zip(&self.shape).zip(&self.tile_shape).enumerate()
        {
            number = number * extent.div_ceil(*tile_extent) as usize + *position as usize;
            if axis > 0 {
                row *= (extent - position * tile_extent).min(*tile_extent) as usize;
            }
        }
        let bytes = self.tiles.get(number).ok_or_else(|| Error::internal("there is no such tile"))?;
        let (start, end) = (rows.start as usize * row, rows.end as usize * row);
        if end > bytes.len() {
            return Err(Error::internal("there are no such rows"));
        }
        let part = bytes.slice(start..end);
        if !self.decoded {
            return Ok(TileBytes::Shared(part));
        }
        scratch.clear();
        scratch.extend_from_slice(&part);
        Ok(TileBytes::Scratch(scratch))
    }

    fn contiguous(&self) -> Option<Bytes> {
        self.whole.clone()
    }
}
