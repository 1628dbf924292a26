//! The index in its usual form: datasets in order, the chunks of each in row-major order.
//!
//! The expected position of a row is then known without the rows before it, so blocks of rows are checked in parallel.
//! On any mismatch the reader falls back to the walk of [`Index`](super::index::Index), which determines the error and
//! its position.

use tesselle_core::Result;
use tesselle_core::Within;
use tesselle_core::driver::parallel;

use super::directory::MAX_RANK;
use super::geometry::Grid;
use super::index::{Codec, DatasetRows, Row, RowBytes, u64_at};

/// Rows of one unit of work.
const BLOCK: usize = 1 << 14;

/// A summary of each dataset's rows; `None` if they are not in order, or one of them violates a rule.
pub(crate) fn summarize(
    rows: &[RowBytes],
    grids: &[Result<Grid>],
    payload_end: u64,
) -> Option<Vec<DatasetRows>> {
    let mut blocks = Vec::new();
    let mut datasets = Vec::with_capacity(grids.len());
    let mut first = 0_usize;
    for (id, grid) in grids.iter().enumerate() {
        let grid = grid.as_ref().ok()?;
        let count = usize::try_from(grid.chunks).ok()?;
        let own = rows.get(first..first.checked_add(count)?)?;
        datasets.push(DatasetRows::of(own, first as u64)?);
        blocks.extend((0..count).step_by(BLOCK).map(|start| Block { id, grid, rows: own, start }));
        first += count;
    }
    if first != rows.len() {
        return None;
    }
    let found = parallel::try_map(&blocks, |block| block.check(payload_end).ok_or(())).ok()?;
    for (block, found) in blocks.iter().zip(found) {
        let summary = datasets.get_mut(block.id)?;
        summary.exact &= found.exact;
        summary.packed_raw &= found.packed_raw;
        summary.stored_bytes = summary.stored_bytes.saturating_add(found.stored_bytes);
        summary.capacity = summary.capacity.saturating_add(found.capacity);
    }
    Some(datasets)
}

impl DatasetRows {
    /// The assumed summary of rows in order; `None` if the first has an unknown codec.
    fn of(rows: &[RowBytes], first: u64) -> Option<Self> {
        let Some(row) = rows.first() else { return Some(Self::NONE) };
        let row = Row::parse(row)?;
        Some(Self {
            first,
            count: rows.len() as u64,
            regular: true,
            exact: true,
            packed_raw: true,
            payload_offset: row.payload_offset,
            codec: row.codec,
            ..Self::NONE
        })
    }
}

/// Some of the rows of one dataset.
struct Block<'a> {
    id: usize,
    grid: &'a Grid,
    /// All rows of the dataset.
    rows: &'a [RowBytes],
    start: usize,
}

struct Found {
    exact: bool,
    packed_raw: bool,
    stored_bytes: u64,
    capacity: u64,
}

impl Block<'_> {
    fn check(&self, payload_end: u64) -> Option<Found> {
        let mut found = Found { exact: true, packed_raw: true, stored_bytes: 0, capacity: 0 };
        let mut odometer = Odometer::new(self.grid, self.start as u64)?;
        // The first payload may be anywhere; every other one should follow its predecessor.
        let mut next_offset = match self.start.checked_sub(1).and_then(|before| self.rows.get(before)) {
            Some(before) => u64_at::<72>(before).saturating_add(u64_at::<88>(before)),
            None => u64_at::<72>(self.rows.first()?),
        };
        for row in self.rows.iter().skip(self.start).take(BLOCK) {
            let codec = Codec::from_tag(Row::codec_tag(row))?;
            let (offset, raw, stored) = (u64_at::<72>(row), u64_at::<80>(row), u64_at::<88>(row));
            let end = offset.checked_add(stored).filter(|end| *end <= payload_end)?;
            let in_place = u64_at::<0>(row) == self.id as u64 && odometer.is_at(row);
            if !in_place || (codec == Codec::Raw && raw != stored) {
                return None;
            }
            found.exact &= raw == odometer.chunk_bytes();
            found.packed_raw &= codec == Codec::Raw && offset == next_offset;
            found.stored_bytes = found.stored_bytes.saturating_add(stored);
            found.capacity = found.capacity.saturating_add(codec.capacity(stored));
            next_offset = end;
            odometer.step();
        }
        Some(found)
    }
}

/// Chunks in row-major order.
struct Odometer<'a> {
    grid: &'a Grid,
    chunk: [u64; MAX_RANK],
    /// The last axis.
    last: usize,
    /// Bytes of a chunk per position of the last axis.
    outer: u64,
}

impl<'a> Odometer<'a> {
    fn new(grid: &'a Grid, linear: u64) -> Option<Self> {
        let mut chunk = [0; MAX_RANK];
        chunk.get_mut(..grid.rank())?.copy_from_slice(&grid.chunk_at(linear));
        let mut odometer = Self { grid, chunk, last: grid.rank().checked_sub(1)?, outer: 0 };
        odometer.turn();
        Some(odometer)
    }

    /// Moves to another position of the outer axes and recomputes their part of the chunk size.
    fn turn(&mut self) {
        let extents = self.grid.extents(&self.chunk);
        self.outer = extents.iter().take(self.last).product::<u64>() * self.grid.dtype.size() as u64;
    }

    #[inline]
    fn is_at(&self, row: &RowBytes) -> bool {
        let words = row.within(8..72).as_chunks::<8>().0;
        words.iter().zip(&self.chunk).take(self.last + 1).all(|(word, at)| u64::from_le_bytes(*word) == *at)
    }

    #[inline]
    fn chunk_bytes(&self) -> u64 {
        let (Some(at), Some(n), Some(chunk)) =
            (self.chunk.get(self.last), self.grid.shape.get(self.last), self.grid.chunk_shape.get(self.last))
        else {
            return 0;
        };
        // Inside the grid the product cannot overflow: it is below the extent plus one chunk, both checked.
        self.outer * n.saturating_sub(at.saturating_mul(*chunk)).min(*chunk)
    }

    #[inline]
    fn step(&mut self) {
        for axis in (0..=self.last).rev() {
            let (Some(at), Some(count)) = (self.chunk.get_mut(axis), self.grid.counts.get(axis)) else {
                return;
            };
            *at += 1;
            if *at < *count {
                if axis < self.last {
                    self.turn();
                }
                return;
            }
            *at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::directory::Dataset;
    use super::super::index::Index;
    use super::*;

    const PAYLOAD_END: u64 = 1 << 40;

    /// The rows of some grids as a writer stores them.
    fn rows(grids: &[Result<Grid>]) -> Vec<RowBytes> {
        let mut rows = Vec::new();
        let mut payload_offset = 4096;
        for (id, grid) in grids.iter().enumerate() {
            let grid = grid.as_ref().unwrap();
            for linear in 0..grid.chunks {
                let mut chunk = [0; MAX_RANK];
                chunk[..grid.rank()].copy_from_slice(&grid.chunk_at(linear));
                let raw_len = grid.chunk_bytes(&chunk[..grid.rank()]);
                let (dataset_id, codec) = (id as u64, if id == 1 { Codec::Zstd } else { Codec::Raw });
                let row = Row { dataset_id, chunk, payload_offset, raw_len, stored_len: raw_len, codec };
                payload_offset += raw_len;
                rows.push(row.to_bytes());
            }
        }
        rows
    }

    fn grids(shapes: &[(&[u64], &[u64])]) -> Vec<Result<Grid>> {
        let dataset = |(shape, chunk): &(&[u64], &[u64])| Dataset {
            name: String::new(),
            tag: 1,
            shape: shape.to_vec(),
            chunk_shape: chunk.to_vec(),
        };
        shapes.iter().map(|shapes| Grid::new(&dataset(shapes))).collect()
    }

    #[test]
    fn blocks_and_the_walk_agree() {
        let grids =
            grids(&[(&[5, 7], &[2, 4]), (&[70_000], &[2]), (&[0, 3], &[1, 1]), (&[3, 50, 41], &[1, 2, 3])]);
        let intact = rows(&grids);
        let found = summarize(&intact, &grids, PAYLOAD_END).unwrap();
        assert_eq!(found, Index::walk(&intact, 0, &grids, PAYLOAD_END).unwrap());
        // For any change of one row, the two agree, or the blocks fall back to the walk.
        for (at, field) in
            [(0, 72), (3, 80), (5, 88), (17_000, 72), (17_000, 96), (30_000, 8), (intact.len() - 1, 24)]
        {
            let mut damaged = intact.clone();
            damaged[at][field] ^= 1;
            if let Some(found) = summarize(&damaged, &grids, PAYLOAD_END) {
                let walked = Index::walk(&damaged, 0, &grids, PAYLOAD_END).unwrap();
                assert_eq!(found, walked, "row {at}, byte {field}");
            }
        }
    }

    #[test]
    fn surprises_are_left_to_the_walk() {
        let grids = grids(&[(&[4, 4], &[2, 2]), (&[6], &[2])]);
        let intact = rows(&grids);
        assert!(summarize(&intact, &grids, PAYLOAD_END).is_some());
        let mut swapped = intact.clone();
        swapped.swap(1, 2);
        assert!(summarize(&swapped, &grids, PAYLOAD_END).is_none());
        assert!(summarize(&intact[1..], &grids, PAYLOAD_END).is_none());
        assert!(summarize(&intact, &grids, 4096).is_none());
    }
}
