//! One block of a dense read: first the columns that the predicate tests, then, if a row passes, the others.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use bytes::Bytes;
use tesselle_core::{ByteRange, Cost, Region, Step, Task};

use super::assemble::Assembler;
use super::plan::{Composition, DenseScan};
use crate::Result;
use crate::read::schema::{Column, Source};
use crate::read::tile::StoredTile;

enum State {
    Start,
    Tested,
    Others { tested: Vec<ArrayRef>, passing: Option<Vec<u32>> },
    Done,
}

pub(crate) struct DenseTask {
    scan: Arc<DenseScan>,
    block: Region,
    composition: Composition,
    state: State,
}

impl DenseTask {
    pub(crate) fn new(scan: Arc<DenseScan>, block: Region, composition: Composition) -> Self {
        Self { scan, block, composition, state: State::Start }
    }

    /// The ranges of the tiles of columns `from..to` of the projection.
    fn ranges(&self, columns: std::ops::Range<usize>) -> Result<Vec<ByteRange>> {
        let mut out = Vec::new();
        for at in columns {
            for part in &self.composition.parts {
                if let Some(field) = self.scan.fields.get(&part.fragment).and_then(|f| f.get(at)?.as_ref()) {
                    field.ranges(part.tile, &mut out)?;
                }
            }
        }
        Ok(out)
    }

    fn decode(&self, columns: std::ops::Range<usize>, fetched: Vec<Bytes>) -> Result<Vec<ArrayRef>> {
        let mut fetched = fetched.into_iter();
        let mut assembler = Assembler::new(&self.scan, &self.block, &self.composition)?;
        let decode = |at: usize, column: &Column| match column.source {
            Source::Dimension(axis) => assembler.coordinates(column, axis),
            Source::Attribute(_) => {
                let stored: Vec<Option<StoredTile>> = self
                    .composition
                    .parts
                    .iter()
                    .map(|part| {
                        let field = self.scan.fields.get(&part.fragment).and_then(|f| f.get(at)?.as_ref());
                        field.map(|field| field.take(&mut fetched))
                    })
                    .collect();
                assembler.attribute(at, column, &stored)
            }
        };
        let chosen = self.scan.projection.columns.iter().enumerate().skip(columns.start).take(columns.len());
        let mut decode = decode;
        chosen.map(|(at, column)| decode(at, column)).collect()
    }

    fn finish(
        &mut self,
        tested: &[ArrayRef],
        passing: Option<&[u32]>,
        others: Vec<ArrayRef>,
    ) -> Result<Step> {
        self.state = State::Done;
        let projection = &self.scan.projection;
        let all: Vec<ArrayRef> = tested.iter().cloned().chain(others).collect();
        let rows = usize::try_from(self.block.cells().unwrap_or(0)).unwrap_or(0);
        let Some(picks) = passing else { return projection.batch(&all, rows).map(Step::Batch) };
        let indices = UInt32Array::from(picks.to_vec());
        let taken = all.iter().map(|array| arrow_select::take::take(array, &indices, None));
        let taken = taken.collect::<std::result::Result<Vec<_>, _>>()?;
        projection.batch(&taken, picks.len()).map(Step::Batch)
    }
}

impl Task for DenseTask {
    fn cost(&self) -> Cost {
        let mut bytes_in = 0_u64;
        let mut scratch = 0_u64;
        for part in &self.composition.parts {
            for field in self.scan.fields.get(&part.fragment).into_iter().flatten().flatten() {
                bytes_in = bytes_in.saturating_add(field.stored_bytes(part.tile));
                let tile = self.scan.cells_per_tile.saturating_mul(field.cell_size() as u64);
                scratch = scratch.max(tile);
                if field.is_var() {
                    scratch = scratch.saturating_add(field.var_size(part.tile));
                }
            }
        }
        let row: u64 =
            self.scan.projection.columns.iter().map(|column| column.cell_size().max(16) as u64).sum();
        let out = self.block.cells().unwrap_or(u64::MAX).saturating_mul(row);
        Cost {
            pieces: self.composition.parts.len() as u64,
            bytes_in,
            memory: bytes_in.saturating_add(out).saturating_add(scratch),
        }
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        let tested_columns = 0..self.scan.projection.tested;
        let other_columns = self.scan.projection.tested..self.scan.projection.columns.len();
        match std::mem::replace(&mut self.state, State::Done) {
            State::Start if tested_columns.is_empty() => {
                // A predicate without columns is a constant.
                let rows = usize::try_from(self.block.cells().unwrap_or(0)).unwrap_or(0);
                let passing = self.scan.projection.passing(&[], rows)?;
                if passing.as_ref().is_some_and(Vec::is_empty) {
                    return Ok(Step::Done);
                }
                self.state = State::Others { tested: Vec::new(), passing };
                self.ranges(other_columns).map(Step::Need)
            }
            State::Start => {
                self.state = State::Tested;
                self.ranges(tested_columns).map(Step::Need)
            }
            State::Tested => {
                let tested = self.decode(tested_columns, fetched)?;
                let rows = usize::try_from(self.block.cells().unwrap_or(0)).unwrap_or(0);
                let passing = self.scan.projection.passing(&tested, rows)?;
                if passing.as_ref().is_some_and(Vec::is_empty) {
                    return Ok(Step::Done);
                }
                if other_columns.is_empty() {
                    return self.finish(&tested, passing.as_deref(), Vec::new());
                }
                self.state = State::Others { tested, passing };
                self.ranges(other_columns).map(Step::Need)
            }
            State::Others { tested, passing } => {
                let others = self.decode(other_columns, fetched)?;
                self.finish(&tested, passing.as_deref(), others)
            }
            State::Done => Ok(Step::Done),
        }
    }
}
