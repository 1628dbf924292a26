//! The array face: a regular grid of fixed-size numbers, cut into tiles.
//!
//! A format says where its tiles are and decodes one of them; everything else (regions with steps, parallel
//! assembly, reductions) is built here once, for every format.

mod assemble;
mod boxes;
mod coordinates;
mod dtype;
mod narrow;
mod source;
#[cfg(test)]
mod tests;
mod tiles;

use std::ops::{Deref, Range};

use bytes::Bytes;

pub use assemble::{read_region, read_region_here};
pub use boxes::{CopyAxis, copy_box};
pub use coordinates::coordinates;
pub use dtype::DType;
pub use narrow::narrow;
pub(crate) use source::TileSource;
pub use tiles::{TileAxis, TileGrid, TilePart};

use crate::driver::Driver;
use crate::error::Result;
use crate::selection::Region;
use crate::stats::{ColumnStats, Known};

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

    /// The rows `rows` (along the first axis, counted inside the tile) of the tile at these grid coordinates: the
    /// clipped box in row-major order, little-endian. `scratch` is a buffer to decode into; its content is free.
    fn tile<'s>(&self, tile: &[u64], rows: Range<u64>, scratch: &'s mut Vec<u8>) -> Result<TileBytes<'s>>;

    /// Like [`ArrayView::tile`] for a whole tile, straight into its place.
    fn tile_into(&self, tile: &[u64], dst: &mut [u8]) -> Result<()> {
        let rows = tiles::clipped(self.shape(), self.tile_shape(), tile, 0);
        let mut scratch = Vec::new();
        let bytes = self.tile(tile, 0..rows, &mut scratch)?;
        if bytes.len() != dst.len() {
            return Err(crate::Error::internal("a tile has another size than its place"));
        }
        dst.copy_from_slice(&bytes);
        Ok(())
    }

    /// What metadata tells of the cells; by default only that none of them is null.
    fn stats(&self) -> ColumnStats {
        ColumnStats { nulls: Known::Exact(0), ..ColumnStats::default() }
    }

    /// The whole array as one borrowed slice in row-major order, where the storage holds it so.
    fn contiguous(&self) -> Option<Bytes> {
        None
    }

    /// Reads a region into `dst`, row-major, little-endian; `dst` has exactly the region's size.
    fn read_region(&self, region: &Region, dst: &mut [u8], driver: &Driver) -> Result<()>
    where
        Self: Sized,
    {
        read_region(self, region, dst, driver)
    }
}

/// The bytes of a tile: borrowed from the storage, or decoded into the caller's scratch buffer.
#[derive(Debug)]
pub enum TileBytes<'s> {
    /// A slice of the storage (a mapping, a fetched range).
    Shared(Bytes),
    /// The decoded tile, in the scratch buffer.
    Scratch(&'s [u8]),
}

impl Deref for TileBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Scratch(bytes) => bytes,
        }
    }
}
