//! The tiles touched by a region: a list per axis, so that planning costs the touched tiles, not all of them.

use crate::error::{Error, Result};
use crate::selection::Region;

/// The part of a region inside one tile, on one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TilePart {
    /// Grid coordinate of the tile.
    pub(crate) tile: u64,
    /// First requested position, relative to the tile.
    pub(crate) first: u64,
    /// How many positions are wanted.
    pub(crate) len: u64,
    /// Where they start in the result.
    pub(crate) index: u64,
    /// The clipped extent of the tile.
    pub(crate) extent: u64,
}

impl TilePart {
    /// Parts of at most `most` positions, which are `step` apart in the tile.
    pub(super) fn split(self, step: u64, most: u64) -> impl Iterator<Item = Self> {
        let most = most.max(1);
        (0..self.len.div_ceil(most)).map(move |number| {
            let before = number * most;
            Self {
                first: self.first + before * step,
                len: most.min(self.len - before),
                index: self.index + before,
                ..self
            }
        })
    }
}

/// The touched tiles of one axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TileAxis {
    /// In order.
    pub(crate) parts: Vec<TilePart>,
    /// Distance between wanted positions.
    pub(crate) step: u64,
}

/// The touched tiles of a region: every combination of one part per axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TileGrid {
    /// One per axis.
    pub(crate) axes: Vec<TileAxis>,
}

/// The extents of the tile at these grid coordinates, clipped to the array.
pub fn clipped(shape: &[u64], tile_shape: &[u64], tile: &[u64]) -> Vec<u64> {
    let axes = shape.iter().zip(tile_shape).zip(tile);
    axes.map(|((extent, size), at)| extent.saturating_sub(at.saturating_mul(*size)).min(*size)).collect()
}

/// How many tiles of a grid `region` touches.
pub(super) fn touched(tile_shape: &[u64], region: &Region) -> u64 {
    let axes = region.spans.iter().zip(tile_shape).map(|(span, tile)| {
        let (len, tile) = (span.len(), (*tile).max(1));
        // Positions that are further apart than a tile is long are in different tiles.
        if len == 0 || span.step > tile {
            return len;
        }
        let last = span.start.saturating_add((len - 1).saturating_mul(span.step));
        last / tile - span.start / tile + 1
    });
    axes.fold(1, u64::saturating_mul)
}

/// Maximum touched tiles along one axis. The shape stated in a file must not determine the memory of a plan.
const MOST_PARTS: u64 = 1 << 27;

impl TileGrid {
    /// The tiles of a grid that `region` touches.
    pub(crate) fn try_new(shape: &[u64], tile_shape: &[u64], region: &Region) -> Result<Self> {
        if region.spans.len() != shape.len() || tile_shape.len() != shape.len() {
            return Err(Error::internal("region, tiles and array differ in rank"));
        }
        let axes = region.spans.iter().zip(shape.iter().zip(tile_shape)).map(|(span, (&shape, &tile))| {
            let tile = tile.max(1);
            let distance = span.stop.min(shape).saturating_sub(span.start);
            if span.len().min(distance / tile) > MOST_PARTS {
                return Err(Error::limit("the region touches more tiles than a plan can have")
                    .hint("read smaller regions"));
            }
            let mut parts = Vec::new();
            let mut next = span.start;
            while next < span.stop && next < shape {
                let coordinate = next / tile;
                let lo = coordinate * tile;
                let hi = lo.saturating_add(tile).min(shape);
                let Some(part) = span.within(lo, hi) else { break };
                parts.push(TilePart {
                    tile: coordinate,
                    first: part.first - lo,
                    len: part.len,
                    index: part.index,
                    extent: hi - lo,
                });
                let Some(after) = part.len.checked_mul(span.step).and_then(|d| part.first.checked_add(d))
                else {
                    break;
                };
                next = after;
            }
            Ok(TileAxis { parts, step: span.step })
        });
        Ok(Self { axes: axes.collect::<Result<_>>()? })
    }

    /// The number of touched tiles; `None` if it exceeds 64 bits.
    pub(crate) fn count(&self) -> Option<u64> {
        self.axes.iter().try_fold(1_u64, |n, axis| n.checked_mul(axis.parts.len() as u64))
    }

    /// The combinations of parts over the axes `axes`, row-major.
    pub(crate) fn combinations(
        &self,
        axes: std::ops::Range<usize>,
    ) -> impl Iterator<Item = Vec<TilePart>> + '_ {
        let lists: Vec<&[TilePart]> =
            self.axes.get(axes).unwrap_or_default().iter().map(|a| a.parts.as_slice()).collect();
        let mut counters = vec![0_usize; lists.len()];
        let mut done = lists.iter().any(|list| list.is_empty());
        std::iter::from_fn(move || {
            if done {
                return None;
            }
            let item = lists.iter().zip(&counters).filter_map(|(list, i)| list.get(*i).copied()).collect();
            done = true;
            for (list, counter) in lists.iter().zip(&mut counters).rev() {
                *counter += 1;
                if *counter < list.len() {
                    done = false;
                    break;
                }
                *counter = 0;
            }
            Some(item)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Span;

    #[test]
    fn steps_skip_tiles() {
        let region = Region { spans: vec![Span { start: 1, stop: 10, step: 5 }] }; // 1, 6
        let grid = TileGrid::try_new(&[10], &[2], &region).unwrap();
        let tiles: Vec<u64> = grid.axes[0].parts.iter().map(|p| p.tile).collect();
        assert_eq!(tiles, [0, 3]);
        for (tile, step) in [(2, 5), (3, 2), (4, 4), (1, 1), (20, 3), (5, 4)] {
            let region = Region { spans: vec![Span { start: 1, stop: 19, step }] };
            let grid = TileGrid::try_new(&[20], &[tile], &region).unwrap();
            assert_eq!(Some(touched(&[tile], &region)), grid.count(), "{tile} {step}");
        }
        assert_eq!(grid.axes[0].parts[1], TilePart { tile: 3, first: 0, len: 1, index: 1, extent: 2 });
    }

    #[test]
    fn huge_tiles_and_empty_regions_are_fine() {
        let grid = TileGrid::try_new(&[7], &[1 << 63], &Region::whole(&[7])).unwrap();
        assert_eq!(grid.axes[0].parts.len(), 1);
        assert_eq!(grid.axes[0].parts[0].extent, 7);
        let grid = TileGrid::try_new(&[0, 3], &[2, 2], &Region::whole(&[0, 3])).unwrap();
        assert_eq!(grid.count(), Some(0));
        assert_eq!(grid.combinations(0..2).count(), 0);
    }

    #[test]
    fn combinations_come_row_major() {
        let grid = TileGrid::try_new(&[4, 4], &[2, 2], &Region::whole(&[4, 4])).unwrap();
        let tiles: Vec<Vec<u64>> =
            grid.combinations(0..2).map(|c| c.iter().map(|p| p.tile).collect()).collect();
        assert_eq!(tiles, [[0, 0], [0, 1], [1, 0], [1, 1]]);
    }
}
