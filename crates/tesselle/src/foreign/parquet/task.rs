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
use crate::foreign::guard::guarded;
use crate::foreign::writer::damaged;

/// Rows of a row group.
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
    /// The decoder wants these ranges first.
    Decoding(Box<ParquetPushDecoder>, Vec<Range<u64>>),
}

impl GroupTask {
    fn damaged(&self, error: impl std::error::Error + Send + Sync + 'static) -> Error {
        damaged("Parquet", error).file(&*self.file).piece(format!("row group {}", self.group))
    }

    fn decoder(&mut self) -> Result<Box<ParquetPushDecoder>> {
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(self.metadata.clone())
            .with_row_groups(vec![self.group])
            .with_projection(self.mask.clone())
            .with_batch_size(self.batch_rows);
        if let Some(selection) = self.rows.selection.take() {
            builder = builder.with_row_selection(selection);
        }
        builder.build().map(Box::new).map_err(|error| self.damaged(error))
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

    fn advance(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        let mut decoder = match std::mem::replace(&mut self.state, State::Start) {
            State::Start if !self.blooms.is_empty() => {
                let ranges: Vec<Range<u64>> = self.blooms.iter().map(|test| test.range.clone()).collect();
                self.state = State::Blooms;
                return Ok(self.need(&ranges));
            }
            State::Blooms if self.excluded(&fetched)? => return Ok(Step::Done),
            State::Start | State::Blooms => self.decoder()?,
            State::Decoding(mut decoder, ranges) => {
                if !ranges.is_empty() {
                    decoder.push_ranges(ranges, fetched).map_err(|error| self.damaged(error))?;
                }
                decoder
            }
        };
        match decoder.try_decode().map_err(|error| self.damaged(error))? {
            DecodeResult::NeedsData(ranges) => {
                let step = self.need(&ranges);
                self.state = State::Decoding(decoder, ranges);
                Ok(step)
            }
            DecodeResult::Data(batch) => {
                self.state = State::Decoding(decoder, Vec::new());
                Ok(Step::Batch(batch.project(&self.order)?))
            }
            DecodeResult::Finished => Ok(Step::Done),
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
