//! The index in its usual form: datasets in order, the chunks of each in row-major order.
//!
//! The expected position of a row is then known without the rows before it, so blocks of rows are checked in parallel,
//! and the rows of a large index are read when they are needed. On any mismatch the reader falls back to the walk of
//! [`Index`](super::index::Index), which determines the error and its position.

use tesselle_core::Result;
use tesselle_core::Within;
use tesselle_core::driver::parallel;

use super::directory::MAX_RANK;
use super::geometry::Grid;
use super::index::{Codec, DatasetRows, Row, RowBytes, u64_at};

/// Rows of one unit of work.
pub(crate) const BLOCK: u64 = 2520;

/// The first row of each dataset, then the number of rows; `None` if `count` rows cannot be in order.
pub(crate) fn starts(grids: &[Result<Grid>], count: u64) -> Option<Vec<u64>> {
    let mut next = 0_u64;
    let mut starts = vec![next];
    for grid in grids {
        next = next.checked_add(grid.as_ref().ok()?.chunks)?;
        starts.push(next);
    }
    (next == count).then_some(starts)
}

/// A summary of each dataset's rows; `None` if they are not in order, or one of them violates a rule.
pub(crate) fn summarize(
    rows: &[RowBytes],
    grids: &[Result<Grid>],
    payload_end: u64,
) -> Option<Vec<DatasetRows>> {
    let starts = starts(grids, rows.len() as u64)?;
    let blocks = (0..).step_by(BLOCK as usize).zip(rows.chunks(BLOCK as usize));
    let parts =
        parallel::try_map(blocks, |(first, rows)| check(rows, first, &starts, grids, payload_end).ok_or(()));
    Some(merge(parts.ok()?.iter().flatten(), &starts))
}

/// Consecutive rows of one dataset.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) id: usize,
    codec: Codec,
    count: u64,
    /// Where the first payload starts, and where the last one ends.
    offset: u64,
    end: u64,
    exact: bool,
    packed_raw: bool,
    stored_bytes: u64,
    capacity: u64,
}

/// Checks consecutive rows, of which the first has the number `first`; `None` if they are not in order, or one of them
/// violates a rule.
pub(crate) fn check(
    mut rows: &[RowBytes],
    first: u64,
    starts: &[u64],
    grids: &[Result<Grid>],
    payload_end: u64,
) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut number = first;
    let mut id = starts.partition_point(|start| *start <= first).checked_sub(1)?;
    while !rows.is_empty() {
        let (start, end) = (*starts.get(id)?, *starts.get(id + 1)?);
        let count = end.checked_sub(number)?.min(rows.len() as u64);
        let (own, others) = rows.split_at_checked(count as usize)?;
        if !own.is_empty() {
            parts.push(Part::of(own, id, grids.get(id)?.as_ref().ok()?, number - start, payload_end)?);
        }
        (rows, number, id) = (others, number + count, id + 1);
    }
    Some(parts)
}

/// The summary of each dataset from its parts, in order.
pub(crate) fn merge<'p>(parts: impl Iterator<Item = &'p Part>, starts: &[u64]) -> Vec<DatasetRows> {
    let mut datasets = vec![DatasetRows::NONE; starts.len().saturating_sub(1)];
    let mut end = 0;
    for part in parts {
        let (Some(summary), Some(first)) = (datasets.get_mut(part.id), starts.get(part.id)) else { continue };
        if summary.count == 0 {
            summary.first = *first;
            summary.payload_offset = part.offset;
            summary.codec = part.codec;
            (summary.regular, summary.exact, summary.packed_raw) = (true, true, true);
        } else {
            summary.packed_raw &= part.offset == end;
        }
        end = part.end;
        summary.count += part.count;
        summary.exact &= part.exact;
        summary.packed_raw &= part.packed_raw;
        summary.stored_bytes = summary.stored_bytes.saturating_add(part.stored_bytes);
        summary.capacity = summary.capacity.saturating_add(part.capacity);
    }
    datasets
}

impl Part {
    /// Checks the rows of chunk number `linear` and the following ones.
    fn of(rows: &[RowBytes], id: usize, grid: &Grid, linear: u64, payload_end: u64) -> Option<Self> {
        let first = rows.first()?;
        let (codec, offset) = (Codec::from_tag(Row::codec_tag(first))?, u64_at::<72>(first));
        let mut part = Self {
            id,
            codec,
            count: rows.len() as u64,
            offset,
            end: offset,
            exact: true,
            packed_raw: true,
            stored_bytes: 0,
            capacity: 0,
        };
        let mut counter = ChunkCounter::new(grid, linear)?;
        for row in rows {
            let codec = Codec::from_tag(Row::codec_tag(row))?;
            let (offset, raw, stored) = (u64_at::<72>(row), u64_at::<80>(row), u64_at::<88>(row));
            let end = offset.checked_add(stored).filter(|end| *end <= payload_end)?;
            let in_place = u64_at::<0>(row) == id as u64 && counter.is_at(row);
            if !in_place || (codec == Codec::Raw && raw != stored) {
                return None;
            }
            part.exact &= raw == counter.chunk_bytes();
            part.packed_raw &= codec == Codec::Raw && offset == part.end;
            part.stored_bytes = part.stored_bytes.saturating_add(stored);
            part.capacity = part.capacity.saturating_add(codec.capacity(stored));
            part.end = end;
            counter.step();
        }
        Some(part)
    }
}

/// Chunks in row-major order.
struct ChunkCounter<'a> {
    grid: &'a Grid,
    chunk: [u64; MAX_RANK],
    /// The last axis.
    last: usize,
    /// Bytes of a chunk per position of the last axis.
    outer: u64,
}

impl<'a> ChunkCounter<'a> {
    fn new(grid: &'a Grid, linear: u64) -> Option<Self> {
        let mut chunk = [0; MAX_RANK];
        chunk.get_mut(..grid.rank())?.copy_from_slice(&grid.chunk_at(linear));
        let mut counter = Self { grid, chunk, last: grid.rank().checked_sub(1)?, outer: 0 };
        counter.turn();
        Some(counter)
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
        shapes.iter().map(|shapes| Grid::try_new(&dataset(shapes))).collect()
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
