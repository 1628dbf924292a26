//! An array in memory, cut into tiles.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::array::{ArrayView, CopyAxis, DType, Place, TileGrid, clipped, copy_box};
use crate::error::{Error, Result};
use crate::selection::Region;
use crate::storage::{MemoryStorage, Storage};
use crate::task::ByteRange;

/// Tiles in memory, as a format that stores them uncompressed would have them.
#[derive(Debug, Clone)]
pub struct TiledArray {
    dtype: DType,
    shape: Vec<u64>,
    tile_shape: Vec<u64>,
    names: Vec<String>,
    tiles: Vec<Bytes>,
    whole: Option<Bytes>,
    storage: Option<(MemoryStorage, String)>,
    decoded: bool,
    by_rows: bool,
}

impl TiledArray {
    /// Cuts row-major cells into tiles.
    pub fn try_new(dtype: DType, shape: &[u64], tile_shape: &[u64], cells: &[u8]) -> Result<Self> {
        let size = dtype.size();
        let grid = TileGrid::try_new(shape, tile_shape, &Region::whole(shape))?;
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
            storage: None,
            decoded: false,
            by_rows: false,
        })
    }

    /// Also offers the array as one slice.
    #[must_use]
    pub fn contiguous_in(mut self, cells: impl Into<Bytes>) -> Self {
        self.whole = Some(cells.into());
        self
    }

    /// Keeps the tiles in a storage, uncompressed.
    #[must_use]
    pub fn stored(self) -> Self {
        self.stored_in(&MemoryStorage::new(), "")
    }

    /// Keeps the tiles in this storage, under names that start with `prefix`.
    #[must_use]
    pub fn stored_in(mut self, storage: &MemoryStorage, prefix: &str) -> Self {
        for (number, tile) in self.tiles.iter().enumerate() {
            storage.put(format!("{prefix}{number}"), tile.clone());
        }
        self.storage = Some((storage.clone(), prefix.to_owned()));
        self
    }

    /// Keeps the tiles in a storage and decodes them, as a format that compresses them does.
    #[must_use]
    pub fn decoded(mut self) -> Self {
        self.decoded = true;
        if self.storage.is_some() { self } else { self.stored() }
    }

    /// Like [`TiledArray::decoded`], but only the requested rows of a tile are decoded.
    #[must_use]
    pub fn decoded_by_rows(mut self) -> Self {
        self.by_rows = true;
        self.decoded()
    }

    /// The number of a tile, row-major.
    fn number(&self, tile: &[u64]) -> usize {
        let axes = tile.iter().zip(&self.shape).zip(&self.tile_shape);
        axes.fold(0, |number, ((position, extent), tile_extent)| {
            number * extent.div_ceil(*tile_extent) as usize + *position as usize
        })
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

    fn locate(&self, tile: &[u64], rows: &Range<u64>) -> Result<Place> {
        let number = self.number(tile);
        let bytes = self.tiles.get(number).ok_or_else(|| Error::internal("there is no such tile"))?;
        Ok(match &self.storage {
            Some((_, prefix)) => {
                let mut range = 0..bytes.len() as u64;
                if self.by_rows {
                    let extent = clipped(&self.shape, &self.tile_shape, tile).first().copied().unwrap_or(1);
                    let row = range.end / extent.max(1);
                    range = rows.start * row..rows.end.min(extent) * row;
                }
                let range = ByteRange::new(format!("{prefix}{number}"), range);
                if self.decoded { Place::Encoded(vec![range]) } else { Place::Raw(range) }
            }
            None => Place::Held(bytes.clone()),
        })
    }

    fn decode(&self, _tile: &[u64], _rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        let [bytes] = fetched else { return Err(Error::internal("a tile has one range")) };
        dst.copy_from_slice(bytes);
        Ok(())
    }

    fn storage(&self) -> Option<Arc<dyn Storage>> {
        self.storage.clone().map(|(storage, _)| Arc::new(storage) as Arc<dyn Storage>)
    }

    fn is_raw(&self) -> bool {
        !self.decoded
    }

    fn decodes_rows(&self) -> bool {
        self.by_rows
    }

    fn whole(&self) -> Option<Place> {
        self.whole.clone().map(Place::Held)
    }
}
