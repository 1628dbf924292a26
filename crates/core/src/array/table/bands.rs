//! Bands: the boxes of a scan, one per task, in row-major order.
//!
//! Tasks follow the row-major order of the result, so a band covers single positions of the leading axes, a range of
//! one axis, and everything requested of the remaining axes.

use super::values::PartCost;
use crate::array::{TileAxis, TileGrid};
use crate::at::At;
use crate::error::{Error, Result};
use crate::selection::{Region, Span};

/// Target cells per task: enough to be worth a thread, few enough for early results.
const TARGET_CELLS: u64 = 256 << 10;
/// Decoded bytes that a task over encoded tiles may keep in memory before tiles are decoded more than once.
const MOST_BYTES: u64 = 256 << 20;
/// Cells and bytes of a task over tiles whose rows can be decoded alone.
const ROWS_CELLS: u64 = 512 << 10;
/// Cells up to which small tiles of that kind share a task: what is decoded is used while it is in the cache.
const GATHERED_CELLS: u64 = 64 << 10;
const ROWS_BYTES: u64 = 32 << 20;
/// Maximum bands of a plan. The shape stated in a file must not determine the memory of a plan.
const MOST_BANDS: u64 = 1 << 22;

/// How bands are cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cutting {
    /// Decoded bytes of a cell, all columns together.
    pub(super) element: u64,
    /// The cost of reading a tile twice. Bands split raw tiles anywhere, tiles whose rows are decoded separately along
    /// their rows, and others only if a band would not fit into memory.
    pub(super) part: PartCost,
    /// Cells after which no more bands are needed.
    pub(super) limit: u64,
}

/// Splits `region`, whose tiles are `tiles`, into bands.
pub(super) fn bands(tiles: &TileGrid, region: &Region, cutting: Cutting) -> Result<Vec<Region>> {
    let lens: Vec<u64> = region.spans.iter().map(Span::len).collect();
    if lens.contains(&0) {
        return Ok(Vec::new());
    }
    let behind = |axis: usize| lens.iter().skip(axis + 1).fold(1_u64, |n, len| n.saturating_mul(*len));
    let fitting = |bytes: u64| bytes / cutting.element.max(1);
    let most = match cutting.part {
        PartCost::Part => TARGET_CELLS,
        PartCost::Rows => fitting(ROWS_BYTES).min(ROWS_CELLS),
        PartCost::Tile => fitting(MOST_BYTES).max(TARGET_CELLS),
    };
    let gathered = most.min(if cutting.part == PartCost::Rows { GATHERED_CELLS } else { TARGET_CELLS });
    let mut axis = 0;
    while axis + 1 < lens.len() && behind(axis) > TARGET_CELLS {
        let thin = tiles.axes.get(axis).is_some_and(|a| a.parts.iter().all(|part| part.len == 1));
        let inside = match cutting.part {
            PartCost::Part => true,
            PartCost::Rows => behind(axis) > most,
            PartCost::Tile => false,
        };
        if !inside && !thin {
            break;
        }
        axis += 1;
    }
    let Some(cut) = tiles.axes.get(axis) else {
        // An array without axes has one cell.
        return Ok(vec![region.clone()]);
    };
    let leading = lens.part(..axis)?;
    let mut at = vec![0; axis];
    let (mut bands, mut cells) = (Vec::new(), 0_u64);
    loop {
        for (first, len) in ranges(cut, behind(axis), most, gathered) {
            if cells >= cutting.limit {
                return Ok(bands);
            }
            if bands.len() as u64 >= MOST_BANDS {
                return Err(Error::limit("the selection needs more tasks than a plan can have")
                    .hint("select a smaller part"));
            }
            bands.push(band(region, &at, first, len));
            cells = cells.saturating_add(len.saturating_mul(behind(axis)));
        }
        if !advance(&mut at, leading) {
            return Ok(bands);
        }
    }
}

/// The region with single positions on the leading axes and a range on the next one.
fn band(region: &Region, leading: &[u64], first: u64, len: u64) -> Region {
    let mut spans = region.spans.clone();
    let ranges = leading.iter().map(|at| (*at, 1)).chain([(first, len)]);
    for (span, (first, len)) in spans.iter_mut().zip(ranges) {
        span.start += first * span.step;
        span.stop = span.start + len.saturating_sub(1) * span.step + 1;
    }
    Region { spans }
}

/// The next position below `lens`, the last axis fastest; `false` at the end.
fn advance(at: &mut [u64], lens: &[u64]) -> bool {
    at.iter_mut().zip(lens).rev().any(|(at, len)| {
        *at += 1;
        let fits = *at < *len;
        if !fits {
            *at = 0;
        }
        fits
    })
}

/// Cuts one axis into ranges of wanted positions, first and length: small tiles are gathered up to `gathered` cells, large
/// ones are cut at `most`.
fn ranges(axis: &TileAxis, behind: u64, most: u64, gathered: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    let (mut at, mut skip) = (0, 0);
    std::iter::from_fn(move || {
        let part = axis.parts.get(at)?;
        let first = part.index + skip;
        let step = (most / behind.max(1)).clamp(1, part.len);
        if step < part.len {
            let len = step.min(part.len - skip);
            skip += len;
            if skip == part.len {
                (at, skip) = (at + 1, 0);
            }
            return Some((first, len));
        }
        let mut len = part.len;
        at += 1;
        while let Some(part) = axis.parts.get(at)
            && (len + part.len).saturating_mul(behind) <= gathered
        {
            len += part.len;
            at += 1;
        }
        Some((first, len))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(shape: &[u64], chunk: &[u64], part: PartCost) -> Vec<u64> {
        let region = Region::whole(shape);
        let tiles = TileGrid::try_new(shape, chunk, &region).unwrap();
        let bands = bands(&tiles, &region, Cutting { element: 4, part, limit: u64::MAX }).unwrap();
        bands.iter().map(|band| band.cells().unwrap()).collect()
    }

    #[test]
    fn bands_cover_the_box_in_pieces_of_moderate_size() {
        assert_eq!(cells(&[10], &[3], PartCost::Part), [10]);
        let million = cells(&[1_000_000], &[10], PartCost::Tile);
        assert!(million.len() < 10 && million.iter().sum::<u64>() == 1_000_000);
        let raw = cells(&[100, 1000, 1000], &[50, 100, 100], PartCost::Part);
        assert!(raw.iter().all(|n| *n <= TARGET_CELLS) && raw.iter().sum::<u64>() == 100_000_000);
        let encoded = cells(&[100, 1000, 1000], &[50, 100, 100], PartCost::Tile);
        assert_eq!(encoded, [50_000_000, 50_000_000]);
        let thin = cells(&[100, 1000, 1000], &[1, 100, 1000], PartCost::Tile);
        assert_eq!(thin.len(), 500);
        let rows = cells(&[4000, 2000], &[1000, 1000], PartCost::Rows);
        assert!(rows.iter().all(|n| *n <= ROWS_CELLS) && rows.iter().sum::<u64>() == 8_000_000);
        let long = cells(&[4, 3_000_000], &[4, 1000], PartCost::Rows);
        assert!(long.iter().all(|n| *n <= ROWS_CELLS) && long.iter().sum::<u64>() == 12_000_000);
        assert!(cells(&[0, 5], &[1, 1], PartCost::Tile).is_empty());
    }

    #[test]
    fn steps_are_kept_and_a_limit_ends_the_list() {
        let region: Region = "0:1000:7,:"
            .parse::<crate::selection::Selection>()
            .unwrap()
            .resolve(&[0, 0], &[1000, 40_000])
            .unwrap();
        let tiles = TileGrid::try_new(&[1000, 40_000], &[10, 40_000], &region).unwrap();
        let all =
            |limit| bands(&tiles, &region, Cutting { element: 8, part: PartCost::Tile, limit }).unwrap();
        let positions = |bands: &[Region]| -> Vec<u64> {
            let rows = bands.iter().map(|band| band.spans[0]);
            rows.flat_map(|rows| (rows.start..rows.stop).step_by(rows.step as usize)).collect()
        };
        assert_eq!(positions(&all(u64::MAX)), (0..1000).step_by(7).collect::<Vec<u64>>());
        assert_eq!(positions(&all(1)), positions(&all(u64::MAX)[..1]));
    }

    #[test]
    fn a_claimed_shape_does_not_fill_the_memory() {
        let shape = [1 << 60];
        let region = Region::whole(&shape);
        let tiles = TileGrid::try_new(&shape, &[1 << 50], &region).unwrap();
        let cut = |limit| bands(&tiles, &region, Cutting { element: 8, part: PartCost::Part, limit });
        assert_eq!(cut(10).unwrap().len(), 1);
        assert!(cut(u64::MAX).is_err());
    }
}
