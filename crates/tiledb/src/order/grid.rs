//! The tile grid of dense arrays (spec §8.2).
//!
//! Inside this module a coordinate is a position: its distance from the low end of its dimension's domain, which fits
//! `u64` whatever the dimension's type. Regions are inclusive boxes of positions.

use tesselle_core::Scalar;

use crate::meta::layout::Layout;
use crate::meta::value::Range;
use crate::{Error, Result};

/// One dimension of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// The coordinate of position 0.
    pub low: i128,
    /// The last position of the domain.
    pub last: u64,
    /// Positions per tile, at least 1.
    pub extent: u64,
}

/// An inclusive box of positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// First position per axis.
    pub low: Vec<u64>,
    /// Last position per axis.
    pub high: Vec<u64>,
}

impl Region {
    /// Positions along one axis; 0 for the impossible length of a whole 64-bit axis is avoided by saturation.
    pub fn len(&self, axis: usize) -> u64 {
        match (self.low.get(axis), self.high.get(axis)) {
            (Some(low), Some(high)) => high.saturating_sub(*low).saturating_add(1),
            _ => 1,
        }
    }

    /// Cells in the box, `None` beyond 64 bits.
    pub fn cells(&self) -> Option<u64> {
        (0..self.low.len()).try_fold(1_u64, |product, axis| product.checked_mul(self.len(axis)))
    }

    /// The common part of two boxes.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let low: Vec<u64> = self.low.iter().zip(&other.low).map(|(a, b)| *a.max(b)).collect();
        let high: Vec<u64> = self.high.iter().zip(&other.high).map(|(a, b)| *a.min(b)).collect();
        low.iter().zip(&high).all(|(low, high)| low <= high).then_some(Self { low, high })
    }

    /// Whether every cell of `other` lies in this box.
    pub fn covers(&self, other: &Self) -> bool {
        self.low.iter().zip(&other.low).all(|(a, b)| a <= b)
            && self.high.iter().zip(&other.high).all(|(a, b)| a >= b)
    }
}

/// A stretch of cells that are equidistant in a tile and adjacent in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First cell in the tile.
    pub source: usize,
    /// First cell in the target.
    pub target: usize,
}

/// All runs of one tile's part in a target; they share length and distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// Cells per run.
    pub len: usize,
    /// Distance in the tile between two cells of a run.
    pub step: usize,
    /// Where the runs start.
    pub starts: Vec<Run>,
}

/// The grid of a dense array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// The dimensions.
    pub axes: Vec<Axis>,
    /// The order of tiles in a fragment.
    pub tile_order: Layout,
    /// The order of cells in a tile.
    pub cell_order: Layout,
}

impl Grid {
    /// The whole domain.
    pub fn domain(&self) -> Region {
        Region { low: vec![0; self.axes.len()], high: self.axes.iter().map(|axis| axis.last).collect() }
    }

    /// The positions of one range of coordinates per dimension, cropped to the domain.
    pub fn region_of(&self, ranges: &[Range]) -> Result<Region> {
        let mut region = self.domain();
        for (axis, range) in ranges.iter().enumerate() {
            let (Scalar::Int(low), Scalar::Int(high)) = (&range.low, &range.high) else {
                return Err(Error::corrupt("a range of a dense array is not an integer range"));
            };
            let grid_axis =
                self.axes.get(axis).ok_or_else(|| Error::corrupt("more ranges than dimensions"))?;
            let outside = || Error::corrupt(format!("the range [{low}, {high}] lies outside of the domain"));
            let first = low.checked_sub(grid_axis.low).ok_or_else(outside)?.max(0);
            let last = high.checked_sub(grid_axis.low).ok_or_else(outside)?.min(grid_axis.last.into());
            if first > last {
                return Err(outside());
            }
            if let (Some(slot_low), Some(slot_high)) = (region.low.get_mut(axis), region.high.get_mut(axis)) {
                *slot_low = u64::try_from(first).map_err(|_| outside())?;
                *slot_high = u64::try_from(last).map_err(|_| outside())?;
            }
        }
        Ok(region)
    }

    /// Cells in every tile.
    pub fn cells_per_tile(&self) -> Result<u64> {
        self.axes
            .iter()
            .try_fold(1_u64, |product, axis| product.checked_mul(axis.extent))
            .ok_or_else(|| Error::corrupt("a tile has more than 2^64 cells"))
    }

    /// The box of tile indexes that `region` touches.
    pub fn tiles_of(&self, region: &Region) -> Region {
        let index = |positions: &[u64]| {
            positions.iter().zip(&self.axes).map(|(position, axis)| position / axis.extent.max(1)).collect()
        };
        Region { low: index(&region.low), high: index(&region.high) }
    }

    /// The cells of the tile at `index`; the last tiles may reach beyond the domain.
    pub fn tile_region(&self, index: &[u64]) -> Region {
        let low: Vec<u64> =
            index.iter().zip(&self.axes).map(|(i, axis)| i.saturating_mul(axis.extent)).collect();
        let high =
            low.iter().zip(&self.axes).map(|(low, axis)| low.saturating_add(axis.extent - 1)).collect();
        Region { low, high }
    }

    /// The number of the tile at `index` in a fragment that stores the tiles of `span`.
    pub fn tile_number(&self, span: &Region, index: &[u64]) -> Option<u64> {
        let mut number = 0_u64;
        let mut step = |axis: usize| {
            let offset = index.get(axis)?.checked_sub(*span.low.get(axis)?)?;
            number = number.checked_mul(span.len(axis))?.checked_add(offset)?;
            Some(())
        };
        match self.tile_order {
            Layout::ColMajor => (0..index.len()).rev().try_for_each(&mut step)?,
            _ => (0..index.len()).try_for_each(&mut step)?,
        }
        Some(number)
    }

    /// The runs that bring `part` from the tile at `index` to its place in the row-major `target`.
    ///
    /// `part` lies in both the tile and the target.
    pub fn runs(&self, index: &[u64], part: &Region, target: &Region) -> Option<Runs> {
        let dims = self.axes.len();
        let tile = self.tile_region(index);
        let extents: Vec<usize> =
            self.axes.iter().map(|axis| usize::try_from(axis.extent).ok()).collect::<Option<_>>()?;
        let lens = |region: &Region| -> Option<Vec<usize>> {
            (0..dims).map(|axis| usize::try_from(region.len(axis)).ok()).collect()
        };
        let (target_lens, part_lens) = (lens(target)?, lens(part)?);
        let source_steps = steps(&extents, self.cell_order)?;
        let target_steps = steps(&target_lens, Layout::RowMajor)?;
        let start = |region: &Region, steps: &[usize]| -> Option<usize> {
            let offsets = part.low.iter().zip(&region.low).map(|(part, region)| part.checked_sub(*region));
            offsets.zip(steps).try_fold(0_usize, |sum, (offset, step)| {
                sum.checked_add(usize::try_from(offset?).ok()?.checked_mul(*step)?)
            })
        };
        let mut run = Run { source: start(&tile, &source_steps)?, target: start(target, &target_steps)? };
        // Merge trailing dimensions as long as the next one continues the same arithmetic progression.
        let mut inner = dims.checked_sub(1)?;
        let step = *source_steps.get(inner)?;
        let mut len = *part_lens.get(inner)?;
        while let Some(outer) = inner.checked_sub(1) {
            let continues = source_steps.get(outer) == step.checked_mul(len).as_ref()
                && target_steps.get(outer) == Some(&len);
            if !continues && part_lens.get(outer) != Some(&1) {
                break;
            }
            len = len.checked_mul(*part_lens.get(outer)?)?;
            inner = outer;
        }
        let count =
            part_lens.iter().take(inner).try_fold(1_usize, |product, len| product.checked_mul(*len))?;
        let mut starts = Vec::with_capacity(count);
        let mut odometer = vec![0_usize; inner];
        loop {
            starts.push(run);
            let mut axis = inner;
            loop {
                let Some(next) = axis.checked_sub(1) else { return Some(Runs { len, step, starts }) };
                axis = next;
                let (digit, limit) = (odometer.get_mut(axis)?, *part_lens.get(axis)?);
                let (source_step, target_step) = (*source_steps.get(axis)?, *target_steps.get(axis)?);
                *digit += 1;
                run.source += source_step;
                run.target += target_step;
                if *digit < limit {
                    break;
                }
                run.source -= source_step * limit;
                run.target -= target_step * limit;
                *digit = 0;
            }
        }
    }

    /// Cuts `region` into consecutive pieces of its row-major order, of at most `max` cells each where a piece can be
    /// that small, along tile borders where that is possible.
    pub fn split(&self, region: &Region, max: u64, limit: usize) -> Result<Vec<Region>> {
        let mut out = Vec::new();
        self.split_axis(region, 0, max.max(1), limit, &mut out)?;
        Ok(out)
    }

    fn split_axis(
        &self,
        region: &Region,
        axis: usize,
        max: u64,
        limit: usize,
        out: &mut Vec<Region>,
    ) -> Result<()> {
        let (Some(grid_axis), Some(&first), Some(&last)) =
            (self.axes.get(axis), region.low.get(axis), region.high.get(axis))
        else {
            out.push(region.clone());
            return Ok(());
        };
        let inner =
            (axis + 1..self.axes.len()).fold(1_u64, |product, axis| product.saturating_mul(region.len(axis)));
        let slice = |low: u64, high: u64| {
            let mut piece = region.clone();
            if let (Some(piece_low), Some(piece_high)) = (piece.low.get_mut(axis), piece.high.get_mut(axis)) {
                (*piece_low, *piece_high) = (low, high);
            }
            piece
        };
        let rows = max / inner;
        let mut low = first;
        loop {
            if out.len() >= limit {
                return Err(Error::invalid(format!(
                    "the selection has too many cells to list ({} pieces and more); select a smaller region",
                    limit
                )));
            }
            let extent = grid_axis.extent.max(1);
            let tile_end = (low - low % extent).saturating_add(extent - 1);
            let high = if rows == 0 {
                low
            } else if tile_end - low < rows {
                // As many whole tile rows as fit.
                let more = (rows - (tile_end - low + 1)) / extent;
                tile_end.saturating_add(more.saturating_mul(extent))
            } else {
                low.saturating_add(rows - 1).min(tile_end)
            }
            .min(last);
            if rows == 0 && axis + 1 < self.axes.len() {
                self.split_axis(&slice(low, low), axis + 1, max, limit, out)?;
            } else {
                out.push(slice(low, high));
            }
            if high >= last {
                return Ok(());
            }
            low = high + 1;
        }
    }
}

/// Distance between neighbours along each dimension of a box with these lengths.
fn steps(lens: &[usize], order: Layout) -> Option<Vec<usize>> {
    let mut out = vec![1_usize; lens.len()];
    let mut step = 1_usize;
    let mut fill = |(slot, len): (&mut usize, &usize)| {
        *slot = step;
        step = step.checked_mul(*len)?;
        Some(())
    };
    match order {
        Layout::ColMajor => out.iter_mut().zip(lens).try_for_each(&mut fill)?,
        _ => out.iter_mut().zip(lens).rev().try_for_each(&mut fill)?,
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(cell_order: Layout, tile_order: Layout) -> Grid {
        let axis = |last, extent| Axis { low: 0, last, extent };
        Grid { axes: vec![axis(4, 2), axis(6, 3), axis(3, 4)], tile_order, cell_order }
    }

    fn region(low: [u64; 3], high: [u64; 3]) -> Region {
        Region { low: low.to_vec(), high: high.to_vec() }
    }

    #[test]
    fn runs_agree_with_cell_by_cell_arithmetic() {
        for order in [Layout::RowMajor, Layout::ColMajor] {
            let grid = grid(order, Layout::RowMajor);
            let target = region([1, 2, 0], [3, 6, 3]);
            for index in [[0, 0, 0], [0, 1, 0], [1, 2, 0], [1, 1, 0]] {
                let tile = grid.tile_region(&index);
                let part = tile.intersect(&target).unwrap();
                let runs = grid.runs(&index, &part, &target).unwrap();
                let mut pairs = Vec::new();
                for run in &runs.starts {
                    for i in 0..runs.len {
                        pairs.push((run.source + i * runs.step, run.target + i));
                    }
                }
                let mut expected = Vec::new();
                for a in part.low[0]..=part.high[0] {
                    for b in part.low[1]..=part.high[1] {
                        for c in part.low[2]..=part.high[2] {
                            let (x, y, z) = (a - tile.low[0], b - tile.low[1], c - tile.low[2]);
                            let source = if order == Layout::RowMajor {
                                (x * 3 + y) * 4 + z
                            } else {
                                x + 2 * (y + 3 * z)
                            };
                            let to = ((a - 1) * 5 + (b - 2)) * 4 + c;
                            expected.push((source as usize, to as usize));
                        }
                    }
                }
                assert_eq!(pairs, expected, "{order:?} {index:?}");
            }
        }
    }

    #[test]
    fn whole_tiles_are_one_run() {
        let grid = grid(Layout::RowMajor, Layout::RowMajor);
        let tile = grid.tile_region(&[0, 0, 0]);
        let runs = grid.runs(&[0, 0, 0], &tile, &tile).unwrap();
        assert_eq!((runs.len, runs.step, runs.starts.len()), (24, 1, 1));
    }

    #[test]
    fn tiles_are_numbered_in_tile_order_within_the_fragment() {
        let span = region([1, 0, 0], [2, 2, 0]);
        assert_eq!(grid(Layout::RowMajor, Layout::RowMajor).tile_number(&span, &[2, 1, 0]), Some(4));
        assert_eq!(grid(Layout::RowMajor, Layout::ColMajor).tile_number(&span, &[2, 1, 0]), Some(3));
        assert_eq!(grid(Layout::RowMajor, Layout::ColMajor).tile_number(&span, &[0, 1, 0]), None);
    }

    #[test]
    fn pieces_cover_the_region_in_row_major_order() {
        let grid = grid(Layout::RowMajor, Layout::RowMajor);
        let target = region([1, 2, 0], [4, 6, 3]);
        for max in [1, 3, 4, 7, 20, 25, 40, 1000] {
            let pieces = grid.split(&target, max, 1000).unwrap();
            let mut cells = Vec::new();
            for piece in &pieces {
                assert!(piece.cells().unwrap() <= max.max(1));
                for a in piece.low[0]..=piece.high[0] {
                    for b in piece.low[1]..=piece.high[1] {
                        for c in piece.low[2]..=piece.high[2] {
                            cells.push([a, b, c]);
                        }
                    }
                }
            }
            let mut sorted = cells.clone();
            sorted.sort_unstable();
            assert_eq!(cells, sorted, "{max}");
            assert_eq!(cells.len() as u64, target.cells().unwrap());
        }
        assert!(grid.split(&target, 1, 10).is_err());
    }
}
