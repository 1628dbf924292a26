//! The tile grid of dense arrays (spec §8.2).
//!
//! In this module a coordinate is a position: its distance from the low end of its dimension's domain, which fits `u64`
//! for every dimension type. Boxes are inclusive ranges of positions.

use tesselle_core::{Region, Scalar, Span};

use crate::meta::layout::Layout;
use crate::meta::value::Bounds;
use crate::{Error, Result};

/// One dimension of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    /// The coordinate of position 0.
    pub low: i128,
    /// The last position of the domain.
    pub last: u64,
    /// Positions per tile, at least 1.
    pub extent: u64,
}

/// An inclusive box of positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellBox {
    /// First position per axis.
    pub low: Vec<u64>,
    /// Last position per axis.
    pub high: Vec<u64>,
}

impl CellBox {
    /// Positions along one axis, saturating for a full 64-bit axis.
    pub(crate) fn len(&self, axis: usize) -> u64 {
        match (self.low.get(axis), self.high.get(axis)) {
            (Some(low), Some(high)) => high.saturating_sub(*low).saturating_add(1),
            _ => 1,
        }
    }

    /// Cells in the box; `None` if they exceed 64 bits.
    pub(crate) fn cells(&self) -> Option<u64> {
        (0..self.low.len()).try_fold(1_u64, |product, axis| product.checked_mul(self.len(axis)))
    }

    /// The common part of two boxes.
    pub(crate) fn intersect(&self, other: &Self) -> Option<Self> {
        let low: Vec<u64> = self.low.iter().zip(&other.low).map(|(a, b)| *a.max(b)).collect();
        let high: Vec<u64> = self.high.iter().zip(&other.high).map(|(a, b)| *a.min(b)).collect();
        low.iter().zip(&high).all(|(low, high)| low <= high).then_some(Self { low, high })
    }

    /// Extends this box to include `other`.
    pub(crate) fn include(&mut self, other: &Self) {
        self.low.iter_mut().zip(&other.low).for_each(|(all, low)| *all = (*all).min(*low));
        self.high.iter_mut().zip(&other.high).for_each(|(all, high)| *all = (*all).max(*high));
    }

    /// Whether every cell of `other` lies in this box.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.low.iter().zip(&other.low).all(|(a, b)| a <= b)
            && self.high.iter().zip(&other.high).all(|(a, b)| a >= b)
    }
}

/// A run of cells that are equidistant in a tile and adjacent in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// First cell in the tile.
    pub source: usize,
    /// First cell in the target.
    pub target: usize,
}

/// All runs of one tile's part in a target; they share length and distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runs {
    /// Cells per run.
    pub len: usize,
    /// Distance in the tile between two cells of a run.
    pub step: usize,
    /// Where the runs start.
    pub starts: Vec<Run>,
}

/// The grid of a dense array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The dimensions.
    pub axes: Vec<Axis>,
    /// The order of tiles in a fragment.
    pub tile_order: Layout,
    /// The order of cells in a tile.
    pub cell_order: Layout,
}

impl Grid {
    /// The whole domain.
    pub(crate) fn domain(&self) -> CellBox {
        CellBox { low: vec![0; self.axes.len()], high: self.axes.iter().map(|axis| axis.last).collect() }
    }

    /// The positions of one range of coordinates per dimension, cropped to the domain.
    pub(crate) fn region_of(&self, ranges: &[Bounds]) -> Result<CellBox> {
        let mut region = self.domain();
        for (axis, range) in ranges.iter().enumerate() {
            let (Scalar::Int(low), Scalar::Int(high)) = (&range.low, &range.high) else {
                return Err(Error::corrupt("a range of a dense array is not an integer range"));
            };
            let grid_axis =
                self.axes.get(axis).ok_or_else(|| Error::corrupt("more ranges than dimensions"))?;
            let outside = || Error::corrupt(format!("the range [{low}, {high}] lies outside the domain"));
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

    /// The coordinates of a box of positions, one range per dimension.
    pub(crate) fn ranges_of(&self, region: &CellBox) -> Vec<Bounds> {
        let at = |axis: &Axis, position: u64| Scalar::Int(axis.low.saturating_add(i128::from(position)));
        let bounds = region.low.iter().zip(&region.high);
        let ranges = self.axes.iter().zip(bounds);
        ranges.map(|(axis, (low, high))| Bounds { low: at(axis, *low), high: at(axis, *high) }).collect()
    }

    /// Cells in every tile.
    pub(crate) fn cells_per_tile(&self) -> Result<u64> {
        self.axes
            .iter()
            .try_fold(1_u64, |product, axis| product.checked_mul(axis.extent))
            .ok_or_else(|| Error::corrupt("a tile has more than 2^64 cells"))
    }

    /// The box of tile indexes that `region` touches.
    pub(crate) fn tiles_of(&self, region: &CellBox) -> CellBox {
        let index = |positions: &[u64]| {
            positions.iter().zip(&self.axes).map(|(position, axis)| position / axis.extent.max(1)).collect()
        };
        CellBox { low: index(&region.low), high: index(&region.high) }
    }

    /// The cells of the tile at `index`; the last tiles may extend past the domain.
    pub(crate) fn tile_region(&self, index: &[u64]) -> CellBox {
        let low: Vec<u64> =
            index.iter().zip(&self.axes).map(|(i, axis)| i.saturating_mul(axis.extent)).collect();
        let high =
            low.iter().zip(&self.axes).map(|(low, axis)| low.saturating_add(axis.extent - 1)).collect();
        CellBox { low, high }
    }

    /// The number of the tile at `index` in a fragment that stores the tiles of `span`.
    pub(crate) fn tile_number(&self, span: &CellBox, index: &[u64]) -> Option<u64> {
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

    /// The grid position of tile `number` of a fragment that stores the tiles of `span`.
    pub(crate) fn tile_index(&self, span: &CellBox, number: u64) -> Option<Vec<u64>> {
        let mut out = span.low.clone();
        let mut rest = number;
        let mut step = |axis: usize| {
            let len = span.len(axis);
            let position = out.get_mut(axis)?;
            *position = position.checked_add(rest % len)?;
            rest /= len;
            Some(())
        };
        match self.tile_order {
            Layout::ColMajor => (0..span.low.len()).try_for_each(&mut step)?,
            _ => (0..span.low.len()).rev().try_for_each(&mut step)?,
        }
        (rest == 0).then_some(out)
    }

    /// The runs that copy the cells of `part` from the tile at `index` to their positions in the row-major `target`;
    /// `None` if the target selects none of them.
    ///
    /// `part` must be inside the tile.
    pub(crate) fn runs(&self, index: &[u64], part: &CellBox, target: &Region) -> Option<Runs> {
        let tile = self.tile_region(index);
        let extents =
            self.axes.iter().map(|axis| usize::try_from(axis.extent).ok()).collect::<Option<Vec<_>>>()?;
        let shape =
            target.spans.iter().map(|span| usize::try_from(span.len()).ok()).collect::<Option<Vec<_>>>()?;
        let mut source_steps = steps(&extents, self.cell_order)?;
        let target_steps = steps(&shape, Layout::RowMajor)?;
        let mut run = Run { source: 0, target: 0 };
        let mut lens = Vec::with_capacity(self.axes.len());
        for (axis, span) in target.spans.iter().enumerate() {
            let wanted = span.within(*part.low.get(axis)?, part.high.get(axis)?.saturating_add(1))?;
            let into_tile = usize::try_from(wanted.first.checked_sub(*tile.low.get(axis)?)?).ok()?;
            let into_target = usize::try_from(wanted.index).ok()?;
            let (source_step, target_step) = (source_steps.get_mut(axis)?, target_steps.get(axis)?);
            run.source = run.source.checked_add(into_tile.checked_mul(*source_step)?)?;
            run.target = run.target.checked_add(into_target.checked_mul(*target_step)?)?;
            lens.push(usize::try_from(wanted.len).ok()?);
            // With one cell along the axis its step is unused, and must not overflow.
            *source_step = source_step.checked_mul(usize::try_from(span.step).ok()?).unwrap_or(0);
        }
        // Merge trailing dimensions as long as the next one continues the same arithmetic progression.
        let mut inner = lens.len().checked_sub(1)?;
        let step = *source_steps.get(inner)?;
        let mut len = *lens.get(inner)?;
        while let Some(outer) = inner.checked_sub(1) {
            let continues = source_steps.get(outer) == step.checked_mul(len).as_ref()
                && target_steps.get(outer) == Some(&len);
            if !continues && lens.get(outer) != Some(&1) {
                break;
            }
            len = len.checked_mul(*lens.get(outer)?)?;
            inner = outer;
        }
        let count = lens.iter().take(inner).try_fold(1_usize, |product, len| product.checked_mul(*len))?;
        let mut starts = Vec::with_capacity(count);
        let mut odometer = vec![0_usize; inner];
        loop {
            starts.push(run);
            let mut axis = inner;
            loop {
                let Some(next) = axis.checked_sub(1) else { return Some(Runs { len, step, starts }) };
                axis = next;
                let (digit, limit) = (odometer.get_mut(axis)?, *lens.get(axis)?);
                let (source_step, target_step) = (*source_steps.get(axis)?, *target_steps.get(axis)?);
                *digit += 1;
                run.source = run.source.wrapping_add(source_step);
                run.target = run.target.wrapping_add(target_step);
                if *digit < limit {
                    break;
                }
                run.source = run.source.wrapping_sub(source_step.wrapping_mul(limit));
                run.target = run.target.wrapping_sub(target_step.wrapping_mul(limit));
                *digit = 0;
            }
        }
    }

    /// The smallest box around the selected positions; `None` when nothing is selected.
    pub(crate) fn bounds_of(selected: &Region) -> Option<CellBox> {
        let low = selected.spans.iter().map(|span| span.start).collect();
        let last = |span: &Span| {
            let steps = span.len().checked_sub(1)?;
            span.start.checked_add(steps.checked_mul(span.step)?)
        };
        let high = selected.spans.iter().map(last).collect::<Option<_>>()?;
        Some(CellBox { low, high })
    }
}

/// Distance between neighbors along each dimension of a box with these lengths.
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

    fn region(low: [u64; 3], high: [u64; 3]) -> CellBox {
        CellBox { low: low.to_vec(), high: high.to_vec() }
    }

    fn selected(spans: [(u64, u64, u64); 3]) -> Region {
        Region { spans: spans.iter().map(|&(start, stop, step)| Span { start, stop, step }).collect() }
    }

    fn positions(span: Span) -> Vec<u64> {
        (0..span.len()).map(|i| span.start + i * span.step).collect()
    }

    #[test]
    fn runs_agree_with_cell_by_cell_arithmetic() {
        let targets = [
            selected([(1, 4, 1), (2, 7, 1), (0, 4, 1)]),
            selected([(0, 5, 1), (0, 7, 1), (0, 4, 1)]),
            selected([(0, 5, 2), (1, 7, 3), (0, 4, 2)]),
            selected([(1, 2, 1), (0, 7, 1), (3, 4, 1)]),
        ];
        for order in [Layout::RowMajor, Layout::ColMajor] {
            let grid = grid(order, Layout::RowMajor);
            for target in &targets {
                for tile_number in 0..9 {
                    let index = [tile_number / 3, tile_number % 3, 0];
                    let tile = grid.tile_region(&index);
                    let part = tile.intersect(&region([0, 1, 0], [4, 6, 3])).unwrap();
                    let mut pairs = Vec::new();
                    if let Some(runs) = grid.runs(&index, &part, target) {
                        for run in &runs.starts {
                            pairs.extend((0..runs.len).map(|i| (run.source + i * runs.step, run.target + i)));
                        }
                    }
                    let mut expected = Vec::new();
                    let mut to = 0;
                    for a in positions(target.spans[0]) {
                        for b in positions(target.spans[1]) {
                            for c in positions(target.spans[2]) {
                                let here = CellBox { low: vec![a, b, c], high: vec![a, b, c] };
                                if part.covers(&here) {
                                    let (x, y, z) = (a - tile.low[0], b - tile.low[1], c - tile.low[2]);
                                    let source = if order == Layout::RowMajor {
                                        (x * 3 + y) * 4 + z
                                    } else {
                                        x + 2 * (y + 3 * z)
                                    };
                                    expected.push((source as usize, to));
                                }
                                to += 1;
                            }
                        }
                    }
                    assert_eq!(pairs, expected, "{order:?} {index:?} {target:?}");
                }
            }
        }
    }

    #[test]
    fn whole_tiles_are_one_run() {
        let grid = grid(Layout::RowMajor, Layout::RowMajor);
        let tile = grid.tile_region(&[0, 0, 0]);
        let runs = grid.runs(&[0, 0, 0], &tile, &selected([(0, 2, 1), (0, 3, 1), (0, 4, 1)])).unwrap();
        assert_eq!((runs.len, runs.step, runs.starts.len()), (24, 1, 1));
    }

    #[test]
    fn tiles_are_numbered_in_tile_order_within_the_fragment() {
        let span = region([1, 0, 0], [2, 2, 0]);
        assert_eq!(grid(Layout::RowMajor, Layout::RowMajor).tile_number(&span, &[2, 1, 0]), Some(4));
        assert_eq!(grid(Layout::RowMajor, Layout::ColMajor).tile_number(&span, &[2, 1, 0]), Some(3));
        assert_eq!(grid(Layout::RowMajor, Layout::ColMajor).tile_number(&span, &[0, 1, 0]), None);
        for order in [Layout::RowMajor, Layout::ColMajor] {
            let grid = grid(Layout::RowMajor, order);
            for number in 0..6 {
                let index = grid.tile_index(&span, number).unwrap();
                assert_eq!(grid.tile_number(&span, &index), Some(number));
            }
            assert_eq!(grid.tile_index(&span, 6), None);
        }
    }
}
