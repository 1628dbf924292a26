//! The array view: a regular grid of fixed-size numbers, divided into tiles.
//!
//! A format states where its tiles are and decodes one of them. Everything else is implemented here once for all
//! formats: regions with steps, parallel assembly, reductions, and the table over a grid. Neither this module nor a
//! format performs reads: a driver fetches the ranges of tiles and coalesces nearby ones.

mod assemble;
mod boxes;
mod coordinates;
mod dtype;
mod memory;
mod narrow;
mod pieces;
mod place;
mod request;
mod scratch;
mod table;
#[cfg(test)]
mod tests;
mod tiles;

use std::ops::Range;
use std::sync::Arc;

pub use assemble::{read_region, read_region_here};
pub use boxes::{AxisCopy, BoxCopy, CopyAxis, copy_box, fill};
use bytes::Bytes;
pub use coordinates::coordinates;
pub use dtype::DType;
pub use memory::{Cell, MemoryArray};
pub use narrow::narrow;
pub(crate) use pieces::{Cut, Piece, Target};
pub use place::{Answer, Ask, Place};
pub(crate) use request::Request;
pub use table::{
    AxisColumn, Coordinates, Grid, GridColumn, GridTable, GridValues, PartCost, ValuesRead, ValuesStep,
};
pub use tiles::clipped;
use tiles::touched;
pub(crate) use tiles::{TileAxis, TileGrid, TilePart};

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::predicate::ColumnBounds;
use crate::selection::Region;
use crate::stats::{ColumnStats, Known};
use crate::storage::Storage;
use crate::task::ByteRange;

/// A dense grid of numbers.
pub trait ArrayView: Send + Sync {
    /// The type of a cell.
    fn dtype(&self) -> DType;

    /// The extent of each axis.
    fn shape(&self) -> &[u64];

    /// The nominal extent of a tile on each axis, at least 1; edge tiles are clipped.
    fn tile_shape(&self) -> &[u64];

    /// The name of each axis.
    fn axis_names(&self) -> &[String];

    /// The coordinate of position 0 on each axis; zero for axes that count positions.
    fn origin(&self) -> Vec<i128> {
        vec![0; self.shape().len()]
    }

    /// The storage from which ranges are fetched; `None` if every tile is in memory.
    fn storage(&self) -> Option<Arc<dyn Storage>> {
        None
    }

    /// Locates the tile at these grid coordinates, of which `rows` (along the first axis, relative to the tile) are
    /// requested. No I/O.
    fn locate(&self, tile: &[u64], rows: &Range<u64>) -> Result<Place>;

    /// Continues [`ArrayView::locate`] with the answer to a [`Place::Ask`]. No I/O.
    fn locate_with(&self, tile: &[u64], rows: &Range<u64>, ask: &Ask, answer: &Answer) -> Result<Place> {
        let _ = (tile, rows, ask, answer);
        Err(Error::internal("an array received an answer without a question"))
    }

    /// Decodes a tile from the ranges of its [`Place::Encoded`] into `dst`, which has room for the clipped box in
    /// row-major order, little-endian. The cells of `rows`, the same as in [`ArrayView::locate`], must be written; the
    /// others may be. No I/O.
    fn decode(&self, tile: &[u64], rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        let _ = (tile, rows, fetched, dst);
        Err(Error::internal("decode was called for a tile that is not encoded"))
    }

    /// Whether [`ArrayView::decode`] decodes only the requested rows: `dst` then has room for these alone. All tiles of
    /// such an array are encoded or fill, or are held, the requested rows of them.
    fn decodes_rows(&self) -> bool {
        false
    }

    /// The bytes of a cell that is not stored.
    fn fill(&self) -> &[u8] {
        &[0]
    }

    /// Whether reading a part of a tile costs only that part: every tile is [`Place::Raw`], in memory, or stored in chunks
    /// without filters.
    fn is_raw(&self) -> bool {
        false
    }

    /// What a read of the whole array fetches before it asks for [`ArrayView::whole`], and passes to
    /// [`ArrayView::surveyed`].
    fn survey(&self) -> Vec<ByteRange> {
        Vec::new()
    }

    /// Takes the bytes of one range of [`ArrayView::survey`], in any order and on any thread. No I/O.
    fn surveyed(&self, range: &ByteRange, bytes: &[u8]) {
        let _ = (range, bytes);
    }

    /// The place of the whole array in row-major order, if it is known to be one raw or in-memory place.
    fn whole(&self) -> Option<Place> {
        None
    }

    /// The metadata bounds of the cells of a tile.
    fn bounds(&self, tile: &[u64]) -> Option<ColumnBounds> {
        let _ = tile;
        None
    }

    /// The metadata statistics of all cells; by default only that none of them is null.
    fn stats(&self) -> ColumnStats {
        ColumnStats { nulls: Known::Exact(0), ..ColumnStats::default() }
    }

    /// Reads a region into `dst`, row-major, little-endian; `dst` has exactly the region's size.
    fn read_region(&self, region: &Region, dst: &mut [u8], driver: &Driver) -> Result<()>
    where
        Self: Sized,
    {
        read_region(self, region, dst, driver)
    }
}

/// The whole array as one slice in row-major order, if it is in memory or its storage is zero-copy.
pub fn contiguous(array: &dyn ArrayView) -> Result<Option<Bytes>> {
    let bytes = match array.whole() {
        Some(Place::Held(bytes)) => bytes,
        Some(Place::Raw(range)) => {
            let Some(storage) = array.storage().filter(|storage| storage.hints().zero_copy) else {
                return Ok(None);
            };
            // Nothing is copied, so nothing is counted.
            let mut borrowed = storage.read(&range.file, std::slice::from_ref(&range.range))?;
            borrowed.pop().ok_or_else(|| Error::internal("a storage returned no range"))?
        }
        _ => return Ok(None),
    };
    let cells = Region::whole(array.shape()).cells();
    let size = cells.and_then(|n| n.checked_mul(array.dtype().size() as u64));
    if size != Some(bytes.len() as u64) {
        return Err(Error::internal("the size of a contiguous array does not match its shape"));
    }
    Ok(Some(bytes))
}
