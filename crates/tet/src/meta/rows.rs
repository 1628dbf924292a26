//! The rows of the chunk index as far as they were read.
//!
//! A small index is read and checked by `open`. A large one in its usual form is read in blocks as chunks are looked up:
//! each row that is used is checked, and one that is not where it belongs leads to the whole index.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use tesselle_core::{Error, Result};

use super::geometry::Grid;
use super::index::{DatasetRows, Index, Row};
use super::regular::{self, BLOCK, Part};

/// The rows of a file.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The bytes of the rows in the file.
    range: Range<u64>,
    count: u64,
    payload_end: u64,
    /// All rows, checked.
    whole: OnceLock<Index>,
    /// The first row of each dataset, then the number of rows, if they are in order.
    starts: Vec<u64>,
    blocks: Vec<Block>,
}

/// Consecutive rows.
#[derive(Debug, Default)]
struct Block {
    rows: OnceLock<Bytes>,
    /// Their summary; `None` if they are not in order.
    parts: OnceLock<Option<Vec<Part>>>,
}

/// The answer to the question for a chunk.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// The row of the chunk, and its number.
    Row(u64, Row),
    /// No row is about the chunk.
    Missing,
    /// Requires these bytes of the file, which are passed to [`Rows::answer`].
    Ask(Range<u64>),
}

impl Rows {
    /// Rows that were all read.
    pub(crate) fn of(index: Index) -> Self {
        Self {
            range: 0..0,
            count: index.len(),
            payload_end: 0,
            whole: OnceLock::from(index),
            starts: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// Rows at `range` to be read when they are needed; `None` if they cannot be in their usual order.
    pub(crate) fn unread(range: Range<u64>, grids: &[Result<Grid>], payload_end: u64) -> Option<Self> {
        let count = range.end.checked_sub(range.start)? / Row::LEN as u64;
        let starts = regular::starts(grids, count)?;
        let blocks = (0..count.div_ceil(BLOCK)).map(|_| Block::default()).collect();
        Some(Self { range, count, payload_end, whole: OnceLock::new(), starts, blocks })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// All rows, if they were read.
    pub(crate) fn whole(&self) -> Option<&Index> {
        self.whole.get()
    }

    /// The bytes of all rows in the file.
    pub(crate) fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Looks up a chunk, given by coordinates inside the grid.
    pub(crate) fn find(&self, id: usize, grids: &[Result<Grid>], chunk: &[u64]) -> Result<Lookup> {
        if let Some(index) = self.whole() {
            let found = index.find(id, grids, chunk);
            return Ok(found.map_or(Lookup::Missing, |(number, row)| Lookup::Row(number, row)));
        }
        let grid = grids.get(id).and_then(|grid| grid.as_ref().ok());
        let place = grid.and_then(|grid| self.starts.get(id)?.checked_add(grid.linear(chunk)?));
        let Some(number) = place.filter(|number| *number < self.count) else { return Ok(Lookup::Missing) };
        let block = (number / BLOCK) as usize;
        let Some(rows) = self.blocks.get(block).and_then(|block| block.rows.get()) else {
            return Ok(Lookup::Ask(self.block_range(block)));
        };
        let row = rows.as_chunks().0.get((number % BLOCK) as usize);
        let row = row.ok_or_else(|| Error::internal("a block of the index is too short"))?;
        let row = Row::check(row, number, self.range.start, self.payload_end)?;
        if row.dataset_id != id as u64 || row.chunk(chunk.len()) != chunk {
            return Ok(Lookup::Ask(self.range()));
        }
        Ok(Lookup::Row(number, row))
    }

    /// Takes the bytes that [`Lookup::Ask`] requires, or those of all rows.
    pub(crate) fn answer(&self, range: &Range<u64>, bytes: Bytes, grids: &[Result<Grid>]) -> Result<()> {
        if *range == self.range {
            let index = Index::try_new(bytes, self.range.start, grids, self.payload_end)?;
            self.whole.get_or_init(|| index);
        } else if let Some(block) = self.blocks.get(self.block_at(range)) {
            block.rows.get_or_init(|| bytes);
        }
        Ok(())
    }

    /// The ranges to read before [`Rows::dataset`] is known for the datasets `ids`.
    pub(crate) fn unsurveyed(&self, ids: Range<usize>) -> Vec<Range<u64>> {
        if self.whole().is_some() {
            return Vec::new();
        }
        let blocks = self.blocks_of(ids).filter(|(_, block)| block.parts.get().is_none());
        blocks.map(|(number, _)| self.block_range(number)).collect()
    }

    /// Takes the bytes of one of [`Rows::unsurveyed`].
    pub(crate) fn survey(&self, range: &Range<u64>, bytes: &[u8], grids: &[Result<Grid>]) {
        let number = self.block_at(range);
        if let Some(block) = self.blocks.get(number) {
            let (rows, first) = (bytes.as_chunks().0, number as u64 * BLOCK);
            block.parts.get_or_init(|| regular::check(rows, first, &self.starts, grids, self.payload_end));
        }
    }

    /// The summary of a dataset's rows, if all of them were read and are in order.
    pub(crate) fn dataset(&self, id: usize) -> Option<DatasetRows> {
        if let Some(index) = self.whole() {
            return index.datasets.get(id).copied();
        }
        let parts: Option<Vec<&[Part]>> =
            self.blocks_of(id..id + 1).map(|(_, block)| block.parts.get()?.as_deref()).collect();
        let parts = parts?;
        let own = parts.into_iter().flatten().filter(|part| part.id == id);
        regular::merge(own, &self.starts).get(id).copied()
    }

    /// The blocks with rows of these datasets.
    fn blocks_of(&self, ids: Range<usize>) -> impl Iterator<Item = (usize, &Block)> {
        let row = |id: usize| self.starts.get(id).copied().unwrap_or(self.count);
        let (first, end) = (row(ids.start), row(ids.end));
        let end = if first < end { end.div_ceil(BLOCK) } else { first / BLOCK };
        self.blocks.iter().enumerate().take(end as usize).skip((first / BLOCK) as usize)
    }

    fn block_range(&self, block: usize) -> Range<u64> {
        let bytes = BLOCK * Row::LEN as u64;
        let start = self.range.start + block as u64 * bytes;
        start..(start + bytes).min(self.range.end)
    }

    fn block_at(&self, range: &Range<u64>) -> usize {
        (range.start.saturating_sub(self.range.start) / (BLOCK * Row::LEN as u64)) as usize
    }
}
