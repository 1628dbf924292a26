//! Splitting of a region: along the tiles of the array, or freely if the whole array is in memory or in one range.

use std::ops::Range;

use bytes::Bytes;

use super::boxes::{AxisCopy, BoxCopy};
use super::{ArrayView, Place, TileGrid, TilePart, contiguous};
use crate::driver::{Driver, fetch};
use crate::error::{Error, Result};
use crate::selection::Region;
use crate::task::ByteRange;

/// Cells of a freely chosen tile: large enough to keep a thread busy, small enough to share the work.
const CUT_CELLS: u64 = 1 << 20;
/// The longest row of such a tile.
const CUT_ROW: u64 = 1 << 16;
/// Bytes of a freely chosen tile that is read from a storage: the processor caches still hold it when it is used.
const CUT_BYTES: u64 = 256 << 10;

/// Maximum tiles that a thread fetches at once, and their decoded bytes.
const GROUP_TILES: usize = 64;
const GROUP_BYTES: u64 = 8 << 20;

/// A box of a result, in positions of the result, into which pieces are copied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// Its first position on each axis.
    pub(crate) first: &'a [u64],
    /// Its extent on each axis.
    pub(crate) shape: &'a [u64],
}

/// One tile of a region: the requested part and its target.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The tile's place on the grid.
    pub(crate) tile: Vec<u64>,
    /// The requested rows along the first axis, from the first to the last.
    pub(crate) rows: Range<u64>,
    /// Bytes of the clipped tile, or of its requested rows if only they are decoded.
    pub(crate) bytes: u64,
    /// From the clipped tile to the target.
    pub(crate) copy: BoxCopy,
}

/// An array, cut into tiles.
pub(crate) struct Cut<'a> {
    pub(crate) array: &'a dyn ArrayView,
    /// The array as a whole, and its freely chosen tile shape.
    whole: Option<(Whole, Vec<u64>)>,
    /// Decoded bytes of the tiles fetched together.
    group_bytes: u64,
    /// Whether tiles that are fetched one by one take no longer than together.
    is_near: bool,
}

/// An array as a whole, in row-major order.
enum Whole {
    Held(Bytes),
    Raw(ByteRange),
}

impl Whole {
    /// The array in memory, or in one range if all of it is read.
    fn of(array: &dyn ArrayView, region: &Region, driver: &Driver) -> Result<Option<Self>> {
        if let Some(bytes) = contiguous(array)? {
            return Ok(Some(Self::Held(bytes)));
        }
        if !region.is_whole(array.shape()) {
            return Ok(None);
        }
        survey(array, driver)?;
        let size = region.cells().and_then(|cells| cells.checked_mul(array.dtype().size() as u64));
        Ok(match array.whole() {
            Some(Place::Raw(all)) if all.range.end.checked_sub(all.range.start) == size => {
                Some(Self::Raw(all))
            }
            _ => None,
        })
    }

    /// The extents of the tiles into which the array is cut. Those of a range are ranges.
    fn cut(&self, array: &dyn ArrayView) -> Vec<u64> {
        match self {
            Self::Held(_) => cut(array.shape(), CUT_CELLS, CUT_ROW),
            Self::Raw(_) => {
                let cells = CUT_BYTES / array.dtype().size() as u64;
                cut(array.shape(), cells, cells)
            }
        }
    }
}

/// Fetches what the array needs to state its place as a whole.
fn survey(array: &dyn ArrayView, driver: &Driver) -> Result<()> {
    let ranges = array.survey();
    let Some(storage) = array.storage().filter(|_| !ranges.is_empty()) else { return Ok(()) };
    let together = storage.hints().concurrency.max(1);
    let surveyed = driver.try_map(ranges.chunks(together), |ranges| {
        let fetched = fetch(&*storage, ranges, driver.counters())?;
        ranges.iter().zip(&fetched).for_each(|(range, bytes)| array.surveyed(range, bytes));
        Ok(())
    });
    surveyed.map(drop)
}

impl<'a> Cut<'a> {
    /// Splits `array` for a read of `region`.
    pub(crate) fn try_new(array: &'a dyn ArrayView, region: &Region, driver: &Driver) -> Result<Self> {
        let whole = Whole::of(array, region, driver)?.map(|whole| {
            let tile = whole.cut(array);
            (whole, tile)
        });
        // Without concurrent requests, larger groups would only leave the processor caches.
        let hints = array.storage().map(|storage| storage.hints());
        let one = hints.filter(|hints| hints.concurrency == 1 && !hints.zero_copy);
        let group_bytes = one.map_or(GROUP_BYTES, |hints| hints.max_request.min(GROUP_BYTES));
        let is_near = hints.is_some_and(|hints| hints.concurrency == 1);
        Ok(Self { array, whole, group_bytes, is_near })
    }

    /// Splits along the tiles of the array, even if it is in memory.
    pub(crate) fn along_tiles(array: &'a dyn ArrayView) -> Self {
        Self { array, whole: None, group_bytes: GROUP_BYTES, is_near: false }
    }

    /// The bytes of the array as a whole, if they are in memory.
    pub(crate) fn held(&self) -> Option<&Bytes> {
        match &self.whole {
            Some((Whole::Held(bytes), _)) => Some(bytes),
            _ => None,
        }
    }

    /// Whether it is split freely.
    pub(crate) fn is_free(&self) -> bool {
        self.whole.is_some()
    }

    /// Whether tiles that are fetched one by one take no longer than together.
    pub(super) fn is_near(&self) -> bool {
        self.is_near
    }

    /// Locates a piece.
    pub(super) fn locate(&self, piece: &Piece) -> Result<Place> {
        Ok(match &self.whole {
            Some((Whole::Held(bytes), _)) => Place::Held(bytes.clone()),
            Some((Whole::Raw(all), _)) => Place::Raw(all.clone()),
            None => self.array.locate(&piece.tile, &piece.rows)?,
        })
    }

    /// How many tiles a thread fetches at once, and their decoded bytes.
    pub(crate) fn group(&self) -> (usize, u64) {
        (GROUP_TILES, self.group_bytes)
    }

    /// The tiles that `region` touches.
    pub(crate) fn grid(&self, region: &Region) -> Result<TileGrid> {
        let tile_shape = self.whole.as_ref().map_or(self.array.tile_shape(), |(_, tile)| tile);
        TileGrid::try_new(self.array.shape(), tile_shape, region)
    }

    /// The piece at `parts` of a grid, one part per axis.
    pub(crate) fn piece(&self, grid: &TileGrid, parts: &[TilePart], target: Target<'_>) -> Result<Piece> {
        let size = self.array.dtype().size();
        let rows = parts.first().map_or(0..1, |part| {
            let step = grid.axes.first().map_or(1, |axis| axis.step);
            part.first..part.first + part.len.saturating_sub(1) * step + 1
        });
        // The decoded part of the tile: first position and extent, if not all.
        let decoded = self.array.decodes_rows().then(|| (rows.start, rows.end - rows.start));
        let extent =
            |axis: usize, part: &TilePart| decoded.filter(|_| axis == 0).map_or(part.extent, |d| d.1);
        let axes = parts.iter().enumerate().map(|(axis, part)| {
            let at = |list: &[u64], or: u64| list.get(axis).copied().unwrap_or(or);
            let (src_first, src_extent) = if let Some((_, tile)) = &self.whole {
                (part.tile * at(tile, 1) + part.first, at(self.array.shape(), 1))
            } else {
                let before = decoded.filter(|_| axis == 0).map_or(0, |decoded| decoded.0);
                (part.first - before, extent(axis, part))
            };
            AxisCopy {
                len: part.len,
                src_first,
                src_step: grid.axes.get(axis).map_or(1, |axis| axis.step),
                src_extent,
                dst_first: part.index - at(target.first, 0),
                dst_extent: at(target.shape, 1),
            }
        });
        let extents = parts.iter().enumerate().map(|(axis, part)| extent(axis, part));
        let bytes = { extents }.try_fold(size as u64, u64::checked_mul);
        let bytes = bytes.filter(|n| usize::try_from(*n).is_ok());
        let bytes = bytes.ok_or_else(|| Error::limit("a tile exceeds the address space"))?;
        let copy = BoxCopy::new(axes, size);
        Ok(Piece { tile: parts.iter().map(|part| part.tile).collect(), rows, bytes, copy })
    }
}

/// Tiles of up to `cells`, in rows of up to `row`.
fn cut(shape: &[u64], cells: u64, row: u64) -> Vec<u64> {
    let mut left = cells;
    let mut tile: Vec<u64> = Vec::with_capacity(shape.len());
    for extent in shape.iter().rev() {
        let most = if tile.is_empty() && shape.len() > 1 { row } else { left };
        let cells = (*extent).clamp(1, most.max(1));
        left = (left / cells).max(1);
        tile.push(cells);
    }
    tile.reverse();
    tile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tiles_of_a_range_are_ranges() {
        for shape in [&[1000, 1000][..], &[7, 100_000], &[3, 5, 7], &[1], &[900, 1, 3, 800], &[0, 3], &[]] {
            let tile = cut(shape, 65_536, 65_536);
            assert!(tile.iter().product::<u64>() <= 65_536, "{shape:?}");
            // Only the first divided axis has more than one position, and no axis after it is divided.
            let divided = shape.iter().zip(&tile).rposition(|(extent, tile)| extent > tile).unwrap_or(0);
            assert!(tile.iter().take(divided).all(|tile| *tile == 1), "{shape:?} {tile:?}");
        }
    }
}
