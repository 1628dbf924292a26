//! The array face of a dataset: tiles, borrowed where the storage holds them as they are.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::array::TileBytes;
use tesselle_core::{ArrayView, ColumnStats, Context, DType, Error, Known, Result};

use super::axes;
use super::opened::Opened;
use crate::meta::geometry::Grid;
use crate::meta::index::Codec;

/// One dataset as a grid of numbers.
#[derive(Debug)]
pub(crate) struct Array {
    opened: Arc<Opened>,
    id: usize,
    grid: Grid,
    names: Vec<String>,
}

impl Array {
    pub(crate) fn new(opened: &Arc<Opened>, id: usize) -> Result<Self> {
        let grid = opened
            .grid(id)
            .in_file(opened.location.path())
            .in_piece(|| format!("dataset '{}'", opened.name(id)))?
            .clone();
        let dataset =
            opened.catalog.datasets.get(id).ok_or_else(|| Error::internal("a dataset is not there"))?;
        let names = axes::names(dataset, opened.catalog.metadata_of(&dataset.name));
        Ok(Self { opened: Arc::clone(opened), id, grid, names })
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }
}

impl ArrayView for Array {
    fn dtype(&self) -> DType {
        self.grid.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.grid.shape
    }

    fn tile_shape(&self) -> &[u64] {
        &self.grid.chunk_shape
    }

    fn axis_names(&self) -> &[String] {
        &self.names
    }

    fn stats(&self) -> ColumnStats {
        let pieces = self.opened.zones().map(|zones| {
            let tiles = 0..self.grid.tiles;
            ColumnStats::of_pieces(tiles.map(|tile| zones.bounds(&self.opened, self.id, tile)))
        });
        // Cells are never null, whatever zone maps count.
        ColumnStats { nulls: Known::Exact(0), ..pieces.unwrap_or_default() }
    }

    fn tile<'s>(&self, tile: &[u64], rows: Range<u64>, scratch: &'s mut Vec<u8>) -> Result<TileBytes<'s>> {
        let row = self.opened.tile_row(self.id, &self.grid, tile)?;
        let extents = self.grid.extents(tile);
        let slab =
            extents.iter().take(self.grid.rank()).skip(1).product::<u64>() * self.grid.dtype.size() as u64;
        let first = extents.first().copied().unwrap_or(0);
        if rows.start > rows.end || rows.end > first {
            return Err(Error::internal("rows outside the tile are wanted"));
        }
        let (start, end) = (rows.start * slab, rows.end * slab);
        match row.codec {
            Codec::Raw => {
                let at = row.payload_offset;
                Ok(TileBytes::Shared(self.opened.location.read_range(at + start..at + end)?))
            }
            Codec::Zstd => {
                let payload = self.opened.location.read_range(row.span())?;
                let size = usize::try_from(row.raw_len)
                    .map_err(|_| Error::limit("a chunk exceeds the address space"))?;
                scratch.resize(size, 0);
                self.opened.decode(self.id, tile, &row, &payload, scratch)?;
                let (start, end) = (start as usize, end as usize);
                // Callers that keep the buffer expect the rows at its start.
                if start > 0 {
                    scratch.copy_within(start..end, 0);
                }
                let wanted = scratch.get(..end - start);
                Ok(TileBytes::Scratch(wanted.ok_or_else(|| Error::internal("a tile is too short"))?))
            }
        }
    }

    fn tile_into(&self, tile: &[u64], dst: &mut [u8]) -> Result<()> {
        let row = self.opened.tile_row(self.id, &self.grid, tile)?;
        if row.raw_len != dst.len() as u64 {
            return Err(Error::internal("a tile has another size than its place"));
        }
        let payload = self.opened.location.read_range(row.span())?;
        self.opened.decode(self.id, tile, &row, &payload, dst)
    }

    fn contiguous(&self) -> Option<Bytes> {
        let rows = self.opened.catalog.index.datasets.get(self.id)?;
        let whole = rows.regular && rows.exact && rows.packed_raw && self.grid.tile_order_is_logical();
        if !whole || self.grid.bytes == 0 {
            return None;
        }
        let at = rows.payload_offset;
        if !self.opened.lends(at, self.grid.bytes) {
            return None;
        }
        self.opened.location.read_range(at..at.checked_add(self.grid.bytes)?).ok()
    }
}
