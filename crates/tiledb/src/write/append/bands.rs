//! Rows of a dense array, written in bands of whole tiles along its first axis. Only one band is in memory; the fragments
//! of the bands become visible together.

use arrow_array::RecordBatch;
use tesselle_core::{Action, Error, Result};

use super::dense::Dense;
use crate::meta::attribute::DataOrder;
use crate::order::grid::CellBox;
use crate::write::array::Written;
use crate::write::dense::CellOrder;
use crate::write::fragment::FinishedFragment;
use crate::write::name::stamp;

/// Where rows belong.
pub(super) enum Place {
    /// In a box, in row-major order.
    Next {
        /// The part of the box that has no rows yet.
        region: CellBox,
        /// Cells of one position along the first axis.
        plane: u64,
    },
    /// At the coordinates of their dimension columns.
    Named {
        /// The position of the last row along the first axis.
        last: u64,
        /// Whether rows came in the order of the first axis.
        ordered: bool,
    },
}

impl Place {
    pub(super) fn next(region: CellBox) -> Self {
        let plane = (1..region.low.len()).fold(1_u64, |cells, axis| cells.saturating_mul(region.len(axis)));
        Self::Next { region, plane }
    }
}

/// Rows on their way into an array.
pub(super) struct Bands {
    dense: Dense,
    place: Place,
    timestamps: (u64, u64),
    /// Rows that are not written yet.
    waiting: Vec<RecordBatch>,
    rows: u64,
    bytes: u64,
    /// The box of all bands.
    written: Option<CellBox>,
    fragments: Vec<(FinishedFragment, u64)>,
}

impl Bands {
    pub(super) fn new(dense: Dense, place: Place, timestamp: Option<u64>) -> Self {
        let (waiting, fragments) = (Vec::new(), Vec::new());
        Self {
            dense,
            place,
            timestamps: stamp(timestamp),
            waiting,
            rows: 0,
            bytes: 0,
            written: None,
            fragments,
        }
    }

    /// Writes all rows; they are visible when this returns.
    pub(super) fn write_all(
        mut self,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
    ) -> Result<Written> {
        let done = batches.into_iter().try_for_each(|batch| self.push(batch?)).and_then(|()| self.finish());
        let Self { dense, timestamps, written, fragments, .. } = self;
        let committed = dense.writer.commit_if(done, fragments, timestamps)?;
        let region = written.ok_or_else(|| Error::internal("there are rows, but no box of them"))?;
        dense.settle(&region, committed)
    }

    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.dense.writer.check_canceled()?;
        self.note(&batch)?;
        self.rows += batch.num_rows() as u64;
        self.bytes = self.bytes.saturating_add(batch.get_array_memory_size() as u64);
        self.waiting.push(batch);
        if self.bytes <= self.dense.most / 2 {
            return Ok(());
        }
        match self.complete()? {
            0 if self.bytes > self.dense.most => Err(too_large()),
            0 => Ok(()),
            rows => self.write(rows),
        }
    }

    /// Follows the order of rows that name their cells.
    fn note(&mut self, batch: &RecordBatch) -> Result<()> {
        let Place::Named { last, ordered } = &mut self.place else { return Ok(()) };
        for position in self.dense.first_axis(batch)? {
            *ordered &= position >= *last;
            *last = position;
        }
        Ok(())
    }

    /// The number of waiting rows that fill whole tiles along the first axis; 0 if there are none, or if what comes may
    /// belong to them.
    fn complete(&self) -> Result<u64> {
        // The order of values is that of a whole write.
        let attributes = &self.dense.writer.schema().attributes;
        if attributes.iter().any(|attribute| attribute.order != DataOrder::Unordered) {
            return Ok(0);
        }
        let extent = self.dense.grid.axes.first().map_or(1, |axis| axis.extent.max(1));
        match &self.place {
            Place::Next { region, plane } => {
                let start = region.low.first().copied().unwrap_or(0);
                let end = start.saturating_add(self.rows / plane) / extent * extent;
                Ok(end.saturating_sub(start).saturating_mul(*plane))
            }
            Place::Named { ordered: false, .. } => Ok(0),
            Place::Named { last, .. } => {
                let end = last / extent * extent;
                let mut rows = 0;
                for batch in &self.waiting {
                    let inside = self.dense.first_axis(batch)?.iter().filter(|at| **at < end).count();
                    rows += inside as u64;
                    if inside < batch.num_rows() {
                        break;
                    }
                }
                Ok(rows)
            }
        }
    }

    /// Writes the first `rows` of the waiting rows as a band.
    fn write(&mut self, rows: u64) -> Result<()> {
        let batch = self.take(rows)?;
        let (region, batch) = match &mut self.place {
            Place::Next { region, plane } => (cut(region, rows / *plane)?, batch),
            Place::Named { .. } => self.dense.writer.in_their_box(None, &batch)?,
        };
        let region = self.dense.inside(region)?;
        match &mut self.written {
            Some(all) if !follows(all, &region) => {
                return Err(Error::invalid("the rows do not fill a box of the array")
                    .hint("sort them by the dimensions of the array"));
            }
            Some(all) => all.include(&region),
            None => self.written = Some(region.clone()),
        }
        self.dense.grow(&region)?;
        let ranges = self.dense.grid.ranges_of(&region);
        let written = self.dense.writer.write_box(&ranges, &batch, CellOrder::RowMajor, self.timestamps)?;
        self.fragments.push(written);
        Ok(())
    }

    /// Takes the first `rows` of the waiting rows.
    fn take(&mut self, rows: u64) -> Result<RecordBatch> {
        let Some(schema) = self.waiting.first().map(RecordBatch::schema) else {
            return Err(Error::internal("there are no rows to take"));
        };
        let (mut taken, mut left, mut missing) = (Vec::new(), Vec::new(), rows);
        for batch in self.waiting.drain(..) {
            let count = usize::try_from(missing).map_or(batch.num_rows(), |n| n.min(batch.num_rows()));
            missing -= count as u64;
            if count > 0 {
                taken.push(batch.slice(0, count));
            }
            if count < batch.num_rows() {
                left.push(batch.slice(count, batch.num_rows() - count));
            }
        }
        self.rows -= rows;
        self.bytes = left.iter().map(|batch| batch.get_array_memory_size() as u64).sum();
        self.waiting = left;
        Ok(arrow_select::concat::concat_batches(&schema, &taken)?)
    }

    /// Writes the rest, which must end where the box does.
    fn finish(&mut self) -> Result<()> {
        if self.rows == 0 && self.written.is_none() {
            return Err(Error::invalid("there are no rows to add"));
        }
        if let Place::Next { plane, .. } = &self.place
            && !self.rows.is_multiple_of(*plane)
        {
            let before: u64 = self.fragments.iter().map(|(_, cells)| cells).sum();
            return Err(partial_plane(before + self.rows, *plane));
        }
        if self.rows > 0 { self.write(self.rows) } else { Ok(()) }
    }
}

/// Takes the first `len` positions along the first axis off a box.
fn cut(region: &mut CellBox, len: u64) -> Result<CellBox> {
    let mut band = region.clone();
    match (band.high.first_mut(), region.low.first_mut()) {
        (Some(high), Some(low)) => {
            *high = low.saturating_add(len).saturating_sub(1);
            *low = low.saturating_add(len);
            Ok(band)
        }
        _ => Err(Error::internal("a box has no axis")),
    }
}

/// Whether `next` begins where `all` ends along the first axis, and is equal to it along the others.
fn follows(all: &CellBox, next: &CellBox) -> bool {
    let joined = match (all.high.first(), next.low.first()) {
        (Some(high), Some(low)) => high.checked_add(1) == Some(*low),
        _ => false,
    };
    joined
        && all.low.iter().skip(1).eq(next.low.iter().skip(1))
        && all.high.iter().skip(1).eq(next.high.iter().skip(1))
}

pub(super) fn partial_plane(cells: u64, plane: u64) -> Error {
    Error::invalid(format!("{cells} rows do not fill planes of {plane} cells"))
}

fn too_large() -> Error {
    Error::limit("the rows of one band of tiles exceed the memory that they may take")
        .suggest("sort them by the dimensions, append them in parts, or allow more with {}", [Action::Memory])
}
