//! Sorting of any number of rows by a key: rows that do not fit into memory are spilled to temporary files.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom};

use arrow_array::{RecordBatch, UInt64Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take_record_batch;
use tesselle_core::{Error, Result};

/// Rows of a batch that comes out of a merge.
const MERGED_ROWS: usize = 16 << 10;
/// Rows of a batch in a temporary file.
const SPILLED_ROWS: usize = 16 << 10;

/// The order: columns by position, the key first.
pub(super) struct KeyOrder {
    converter: RowConverter,
    columns: Vec<usize>,
}

impl KeyOrder {
    /// By the columns at these positions.
    pub(super) fn try_new(schema: &Schema, columns: Vec<usize>) -> Result<Self> {
        let fields = columns.iter().map(|at| SortField::new(schema.field(*at).data_type().clone()));
        Ok(Self { converter: RowConverter::new(fields.collect())?, columns })
    }

    /// Rows in a form that compares as the key does.
    pub(super) fn rows(&self, batch: &RecordBatch) -> Result<Rows> {
        let columns: Vec<_> = self.columns.iter().map(|at| batch.column(*at).clone()).collect();
        Ok(self.converter.convert_columns(&columns)?)
    }

    /// A batch in this order.
    fn sorted(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = self.rows(batch)?;
        if (1..rows.num_rows()).all(|i| rows.row(i - 1) <= rows.row(i)) {
            return Ok(batch.clone());
        }
        let mut order: Vec<u64> = (0..rows.num_rows() as u64).collect();
        order.sort_by(|a, b| rows.row(*a as usize).cmp(&rows.row(*b as usize)));
        Ok(take_record_batch(batch, &UInt64Array::from(order))?)
    }
}

/// Sorts batches with at most so many bytes in memory.
pub(super) struct Sorter<'a> {
    order: &'a KeyOrder,
    memory: u64,
    held: Vec<RecordBatch>,
    bytes: u64,
    runs: Vec<StreamReader<BufReader<File>>>,
}

impl<'a> Sorter<'a> {
    /// Into this order.
    pub(super) fn new(order: &'a KeyOrder, memory: u64) -> Self {
        Self { order, memory, held: Vec::new(), bytes: 0, runs: Vec::new() }
    }

    /// Adds rows.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.bytes += batch.get_array_memory_size() as u64;
        self.held.push(batch);
        // Sorting needs a second copy, and the key a third.
        if self.bytes > self.memory / 3 {
            self.runs.push(spill(&std::mem::take(&mut self.held), self.order)?);
            self.bytes = 0;
        }
        Ok(())
    }

    /// All rows in order.
    pub(super) fn finish(self) -> Result<SortedBatches<'a>> {
        let Self { order, held, runs, .. } = self;
        let last = match held.first() {
            None => None,
            Some(first) => Some(order.sorted(&concat_batches(&first.schema(), &held)?)?),
        };
        drop(held);
        if runs.is_empty() {
            return Ok(SortedBatches::Held(last));
        }
        let mut sources: Vec<Run<'a>> = Vec::with_capacity(runs.len() + 1);
        for run in runs {
            sources.push(Run::try_new(Box::new(run.map(|batch| batch.map_err(temporary))), order)?);
        }
        sources.push(Run::try_new(Box::new(last.into_iter().map(Ok)), order)?);
        Ok(SortedBatches::Merged(sources))
    }
}

fn spill(held: &[RecordBatch], order: &KeyOrder) -> Result<StreamReader<BufReader<File>>> {
    let Some(first) = held.first() else { return Err(Error::internal("nothing to spill")) };
    let batch = order.sorted(&concat_batches(&first.schema(), held)?)?;
    let failed = |error| Error::io("cannot write a temporary file for sorting", error);
    let file = tempfile::tempfile().map_err(failed)?;
    let mut writer = StreamWriter::try_new(BufWriter::new(file), &batch.schema()).map_err(temporary)?;
    for start in (0..batch.num_rows()).step_by(SPILLED_ROWS) {
        let part = batch.slice(start, SPILLED_ROWS.min(batch.num_rows() - start));
        writer.write(&part).map_err(temporary)?;
    }
    let buffered = writer.into_inner().map_err(temporary)?;
    let mut file = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    StreamReader::try_new(BufReader::new(file), None).map_err(temporary)
}

fn temporary(error: arrow_schema::ArrowError) -> Error {
    Error::new(tesselle_core::ErrorKind::Io, "a temporary file for sorting failed").source(error)
}

/// Batches in the order of a key.
pub(super) enum SortedBatches<'a> {
    /// All rows in memory.
    Held(Option<RecordBatch>),
    /// From temporary files, merged.
    Merged(Vec<Run<'a>>),
}

impl Iterator for SortedBatches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Held(batch) => batch.take().map(Ok),
            Self::Merged(runs) => merge(runs).transpose(),
        }
    }
}

/// One sorted run, and its position.
pub(super) struct Run<'a> {
    batches: Box<dyn Iterator<Item = Result<RecordBatch>>>,
    order: &'a KeyOrder,
    current: Option<(RecordBatch, Rows)>,
    at: usize,
}

impl<'a> Run<'a> {
    fn try_new(batches: Box<dyn Iterator<Item = Result<RecordBatch>>>, order: &'a KeyOrder) -> Result<Self> {
        let mut run = Self { batches, order, current: None, at: 0 };
        run.refill()?;
        Ok(run)
    }

    fn refill(&mut self) -> Result<()> {
        self.at = 0;
        self.current = None;
        for batch in self.batches.by_ref() {
            let batch = batch?;
            if batch.num_rows() > 0 {
                let rows = self.order.rows(&batch)?;
                self.current = Some((batch, rows));
                break;
            }
        }
        Ok(())
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (&self.current, &other.current) {
            (Some((_, a)), Some((_, b))) => a.row(self.at).cmp(&b.row(other.at)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        }
    }
}

/// The next rows of all runs together, until one of their batches ends or enough rows are merged.
fn merge(runs: &mut [Run<'_>]) -> Result<Option<RecordBatch>> {
    let mut picked: Vec<(usize, usize)> = Vec::new();
    let mut ended = None;
    while picked.len() < MERGED_ROWS && ended.is_none() {
        let first = (0..runs.len()).min_by(|a, b| runs[*a].compare(&runs[*b]));
        let Some(number) = first.filter(|number| runs[*number].current.is_some()) else { break };
        let run = &mut runs[number];
        picked.push((number, run.at));
        run.at += 1;
        if run.current.as_ref().is_some_and(|(batch, _)| run.at == batch.num_rows()) {
            ended = Some(number);
        }
    }
    if picked.is_empty() {
        return Ok(None);
    }
    // Runs at their end have no batch; the others are renumbered.
    let mut place = vec![0; runs.len()];
    let mut sources = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        if let Some((batch, _)) = &run.current {
            place[number] = sources.len();
            sources.push(batch);
        }
    }
    let picked: Vec<(usize, usize)> = picked.into_iter().map(|(run, row)| (place[run], row)).collect();
    let merged = interleave_record_batch(&sources, &picked)?;
    if let Some(number) = ended {
        runs[number].refill()?;
    }
    Ok(Some(merged))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn more_rows_than_memory_come_out_sorted() {
        let batches: Vec<RecordBatch> = (0..40_i64)
            .map(|n| {
                let values = (0..5000_i64).map(|i| (i * 7919 + n * 104_729) % 100_003);
                let column: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
                RecordBatch::try_from_iter([("k", column)]).unwrap()
            })
            .collect();
        let order = KeyOrder::try_new(&batches[0].schema(), vec![0]).unwrap();
        let mut want: Vec<i64> =
            batches.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
        want.sort_unstable();
        for memory in [100_000, 1 << 30] {
            let mut sorter = Sorter::new(&order, memory);
            for batch in &batches {
                sorter.push(batch.clone()).unwrap();
            }
            let sorted = sorter.finish().unwrap();
            assert_eq!(matches!(sorted, SortedBatches::Merged(_)), memory == 100_000);
            let got: Vec<i64> = sorted
                .flat_map(|b| b.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec())
                .collect();
            assert!(got == want, "memory {memory}");
        }
    }
}
