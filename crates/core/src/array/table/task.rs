//! The task of one band: first the columns tested by the predicate, then, if a row passes, the others.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::FilterBuilder;
use bytes::Bytes;

use super::plan::{PlanColumn, Shared, may_match};
use super::values::{GridValues, PartCost, ValuesRead, ValuesStep};
use crate::array::{AxisCopy, BoxCopy, TilePart, touched};
use crate::error::{Error, Result};
use crate::predicate::Predicate;
use crate::predicate::coded::{coded, expand};
use crate::selection::Region;
use crate::task::{Cost, Step, Task};

/// Reads one band.
pub(super) struct BandTask {
    shared: Arc<Shared>,
    region: Region,
    cells: u64,
    /// The values of each column of the plan; `None` for axes and columns not read yet.
    columns: Vec<Option<ArrayRef>>,
    /// The columns being read, with their position among the columns.
    reads: Vec<(usize, Reading)>,
    /// The passing rows, batch by batch; `None` if all pass.
    passing: Option<Vec<BooleanBuffer>>,
    stage: Stage,
    /// The number of the next batch.
    next: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Start,
    Tested,
    Others,
    Ready,
}

/// A column being read, and the ranges it waits for.
struct Reading {
    read: Box<dyn ValuesRead>,
    waits: ValuesStep,
}

impl BandTask {
    pub(super) fn try_new(shared: &Arc<Shared>, region: Region) -> Result<Self> {
        let cells = region.cells().ok_or_else(|| Error::internal("a band cannot be counted"))?;
        let columns: Vec<Option<ArrayRef>> = vec![None; shared.columns.len()];
        let (shared, reads) = (Arc::clone(shared), Vec::new());
        Ok(Self { shared, region, cells, columns, reads, passing: None, stage: Stage::Start, next: 0 })
    }

    /// Starts to read the columns at these positions.
    fn start(&mut self, columns: Range<usize>) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        for at in columns {
            let Some(values) = shared.columns.get(at).and_then(PlanColumn::values) else { continue };
            let kept = shared.kept.as_ref().filter(|_| shared.follows(values));
            let wanted = |tile: &[u64]| kept.is_none_or(|kept| kept.has(tile));
            let mut read = values.read(&self.region, &wanted)?;
            let waits = read.step(&[])?;
            self.reads.push((at, Reading { read, waits }));
        }
        Ok(())
    }

    /// The pending requests of the columns, file sizes first; `None` if there are none.
    fn wait(&mut self) -> Option<Step> {
        for (at, reading) in std::mem::take(&mut self.reads) {
            match reading.waits {
                ValuesStep::Values(values) => {
                    if let Some(place) = self.columns.get_mut(at) {
                        *place = Some(values);
                    }
                }
                _ => self.reads.push((at, reading)),
            }
        }
        if self.reads.is_empty() {
            return None;
        }
        let (mut files, mut ranges) = (Vec::new(), Vec::new());
        for (_, reading) in &self.reads {
            match &reading.waits {
                ValuesStep::Sizes(own) => files.extend(own.iter().cloned()),
                ValuesStep::Need(own) => ranges.extend(own.iter().cloned()),
                ValuesStep::Values(_) => {}
            }
        }
        Some(if files.is_empty() { Step::Need(ranges) } else { Step::Sizes(files) })
    }

    /// Passes fetched bytes to the columns that wait for them.
    fn go_on(&mut self, mut fetched: &[Bytes]) -> Result<()> {
        let sizes = self.reads.iter().any(|(_, reading)| matches!(reading.waits, ValuesStep::Sizes(_)));
        for (_, reading) in &mut self.reads {
            let count = match &reading.waits {
                ValuesStep::Sizes(files) => files.len(),
                ValuesStep::Need(ranges) if !sizes => ranges.len(),
                _ => continue,
            };
            let (own, others) = fetched
                .split_at_checked(count)
                .ok_or_else(|| Error::internal("not all requested ranges were fetched"))?;
            reading.waits = reading.read.step(own)?;
            fetched = others;
        }
        Ok(())
    }

    /// The rows of batch number `at`.
    fn batch_rows(&self, at: u64) -> Option<Range<u64>> {
        let size = self.shared.batch_rows as u64;
        let start = at.checked_mul(size).filter(|start| *start < self.cells)?;
        Some(start..(start + size).min(self.cells))
    }

    /// Some columns of a batch, as they were read.
    fn parts(&self, positions: impl Iterator<Item = usize>, rows: &Range<u64>) -> Result<Vec<ArrayRef>> {
        let len = address(rows.end - rows.start)?;
        let start = address(rows.start)?;
        let columns = positions.map(|at| {
            if let Some(PlanColumn::Axis(axis)) = self.shared.columns.get(at) {
                let column = self.shared.grid.axes.get(*axis);
                let column = column.ok_or_else(|| Error::internal("an axis is not in the grid"))?;
                return (column.column)(&self.region, *axis, rows.clone());
            }
            let values = self.columns.get(at).and_then(Option::as_ref);
            let values = values.filter(|values| values.len() as u64 == self.cells);
            values
                .map(|values| values.slice(start, len))
                .ok_or_else(|| Error::internal("a band has fewer values than rows"))
        });
        columns.collect()
    }

    /// Tests the rows; `false` when none passes.
    fn test(&mut self) -> Result<bool> {
        let shared = Arc::clone(&self.shared);
        let Some(predicate) = &shared.predicate else { return Ok(true) };
        let mask = self.mask()?;
        let (mut passing, mut any, mut all) = (Vec::new(), false, true);
        while let Some(rows) = self.batch_rows(passing.len() as u64) {
            let columns = self.parts(0..shared.tested, &rows)?;
            let result =
                evaluate(predicate, &shared.tested_schema, columns, address(rows.end - rows.start)?)?;
            let mut bits = match result.nulls() {
                Some(nulls) => result.values() & nulls.inner(),
                None => result.values().clone(),
            };
            if let Some(mask) = &mask {
                bits = &bits & &mask.slice(address(rows.start)?, bits.len());
            }
            let count = bits.count_set_bits();
            any |= count > 0;
            all &= count == bits.len();
            passing.push(bits);
        }
        self.passing = (!all).then_some(passing);
        Ok(any)
    }

    /// A mask of the cells in tiles that are read, if some are not.
    fn mask(&self) -> Result<Option<BooleanBuffer>> {
        let Some(kept) = &self.shared.kept else { return Ok(None) };
        let (tiles, shape) = (self.shared.tiles(&self.region)?, self.region.shape());
        let mut marks = vec![0_u8; address(self.cells)?];
        let mut skipped = false;
        for parts in tiles.combinations(0..shape.len()) {
            let tile: Vec<u64> = parts.iter().map(|part| part.tile).collect();
            if !kept.has(&tile) {
                skipped = true;
                continue;
            }
            let axis = |(part, extent): (&TilePart, &u64)| AxisCopy {
                len: part.len,
                src_first: 0,
                src_step: 1,
                src_extent: part.len,
                dst_first: part.index,
                dst_extent: *extent,
            };
            let ones = vec![1; address(parts.iter().map(|part| part.len).product())?];
            BoxCopy::new(parts.iter().zip(&shape).map(axis), 1).copy(&ones, &mut marks)?;
        }
        let bit = |i: usize| marks.get(i).is_some_and(|mark| *mark != 0);
        Ok(skipped.then(|| BooleanBuffer::collect_bool(marks.len(), bit)))
    }

    /// The next batch that has rows.
    fn next_batch(&mut self) -> Result<Step> {
        loop {
            let number = self.next;
            let Some(rows) = self.batch_rows(number) else { return Ok(Step::Done) };
            self.next += 1;
            let passing = self.passing.as_ref().and_then(|passing| passing.get(number as usize));
            let count = passing.map(BooleanBuffer::count_set_bits);
            if count == Some(0) {
                continue;
            }
            let shared = &self.shared;
            let mut columns = self.parts(shared.output.iter().copied(), &rows)?;
            let mut len = address(rows.end - rows.start)?;
            if let Some(bits) = passing.filter(|bits| count != Some(bits.len())) {
                let mut filter = FilterBuilder::new(&BooleanArray::new(bits.clone(), None));
                if columns.len() > 1 {
                    filter = filter.optimize();
                }
                let filter = filter.build();
                columns = columns
                    .iter()
                    .map(|column| filter.filter(column))
                    .collect::<std::result::Result<_, _>>()?;
                len = filter.count();
            }
            for (column, field) in columns.iter_mut().zip(shared.schema.fields()) {
                if let Some(dictionary) = coded(&*column, field.data_type()) {
                    *column = expand(dictionary)?;
                }
            }
            let options = RecordBatchOptions::new().with_row_count(Some(len));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&shared.schema), columns, &options);
            return Ok(Step::Batch(batch?));
        }
    }
}

/// The value of a predicate over the columns of `schema`, some of which may have come as dictionaries.
fn evaluate(
    predicate: &Predicate,
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<BooleanArray> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let fields = schema.fields().iter();
    let names: Vec<&str> = fields
        .zip(&columns)
        .filter(|(field, column)| coded(column, field.data_type()).is_some())
        .map(|(field, _)| field.name().as_str())
        .collect();
    if names.is_empty() {
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
        return predicate.evaluate(&batch);
    }
    let fields = schema.fields().iter().zip(&columns);
    let fields =
        fields.map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
    predicate.evaluate_coded(&batch, &names)
}

impl Task for BandTask {
    fn largest_piece(&self) -> u64 {
        let shape = &self.shared.grid.shape;
        let tiles = self.shared.read().filter(|values| values.part_cost() != PartCost::Part).map(|values| {
            let extents = values.tile_shape().iter().zip(shape).map(|(tile, extent)| *tile.min(extent));
            extents.fold(values.cell_bytes(), u64::saturating_mul)
        });
        tiles.max().unwrap_or(0)
    }

    fn cost(&self) -> Cost {
        let shared = &self.shared;
        let cell: u64 = shared.read().map(GridValues::cell_bytes).sum();
        let axes = shared.columns.len() as u64 - shared.read().count() as u64;
        let batch = (shared.batch_rows as u64).min(self.cells).saturating_mul(axes * 8);
        let bytes = self.cells.saturating_mul(cell);
        Cost {
            pieces: shared.read().map(|values| touched(values.tile_shape(), &self.region)).sum(),
            bytes_in: bytes,
            memory: bytes.saturating_mul(2).saturating_add(batch),
            rows: self.cells,
        }
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        let tested = self.shared.tested;
        self.go_on(&fetched)?;
        drop(fetched);
        loop {
            if let Some(step) = self.wait() {
                return Ok(step);
            }
            match self.stage {
                Stage::Start if !may_match(&self.shared, &self.region)? => return Ok(Step::Done),
                Stage::Start if self.shared.predicate.is_some() => {
                    self.stage = Stage::Tested;
                    self.start(0..tested)?;
                }
                Stage::Start => {
                    self.stage = Stage::Others;
                    self.start(tested..self.shared.columns.len())?;
                }
                Stage::Tested => {
                    if !self.test()? {
                        return Ok(Step::Done);
                    }
                    self.stage = Stage::Others;
                    self.start(tested..self.shared.columns.len())?;
                }
                Stage::Others | Stage::Ready => {
                    self.stage = Stage::Ready;
                    return self.next_batch();
                }
            }
        }
    }
}

fn address(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::limit("a band exceeds the address space"))
}
