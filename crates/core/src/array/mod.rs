//! The array face: a regular grid of fixed-size numbers, cut into tiles.
//!
//! A format states where its tiles are and decodes one of them. Everything else is built here once, for every format:
//! regions with steps, parallel assembly, reductions, and the table over a grid. Nothing here and no format reads by
//! itself: the ranges of tiles are fetched by a driver, joined where they are near.

mod assemble;
mod boxes;
mod coordinates;
mod dtype;
mod memory;
mod narrow;
mod pieces;
mod place;
mod request;
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
pub use table::{GridColumn, GridTable};
use tiles::touched;
pub use tiles::{TileAxis, TileGrid, TilePart, clipped};

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::predicate::ColumnBounds;
use crate::selection::Region;
use crate::stats::{ColumnStats, Known};
use crate::storage::Storage;

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

    /// The coordinate of position 0 on each axis; zeros where an axis counts positions.
    fn origin(&self) -> Vec<i128> {
        vec![0; self.shape().len()]
    }

    /// What the ranges of places are fetched from; `None` where every tile is held in memory.
    fn storage(&self) -> Option<Arc<dyn Storage>> {
        None
    }

    /// Where the tile at these grid coordinates is, of which `rows` (along the first axis, counted inside the tile) are
    /// wanted. No I/O.
    fn locate(&self, tile: &[u64], rows: &Range<u64>) -> Result<Place>;

    /// Goes on with [`ArrayView::locate`] by the answer to a [`Place::Ask`]. No I/O.
    fn locate_with(&self, tile: &[u64], ask: &Ask, answer: &Answer) -> Result<Place> {
        let _ = (tile, ask, answer);
        Err(Error::internal("an array that asks nothing is answered"))
    }

    /// Decodes a tile from the ranges of its [`Place::Encoded`] into `dst`, which has room for the clipped box in row-major
    /// order, little-endian. The cells of `rows`, the same as in [`ArrayView::locate`], must be written, the others may
    /// be. No I/O.
    fn decode(&self, tile: &[u64], rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        let _ = (tile, rows, fetched, dst);
        Err(Error::internal("a tile that is not encoded is decoded"))
    }

    /// Whether [`ArrayView::decode`] decodes the wanted rows alone: `dst` has then room for no others. Tiles of such an array
    /// are encoded or stored nowhere.
    fn decodes_rows(&self) -> bool {
        false
    }

    /// The bytes of a cell that is stored nowhere.
    fn fill(&self) -> &[u8] {
        &[0]
    }

    /// Whether every tile is [`Place::Raw`] or held, so that parts of a tile cost no more than what is read of them.
    fn is_raw(&self) -> bool {
        false
    }

    /// Where the whole array is in row-major order, where one raw or held place has it so.
    fn whole(&self) -> Option<Place> {
        None
    }

    /// What metadata states about the cells of a tile.
    fn bounds(&self, tile: &[u64]) -> Option<ColumnBounds> {
        let _ = tile;
        None
    }

    /// What metadata states about all cells; by default only that none of them is null.
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

/// The whole array as one slice in row-major order, where it is in memory or its storage hands out its own memory.
pub fn contiguous(array: &dyn ArrayView) -> Result<Option<Bytes>> {
    let bytes = match array.whole() {
        Some(Place::Held(bytes)) => bytes,
        Some(Place::Raw(range)) => {
            let Some(storage) = array.storage().filter(|storage| storage.hints().zero_copy) else {
                return Ok(None);
            };
            // Nothing is moved, so nothing is counted.
            let mut lent = storage.read(&range.file, std::slice::from_ref(&range.range))?;
            lent.pop().ok_or_else(|| Error::internal("a storage answered nothing"))?
        }
        _ => return Ok(None),
    };
    let cells = Region::whole(array.shape()).cells();
    let size = cells.and_then(|n| n.checked_mul(array.dtype().size() as u64));
    if size != Some(bytes.len() as u64) {
        return Err(Error::internal("an array as a whole has another size than its shape"));
    }
    Ok(Some(bytes))
}
