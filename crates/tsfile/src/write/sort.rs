//! Rows in any order become rows by time. What does not fit into memory is sorted in temporary files.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom};

use arrow_array::{Array, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;
use tesselle_core::{At, Error, ErrorKind, Result, Within};

use super::schema::millis;

/// Rows of a batch that comes out, and of one in a temporary file.
const BATCH_ROWS: usize = 16 << 10;
/// Temporary files that are merged at a time.
const MERGED_RUNS: usize = 16;
/// The most memory that rows take up before they go to a file.
const MOST_BYTES: u64 = 256 << 20;

/// Collects rows and returns them by time; rows of equal times keep their order.
pub(super) struct TimeSort {
    schema: SchemaRef,
    /// The column of the times.
    time: usize,
    /// Bytes of rows to hold in memory.
    memory: u64,
    held: Vec<RecordBatch>,
    bytes: u64,
    /// Sorted files; a row of an earlier one came before those of later ones.
    runs: Vec<File>,
}

impl TimeSort {
    /// Sorts rows of `schema` by the column at `time`. `memory` is what the whole write may use.
    pub(super) fn new(schema: SchemaRef, time: usize, memory: u64) -> Self {
        // Sorting makes a second copy of what is held.
        Self {
            schema,
            time,
            memory: (memory / 8).min(MOST_BYTES),
            held: Vec::new(),
            bytes: 0,
            runs: Vec::new(),
        }
    }

    /// Adds rows.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        self.bytes += bytes_of(batch);
        self.held.push(batch.clone());
        if self.bytes > self.memory { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        self.bytes = 0;
        let run = SortedRun::held(held, self.time)?;
        self.runs.push(write_run(&self.schema, Merge { runs: vec![run] })?);
        Ok(())
    }

    /// All rows by time, in batches that do not split rows of equal times.
    pub(super) fn finish(mut self) -> Result<WholeTimes> {
        while self.runs.len() >= MERGED_RUNS {
            let mut files = std::mem::take(&mut self.runs).into_iter().peekable();
            while files.peek().is_some() {
                let runs = files.by_ref().take(MERGED_RUNS).map(|file| SortedRun::read(file, self.time));
                let merge = Merge { runs: runs.collect::<Result<_>>()? };
                self.runs.push(write_run(&self.schema, merge)?);
            }
        }
        let mut runs: Vec<SortedRun> =
            self.runs.into_iter().map(|file| SortedRun::read(file, self.time)).collect::<Result<_>>()?;
        runs.push(SortedRun::held(self.held, self.time)?);
        Ok(WholeTimes { merge: Merge { runs }, time: self.time, open: None, ready: None })
    }
}

/// The bytes of the rows themselves; a slice does not count the rest of its buffers.
fn bytes_of(batch: &RecordBatch) -> u64 {
    let column = |column: &dyn Array| {
        let data = column.to_data();
        data.get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size()) as u64
    };
    batch.columns().iter().map(|array| column(array.as_ref())).sum()
}

fn write_run(schema: &SchemaRef, merge: Merge) -> Result<File> {
    let failed = |error| Error::io("cannot write a temporary file for sorting", error);
    let file = tempfile::tempfile().map_err(failed)?;
    let mut writer = StreamWriter::try_new(BufWriter::new(file), schema).map_err(temporary)?;
    for batch in merge {
        writer.write(&batch?).map_err(temporary)?;
    }
    let buffered = writer.into_inner().map_err(temporary)?;
    let mut file = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok(file)
}

fn temporary(error: ArrowError) -> Error {
    Error::new(ErrorKind::Io, "a temporary file for sorting failed").source(error)
}

/// Sorted rows from one place.
struct SortedRun {
    rows: RowSource,
    column: usize,
    current: Vec<RecordBatch>,
    /// The next rows: their times, and the batch of `current` and the row in it that each of them is.
    times: Vec<i64>,
    places: Vec<(usize, usize)>,
    at: usize,
}

/// Where the rows of a run come from.
enum RowSource {
    /// From memory, all at once.
    Held,
    /// From a file, batch by batch.
    File(Box<StreamReader<BufReader<File>>>),
}

impl SortedRun {
    /// Sorts what is held in memory.
    fn held(batches: Vec<RecordBatch>, column: usize) -> Result<Self> {
        let mut rows: Vec<(i64, (usize, usize))> = Vec::new();
        for (number, batch) in batches.iter().enumerate() {
            let times = times_of(batch, column)?;
            rows.extend(times.iter().enumerate().map(|(row, time)| (*time, (number, row))));
        }
        rows.sort_by_key(|(time, _)| *time);
        let (times, places) = rows.into_iter().unzip();
        Ok(Self { rows: RowSource::Held, column, current: batches, times, places, at: 0 })
    }

    fn read(file: File, column: usize) -> Result<Self> {
        let reader = StreamReader::try_new(BufReader::new(file), None).map_err(temporary)?;
        let rows = RowSource::File(Box::new(reader));
        let mut run =
            Self { rows, column, current: Vec::new(), times: Vec::new(), places: Vec::new(), at: 0 };
        run.refill()?;
        Ok(run)
    }

    /// Reads the next batch, if all rows are used.
    fn refill(&mut self) -> Result<()> {
        let RowSource::File(reader) = &mut self.rows else { return Ok(()) };
        while self.at == self.times.len() {
            let Some(batch) = reader.next() else { return Ok(()) };
            let batch = batch.map_err(temporary)?;
            self.times = times_of(&batch, self.column)?.to_vec();
            self.places = (0..batch.num_rows()).map(|row| (0, row)).collect();
            (self.current, self.at) = (vec![batch], 0);
        }
        Ok(())
    }

    fn next_time(&self) -> Option<i64> {
        self.times.get(self.at).copied()
    }
}

fn times_of(batch: &RecordBatch, column: usize) -> Result<ScalarBuffer<i64>> {
    millis(batch.columns().at(column)?)
}

/// The rows of several runs by time.
struct Merge {
    runs: Vec<SortedRun>,
}

impl Merge {
    /// The run with the earliest row, and how many of its rows come before those of the others.
    fn first(&self) -> Option<(usize, usize)> {
        let next = |number: &usize| self.runs.get(*number).and_then(SortedRun::next_time);
        let order = |number: &usize| (next(number), *number);
        let mut waiting: Vec<usize> = (0..self.runs.len()).filter(|number| next(number).is_some()).collect();
        let at = (0..waiting.len()).min_by_key(|at| waiting.get(*at).map(order))?;
        let first = waiting.swap_remove(at);
        let bound = waiting.iter().map(order).min();
        let run = self.runs.get(first)?;
        let rows = run.times.within(run.at..);
        let count = match bound {
            None => rows.len(),
            Some(bound) => rows.partition_point(|time| (Some(*time), first) < bound),
        };
        Some((first, count))
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        // The number of each run's first batch among all of them.
        let mut offsets = Vec::with_capacity(self.runs.len());
        let mut batches = 0;
        for run in &mut self.runs {
            run.refill()?;
            offsets.push(batches);
            batches += run.current.len();
        }
        let mut picked: Vec<(usize, usize)> = Vec::with_capacity(BATCH_ROWS);
        while picked.len() < BATCH_ROWS {
            let Some((number, count)) = self.first() else { break };
            let (run, offset) = (self.runs.at_mut(number)?, offsets.at(number)?);
            let count = count.min(BATCH_ROWS - picked.len());
            let places = run.places.within(run.at..run.at + count);
            picked.extend(places.iter().map(|(batch, row)| (offset + batch, *row)));
            run.at += count;
            // The next batch of a file replaces the one that rows have just been picked from.
            if run.at == run.times.len() && matches!(run.rows, RowSource::File(_)) {
                break;
            }
        }
        if picked.is_empty() {
            return Ok(None);
        }
        let sources: Vec<&RecordBatch> = self.runs.iter().flat_map(|run| &run.current).collect();
        Ok(Some(interleave_record_batch(&sources, &picked)?))
    }
}

impl Iterator for Merge {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}

/// Sorted batches, cut only where the time changes: of the points of a series at one time the last is kept, which
/// needs all of them together.
pub(super) struct WholeTimes {
    merge: Merge,
    time: usize,
    /// The rows of the latest time so far.
    open: Option<RecordBatch>,
    /// Rows after a time that is complete.
    ready: Option<RecordBatch>,
}

impl WholeTimes {
    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(ready) = self.ready.take() {
            return Ok(Some(ready));
        }
        for batch in self.merge.by_ref() {
            let batch = batch?;
            let times = times_of(&batch, self.time)?;
            let Some(latest) = times.last() else { continue };
            let Some(open) = self.open.take() else {
                let start = times.partition_point(|time| time < latest);
                self.open = Some(batch.slice(start, batch.num_rows() - start));
                if start > 0 {
                    return Ok(Some(batch.slice(0, start)));
                }
                continue;
            };
            let time = times_of(&open, self.time)?.first().copied();
            let same = times.partition_point(|found| Some(*found) == time);
            let whole = match same {
                0 => open,
                _ => concat_batches(&batch.schema(), &[open, batch.slice(0, same)])?,
            };
            let start = times.partition_point(|time| time < latest).max(same);
            if start == batch.num_rows() {
                self.open = Some(whole);
                continue;
            }
            self.open = Some(batch.slice(start, batch.num_rows() - start));
            self.ready = (start > same).then(|| batch.slice(same, start - same));
            return Ok(Some(whole));
        }
        Ok(self.open.take())
    }
}

impl Iterator for WholeTimes {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    fn batch(rows: &[(i64, i64)]) -> RecordBatch {
        let time: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
        let value: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
        RecordBatch::try_from_iter([("time", time), ("value", value)]).unwrap()
    }

    fn rows(batch: &RecordBatch) -> Vec<(i64, i64)> {
        let column = |at: usize| batch.column(at).as_primitive::<Int64Type>().values().to_vec();
        column(0).into_iter().zip(column(1)).collect()
    }

    #[test]
    fn rows_come_out_by_time_and_equal_times_stay_together() {
        // Few distinct times make long runs of equal ones.
        for (count, distinct) in [(0, 1), (1, 1), (50_000, 3), (50_000, 60_000), (200_000, 977)] {
            let input: Vec<(i64, i64)> =
                (0..count).map(|n| ((n * 7919 + n * n % 31) % distinct, n)).collect();
            let mut want = input.clone();
            want.sort_by_key(|row| row.0);
            for memory in [64 << 10, 8 << 20, 1 << 40] {
                let mut sort = TimeSort::new(batch(&[]).schema(), 0, memory);
                for part in input.chunks(1000) {
                    sort.push(&batch(part)).unwrap();
                }
                assert_eq!(sort.runs.len() > MERGED_RUNS, memory == 64 << 10 && count > 1);
                let parts: Vec<_> = sort.finish().unwrap().map(|part| rows(&part.unwrap())).collect();
                for pair in parts.windows(2) {
                    assert!(pair[0].last().unwrap().0 < pair[1][0].0, "a time is split");
                }
                assert!(parts.concat() == want, "{count} rows, {distinct} times, {memory} bytes");
            }
        }
    }
}
