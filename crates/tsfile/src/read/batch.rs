//! Buffers that collect rows and turn them into record batches.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, BinaryArray, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer, NullBufferBuilder};
use arrow_schema::SchemaRef;
use tesselle_core::{Action, At, Error, Result, Within};

use super::column::{DecodedValues, NONE};
use super::run::{Run, RunColumn};
use super::schema::Show;
use super::source::SourceColumn;
use crate::meta::DataType;

/// Maximum bytes of strings in one batch, well below the limit of 32-bit offsets.
const MAX_STRING_BYTES: usize = 1 << 28;

/// The definition of the output columns. Plain data, shared by the tasks of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    /// The columns of every batch.
    pub(crate) schema: SchemaRef,
    /// The origin of each column.
    pub(crate) columns: Vec<ColumnOrigin>,
    /// The slots that sources fill: name and type.
    pub(crate) slots: Vec<(Arc<str>, DataType)>,
    /// How values map to Arrow.
    pub(crate) show: Show,
    /// Rows per batch.
    pub(crate) batch_rows: usize,
}

/// The origin of an output column.
#[derive(Debug, Clone)]
pub(crate) enum ColumnOrigin {
    /// The time.
    Time,
    /// A slot.
    Slot(usize),
    /// The same string in every row, or null.
    Constant(Option<Arc<str>>),
    /// The measurement that each row belongs to (long table).
    Measurement,
}

/// Rows collected so far.
#[derive(Debug)]
pub(crate) struct BatchBuilder {
    projection: Arc<Projection>,
    /// Shared with the decoded page if a batch is exactly one page.
    times: Arc<Vec<i64>>,
    slots: Vec<Slot>,
    /// Measurement and rows, for the long table.
    measurements: Vec<(Arc<str>, usize)>,
    /// Whether the rows form a complete batch as they are.
    closed: bool,
}

#[derive(Debug)]
struct Slot {
    values: Option<DecodedValues>,
    nulls: NullBufferBuilder,
}

impl Slot {
    fn new(data_type: DataType) -> Self {
        Self { values: data_type.physical().map(DecodedValues::new), nulls: NullBufferBuilder::new(0) }
    }

    fn len(&self) -> usize {
        self.nulls.len()
    }

    fn nothing(&mut self, n: usize) {
        if let Some(values) = &mut self.values {
            values.extend_nothing(n);
        }
        self.nulls.append_n_nulls(n);
    }

    fn picks(&mut self, from: &DecodedValues, picks: &[u32]) -> Result<()> {
        if let Some(values) = &mut self.values {
            values.extend_picks(from, picks)?;
        }
        let there = BooleanBuffer::collect_bool(picks.len(), |i| picks.get(i) != Some(&NONE));
        self.nulls.append_buffer(&NullBuffer::new(there));
        Ok(())
    }

    fn range(&mut self, column: &RunColumn, from: usize, to: usize) -> Result<()> {
        if let Some(picks) = &column.picks {
            return self.picks(&column.values, picks.part(from..to)?);
        }
        if let Some(values) = &mut self.values {
            values.extend_range(&column.values, from, to)?;
        }
        self.nulls.append_n_non_nulls(to.saturating_sub(from));
        Ok(())
    }
}

impl BatchBuilder {
    /// Creates empty buffers.
    pub(crate) fn new(projection: Arc<Projection>) -> Self {
        let slots = projection.slots.iter().map(|(_, data_type)| Slot::new(*data_type)).collect();
        Self { projection, times: Arc::default(), slots, measurements: Vec::new(), closed: false }
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.times.len()
    }

    /// Target number of rows of a batch.
    pub(crate) fn batch_rows(&self) -> usize {
        self.projection.batch_rows
    }

    /// Whether the batch is full.
    pub(crate) fn is_full(&self) -> bool {
        let is_full = |slot: &Slot| matches!(&slot.values, Some(v @ DecodedValues::Binary(_)) if v.bytes() > MAX_STRING_BYTES);
        self.closed || self.rows() >= self.projection.batch_rows || self.slots.iter().any(is_full)
    }

    /// Whether a run of this many rows forms a batch of its own.
    pub(crate) fn is_batch(&self, rows: usize) -> bool {
        self.rows() == 0 && rows <= self.projection.batch_rows && rows >= self.projection.batch_rows / 2
    }

    /// Forms a batch from whole runs at the same times, with a value in every row, without copying. Each run
    /// comes with the columns of its source.
    pub(crate) fn adopt<'a>(&mut self, runs: impl Iterator<Item = (Run, &'a [SourceColumn])>) -> Result<()> {
        for (run, columns) in runs {
            for (column, source) in run.columns.into_iter().zip(columns) {
                let slot = self.slot(source.slot)?;
                slot.values = Some(column.values);
                slot.nulls.append_n_non_nulls(run.times.len());
            }
            self.times = run.times;
        }
        self.end_rows();
        self.closed = true;
        Ok(())
    }

    fn slot(&mut self, slot: usize) -> Result<&mut Slot> {
        self.slots.get_mut(slot).ok_or_else(|| Error::internal("a source has no slot"))
    }

    /// Starts rows at these times; [`BatchBuilder::end_rows`] follows.
    pub(crate) fn begin_rows(&mut self, times: &[i64]) {
        Arc::make_mut(&mut self.times).extend_from_slice(times);
    }

    /// Fills the new rows of a slot from a range of a run's column.
    pub(crate) fn range(&mut self, slot: usize, column: &RunColumn, from: usize, to: usize) -> Result<()> {
        self.slot(slot)?.range(column, from, to)
    }

    /// Fills the new rows of a slot: for each row one of the run's, or [`NONE`].
    pub(crate) fn picks(&mut self, slot: usize, column: &RunColumn, rows: &[u32]) -> Result<()> {
        let slot = self.slot(slot)?;
        match &column.picks {
            None => slot.picks(&column.values, rows),
            Some(picks) => {
                let pick = |row: &u32| if *row == NONE { Ok(NONE) } else { picks.at(*row as usize).copied() };
                let through = rows.iter().map(pick).collect::<Result<Vec<u32>>>()?;
                slot.picks(&column.values, &through)
            }
        }
    }

    /// Fills the slots that received no values for the new rows with nulls.
    pub(crate) fn end_rows(&mut self) {
        let rows = self.times.len();
        for slot in &mut self.slots {
            let missing = rows.saturating_sub(slot.len());
            if missing > 0 {
                slot.nothing(missing);
            }
        }
    }

    /// Appends the remaining points of a run as rows of the long table, at most `rows`.
    pub(crate) fn points(&mut self, run: &mut Run, sources: &[SourceColumn], rows: usize) -> Result<()> {
        let from = run.position;
        let to = run.end.min(from.saturating_add(rows));
        for (column, source) in run.columns.iter().zip(sources) {
            let times = run.times.part(from..to)?;
            let before = self.times.len();
            match &column.picks {
                None => {
                    self.begin_rows(times);
                    self.range(source.slot, column, from, to)?;
                }
                Some(picks) => {
                    let picks = picks.part(from..to)?;
                    let there = times.iter().zip(picks).filter(|(_, pick)| **pick != NONE);
                    let (times, picks): (Vec<i64>, Vec<u32>) = there.unzip();
                    self.begin_rows(&times);
                    self.slot(source.slot)?.picks(&column.values, &picks)?;
                }
            }
            self.end_rows();
            let added = self.times.len() - before;
            self.measurements.push((Arc::clone(&source.name), added));
        }
        run.position = to;
        Ok(())
    }

    /// Takes the rows collected so far as a batch.
    pub(crate) fn take(&mut self) -> Result<RecordBatch> {
        let fresh = Self::new(Arc::clone(&self.projection));
        let Self { projection, times, slots, measurements, .. } = std::mem::replace(self, fresh);
        let rows = times.len();
        let mut finished: Vec<Option<ArrayRef>> = Vec::with_capacity(slots.len());
        for (mut slot, (name, data_type)) in slots.into_iter().zip(&projection.slots) {
            let nulls = slot.nulls.finish();
            let Some(values) = slot.values else {
                finished.push(None);
                continue;
            };
            let named = |row: usize| measurement_at(&measurements, row).unwrap_or(name);
            check_utf8(&values, *data_type, projection.show, nulls.as_ref(), named, &times)?;
            finished.push(Some(projection.show.array(values, *data_type, nulls)?));
        }
        // The times define the rows even if the time column is not selected.
        let wants_time = projection.columns.iter().any(|origin| matches!(origin, ColumnOrigin::Time));
        let time = wants_time.then(|| projection.show.times(times));
        let mut columns = Vec::with_capacity(projection.columns.len());
        for (origin, field) in projection.columns.iter().zip(projection.schema.fields()) {
            columns.push(match origin {
                ColumnOrigin::Time => {
                    time.clone().ok_or_else(|| Error::internal("a batch lacks its times"))?
                }
                ColumnOrigin::Slot(i) => match finished.get(*i).cloned().flatten() {
                    Some(array) => array,
                    None => new_null_array(field.data_type(), rows),
                },
                ColumnOrigin::Constant(value) => constant(value.as_deref(), rows, field.data_type())?,
                ColumnOrigin::Measurement => {
                    let bytes = measurements.iter().map(|(name, n)| name.len() * n).sum();
                    let mut names = StringBuilder::with_capacity(rows, bytes);
                    for (name, n) in &measurements {
                        (0..*n).for_each(|_| names.append_value(name));
                    }
                    Arc::new(names.finish())
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&projection.schema), columns, &options)?)
    }
}

/// The measurement of a row of the long table.
fn measurement_at(measurements: &[(Arc<str>, usize)], row: usize) -> Option<&str> {
    let mut end = 0;
    let found = measurements.iter().find(|(_, n)| {
        end += n;
        row < end
    });
    found.map(|(name, _)| &**name)
}

/// The same string in every row.
fn constant(value: Option<&str>, rows: usize, data_type: &arrow_schema::DataType) -> Result<ArrayRef> {
    let Some(value) = value else { return Ok(new_null_array(data_type, rows)) };
    if value.len().checked_mul(rows).is_none_or(|bytes| bytes > i32::MAX as usize) {
        return Err(
            Error::limit("the tags of one batch take more than 2 GiB").hint("read fewer rows per batch")
        );
    }
    Ok(match data_type {
        arrow_schema::DataType::Binary => Arc::new(BinaryArray::new_repeated(value.as_bytes(), rows)),
        _ => Arc::new(StringArray::new_repeated(value, rows)),
    })
}

/// Refuses strings that are not UTF-8; the error names the point.
fn check_utf8<'a>(
    values: &DecodedValues,
    data_type: DataType,
    show: Show,
    nulls: Option<&NullBuffer>,
    name: impl Fn(usize) -> &'a str,
    times: &[i64],
) -> Result<()> {
    let DecodedValues::Binary(strings) = values else { return Ok(()) };
    if !data_type.is_string()
        || show.text_as_binary
        || std::str::from_utf8(&strings.data).is_ok_and(|value| cuts_whole(value, &strings.offsets))
    {
        return Ok(());
    }
    let bad = (0..strings.len()).find(|row| {
        nulls.is_none_or(|nulls| nulls.is_valid(*row)) && std::str::from_utf8(strings.get(*row)).is_err()
    });
    let row = bad.unwrap_or_default();
    let time = times.value(row);
    Err(Error::corrupt(format!("the string of '{}' at time {time} is not UTF-8", name(row).escape_debug()))
        .class("not_utf8")
        .suggest("read it with {}", [Action::StringsAsBinary]))
}

/// Whether every offset is a character boundary.
fn cuts_whole(value: &str, offsets: &[i32]) -> bool {
    value.is_ascii() || offsets.iter().all(|at| value.is_char_boundary(*at as usize))
}
