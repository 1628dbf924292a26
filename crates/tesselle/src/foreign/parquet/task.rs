//! Decoding of rows of one row group. The decoder requests byte ranges; the driver fetches them.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, RowSelection};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use tesselle_core::{ByteRange, Cost, Error, Result, Step, Task};

use super::bloom::BloomTest;
use super::learning::{Learning, Narrowed, Probe};
use super::table::row_count;
use crate::foreign::guard::guarded;
use crate::foreign::writer::damaged;

/// Rows of a row group.
#[derive(Clone)]
pub(super) struct GroupRows {
    /// How many.
    pub(super) count: usize,
    /// The selection; `None` is all rows.
    pub(super) selection: Option<RowSelection>,
}

/// Some rows of one row group.
pub(super) struct GroupTask {
    pub(super) file: Arc<str>,
    pub(super) metadata: ArrowReaderMetadata,
    pub(super) mask: ProjectionMask,
    pub(super) order: Arc<[usize]>,
    pub(super) group: usize,
    pub(super) rows: GroupRows,
    pub(super) batch_rows: usize,
    pub(super) blooms: Arc<[BloomTest]>,
    pub(super) learning: Option<Arc<Learning>>,
    pub(super) cost: Cost,
    pub(super) largest_page: u64,
    pub(super) state: State,
}

#[derive(Default)]
pub(super) enum State {
    #[default]
    Start,
    /// Bloom filters were requested.
    Blooms,
    /// The columns of a condition are decoded first.
    Testing(Decoding, Probe),
    Output(Decoding, Output),
}

/// A decoder, and the ranges that it wants first.
pub(super) struct Decoding {
    decoder: Box<ParquetPushDecoder>,
    ranges: Vec<Range<u64>>,
}

/// The rows that are decoded to be returned.
#[derive(Default)]
pub(super) struct Output {
    /// How many were returned.
    done: usize,
    /// Whether conditions that know nothing yet may still select the rest of them.
    may_narrow: bool,
}

impl GroupTask {
    fn damaged(&self, error: impl std::error::Error + Send + Sync + 'static) -> Error {
        damaged("Parquet", error).file(&*self.file).piece(format!("row group {}", self.group))
    }

    /// A decoder of these columns of the rows.
    fn decoding(&self, mask: &ProjectionMask) -> Result<Decoding> {
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(self.metadata.clone())
            .with_row_groups(vec![self.group])
            .with_projection(mask.clone())
            .with_batch_size(self.batch_rows);
        if let Some(selection) = &self.rows.selection {
            builder = builder.with_row_selection(selection.clone());
        }
        let decoder = builder.build().map(Box::new).map_err(|error| self.damaged(error))?;
        Ok(Decoding { decoder, ranges: Vec::new() })
    }

    fn need(&self, ranges: &[Range<u64>]) -> Step {
        Step::Need(ranges.iter().map(|range| ByteRange::new(Arc::clone(&self.file), range.clone())).collect())
    }

    fn excluded(&self, filters: &[Bytes]) -> Result<bool> {
        for (test, filter) in self.blooms.iter().zip(filters) {
            if test.excludes(filter).map_err(|error| self.damaged(error))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// All rows of the row group.
    fn all(&self) -> Result<usize> {
        let group = self.metadata.metadata().row_groups().get(self.group);
        row_count(group.ok_or_else(|| Error::internal("there is no such row group"))?)
    }

    /// How the rows are decoded, by what conditions know now; `None` if no row can pass.
    fn begin(&mut self) -> Result<Option<State>> {
        let Some(learning) = self.learning.clone() else { return self.output(false).map(Some) };
        match learning.narrow(&self.metadata, self.group, self.rows.clone())? {
            Narrowed::Nothing => Ok(None),
            Narrowed::Rows(rows) => {
                self.rows = rows;
                self.output(!learning.has_learned()).map(Some)
            }
            Narrowed::Tested(rows, probe) => {
                self.rows = rows;
                Ok(Some(State::Testing(self.decoding(probe.mask())?, probe)))
            }
        }
    }

    fn output(&self, may_narrow: bool) -> Result<State> {
        Ok(State::Output(self.decoding(&self.mask)?, Output { done: 0, may_narrow }))
    }

    /// The state after the columns of a condition are decoded, as far as that is worth it.
    fn tested(&mut self, probe: &Probe) -> Result<Option<State>> {
        if probe.has_many() {
            if let Some(learning) = &self.learning {
                learning.lose();
            }
            return self.output(false).map(Some);
        }
        self.rows = probe.passing(&self.rows, self.all()?);
        if self.rows.count == 0 { Ok(None) } else { self.output(false).map(Some) }
    }

    /// Whether the rows that are left are selected first, now that the conditions have learned from the rows before.
    fn narrows(&self, output: &Output) -> bool {
        let is_worth = self.rows.count.saturating_sub(output.done) > self.batch_rows;
        let learned = |learning: &Arc<Learning>| learning.is_worth() && learning.has_learned();
        output.may_narrow && output.done > 0 && is_worth && self.learning.as_ref().is_some_and(learned)
    }

    fn decode(
        &self,
        decoding: &mut Decoding,
        fetched: Vec<Bytes>,
    ) -> Result<DecodeResult<arrow_array::RecordBatch>> {
        let Decoding { decoder, ranges } = decoding;
        if !ranges.is_empty() {
            decoder.push_ranges(std::mem::take(ranges), fetched).map_err(|error| self.damaged(error))?;
        }
        let result = decoder.try_decode().map_err(|error| self.damaged(error))?;
        if let DecodeResult::NeedsData(needed) = &result {
            ranges.clone_from(needed);
        }
        Ok(result)
    }

    fn advance(&mut self, mut fetched: Vec<Bytes>) -> Result<Step> {
        loop {
            let fetched = std::mem::take(&mut fetched);
            let next = match std::mem::take(&mut self.state) {
                State::Start if !self.blooms.is_empty() => {
                    let ranges: Vec<Range<u64>> = self.blooms.iter().map(|test| test.range.clone()).collect();
                    self.state = State::Blooms;
                    return Ok(self.need(&ranges));
                }
                State::Blooms if self.excluded(&fetched)? => None,
                State::Start | State::Blooms => self.begin()?,
                State::Testing(mut decoding, mut probe) => match self.decode(&mut decoding, fetched)? {
                    DecodeResult::NeedsData(ranges) => {
                        self.state = State::Testing(decoding, probe);
                        return Ok(self.need(&ranges));
                    }
                    DecodeResult::Data(batch) => {
                        probe.test(&batch)?;
                        if probe.is_lost() {
                            self.tested(&probe)?
                        } else {
                            Some(State::Testing(decoding, probe))
                        }
                    }
                    DecodeResult::Finished => self.tested(&probe)?,
                },
                State::Output(_, output) if self.narrows(&output) => {
                    self.rows = self.rows.after(self.all()?, output.done);
                    self.begin()?
                }
                State::Output(mut decoding, mut output) => match self.decode(&mut decoding, fetched)? {
                    DecodeResult::NeedsData(ranges) => {
                        self.state = State::Output(decoding, output);
                        return Ok(self.need(&ranges));
                    }
                    DecodeResult::Data(batch) => {
                        output.done += batch.num_rows();
                        self.state = State::Output(decoding, output);
                        return Ok(Step::Batch(batch.project(&self.order)?));
                    }
                    DecodeResult::Finished => None,
                },
            };
            match next {
                Some(state) => self.state = state,
                None => return Ok(Step::Done),
            }
        }
    }
}

impl Task for GroupTask {
    fn cost(&self) -> Cost {
        self.cost
    }

    fn largest_piece(&self) -> u64 {
        self.largest_page
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        guarded("Parquet", || self.advance(fetched)).map_err(|error| error.file(&*self.file))
    }
}
