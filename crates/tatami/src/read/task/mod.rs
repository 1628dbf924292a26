//! Reads one row group: fetches the filter columns, selects matching rows, then fetches and decodes the other
//! columns.

mod blobs;
mod test;
mod window;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use tesselle_core::driver::parallel;
use tesselle_core::{ByteRange, Context, Cost, Error, Predicate, Result, Step, Task};

use self::blobs::BlobReader;
use self::test::Test;
pub(crate) use self::test::tests;
use self::window::{Straddling, Window};
use super::chunk::{ChunkReader, Located};
use super::plan::may_match;
use crate::meta::groups::{Chunk, RowGroup};
use crate::meta::types::LogicalType;
use crate::open::File;

/// Rows decoded at once, unless pages are larger.
const WINDOW_ROWS: u64 = 1 << 16;
/// Target size of the decoded bytes of a window.
const WINDOW_BYTES: u64 = 32 << 20;

/// The request of a scan, the same for every row group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// Output columns, in this order.
    pub(crate) projection: Vec<usize>,
    /// Columns of the conditions.
    pub(crate) filter: Vec<usize>,
    /// The conditions that rows must pass.
    pub(crate) tests: Arc<[Test]>,
    /// The predicate, if a condition in it learns while the scan runs.
    pub(crate) learning: Option<Arc<Predicate>>,
    pub(crate) batch_rows: Option<usize>,
}

impl Wanted {
    /// All columns to read, each once.
    fn columns(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.filter.iter().chain(&self.projection).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Number of pages of the requested columns in a row group.
    pub(crate) fn pieces(&self, group: &RowGroup) -> u64 {
        self.columns().into_iter().filter_map(|c| group.chunk(c)).fold(0, |n, c| n.saturating_add(c.pages))
    }
}

/// The purpose of a fetched range.
enum Purpose {
    Chunk(usize),
    ValueDictionary(usize),
    ContentDictionary(u64, u64),
    Run(usize, usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    Filter,
    Rest,
    Emit,
}

/// Reads one row group.
pub(crate) struct GroupTask {
    file: File,
    group: usize,
    rows: Range<u64>,
    wanted: Wanted,
    /// The live rows of the group; `None` for all.
    live: Option<BooleanBuffer>,
    schema: SchemaRef,
    phase: Phase,
    readers: BTreeMap<usize, ChunkReader>,
    pending: Vec<Purpose>,
    /// Windows whose rows are not tested yet.
    untested: VecDeque<Window>,
    windows: VecDeque<Window>,
    /// The last page of a column, if it extends into the next window.
    straddling: BTreeMap<usize, Straddling>,
    blobs: BTreeMap<usize, BlobReader>,
    ready: VecDeque<RecordBatch>,
}

impl GroupTask {
    /// A task over `rows` of a row group, of which only those in `live` are returned (`None`: all).
    pub(crate) fn new(
        file: File,
        group: usize,
        rows: Range<u64>,
        wanted: Wanted,
        live: Option<BooleanBuffer>,
    ) -> Self {
        let all = file.schema();
        let fields: Vec<_> = wanted.projection.iter().filter_map(|c| all.fields().get(*c).cloned()).collect();
        debug_assert_eq!(fields.len(), wanted.projection.len(), "a projected column does not exist");
        Self {
            file,
            group,
            rows,
            wanted,
            live,
            schema: Arc::new(arrow_schema::Schema::new(fields)),
            phase: Phase::Start,
            readers: BTreeMap::new(),
            pending: Vec::new(),
            untested: VecDeque::new(),
            windows: VecDeque::new(),
            straddling: BTreeMap::new(),
            blobs: BTreeMap::new(),
            ready: VecDeque::new(),
        }
    }

    fn entry(&self) -> Result<&RowGroup> {
        self.file
            .footer()
            .groups
            .get(self.group)
            .ok_or_else(|| Error::internal("a row group that is not listed"))
    }

    fn chunk(&self, column: usize) -> Result<&Chunk> {
        let entry = self.entry()?;
        let Some(chunk) = entry.chunk(column) else {
            return Err(Error::corrupt(format!("column {column} is missing in row group {}", self.group))
                .class("missing_chunk")
                .offset(self.file.trailer().footer_offset));
        };
        if chunk.values != entry.rows {
            let (found, stated) = (chunk.values, entry.rows);
            return Err(Error::corrupt(format!("a column chunk has {found} rows, its row group {stated}"))
                .class("row_count_mismatch")
                .offset(self.file.trailer().footer_offset)
                .piece(format!("row group {}, column {column}", self.group)));
        }
        Ok(chunk)
    }

    fn is_blob(&self, column: usize) -> bool {
        self.file.footer().schema.fields.get(column).is_some_and(|f| f.logical == LogicalType::BlobRef)
    }

    fn need(&mut self, requests: Vec<(Purpose, Range<u64>)>) -> Option<Step> {
        if requests.is_empty() {
            return None;
        }
        let (purposes, ranges): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
        self.pending = purposes;
        Some(Step::Need(
            ranges.into_iter().map(|range| ByteRange::new(Arc::clone(self.file.path()), range)).collect(),
        ))
    }

    /// The ranges to fetch before these columns can be decoded.
    fn requests(&mut self, columns: &[usize]) -> Result<Vec<(Purpose, Range<u64>)>> {
        let mut out = Vec::new();
        for &column in columns {
            let chunk = self.chunk(column)?;
            let reader = ChunkReader::new(self.group, column, chunk);
            out.push((Purpose::Chunk(column), ChunkReader::first_range(chunk, &self.file)));
            if let Some(range) = self.file.missing_value_dictionary(column) {
                out.push((Purpose::ValueDictionary(column), range));
            }
            if self.is_blob(column) {
                let blob = BlobReader::try_new(&self.file, column)?;
                if let Some(range) = self.file.missing_content_dictionary(blob.dictionary())? {
                    out.push((Purpose::ContentDictionary(blob.dictionary(), range.start), range));
                }
                self.blobs.insert(column, blob);
            }
            self.readers.insert(column, reader);
        }
        Ok(out)
    }

    /// Stores the fetched ranges.
    fn accept(&mut self, fetched: Vec<Bytes>) -> Result<()> {
        for (purpose, bytes) in std::mem::take(&mut self.pending).into_iter().zip(fetched) {
            match purpose {
                Purpose::Chunk(column) => {
                    if let Some(reader) = self.readers.get_mut(&column) {
                        reader.fill(bytes);
                    }
                }
                Purpose::ValueDictionary(column) => self.file.put_value_dictionary(column, &bytes)?,
                Purpose::ContentDictionary(number, offset) => {
                    self.file.put_content_dictionary(number, offset, &bytes)?;
                }
                Purpose::Run(column, run) => {
                    if let Some(blob) = self.blobs.get_mut(&column) {
                        blob.put(run, bytes);
                    }
                }
            }
        }
        Ok(())
    }

    /// Locates the pages of these columns; requests what is still missing.
    fn locate(&mut self, columns: &[usize]) -> Result<Option<Step>> {
        let mut more = Vec::new();
        for column in columns {
            let Some(reader) = self.readers.get_mut(column) else { continue };
            if let Located::Need(range) = reader.locate(&self.file)? {
                more.push((Purpose::Chunk(*column), range));
            }
        }
        Ok(self.need(more))
    }

    /// The columns to fetch first: those of the predicate, or all if there is none.
    fn first_columns(&self) -> Vec<usize> {
        if self.wanted.tests.is_empty() { self.wanted.columns() } else { self.wanted.filter.clone() }
    }

    fn rest_columns(&self) -> Vec<usize> {
        let mut columns = self.wanted.columns();
        columns.retain(|c| !self.readers.contains_key(c));
        columns
    }

    /// Whether conditions have learned that no row can match.
    fn is_excluded(&self) -> Result<bool> {
        let Some(predicate) = &self.wanted.learning else { return Ok(false) };
        Ok(!may_match(&self.file, self.entry()?, predicate))
    }

    fn advance(&mut self) -> Result<Step> {
        loop {
            match self.phase {
                Phase::Start if self.is_excluded()? => return Ok(Step::Done),
                Phase::Start => {
                    let columns = self.first_columns();
                    let requests = self.requests(&columns)?;
                    self.phase = Phase::Filter;
                    if let Some(step) = self.need(requests) {
                        return Ok(step);
                    }
                }
                Phase::Filter => {
                    let columns = self.first_columns();
                    if let Some(step) = self.locate(&columns)? {
                        return Ok(step);
                    }
                    self.cut_windows(&columns)?;
                    self.select()?;
                    // The other columns are fetched only if a row passes.
                    if self.windows.is_empty() {
                        return Ok(Step::Done);
                    }
                    let rest = self.rest_columns();
                    let requests = self.requests(&rest)?;
                    self.phase = Phase::Rest;
                    if let Some(step) = self.need(requests) {
                        return Ok(step);
                    }
                }
                Phase::Rest => {
                    let columns = self.wanted.columns();
                    if let Some(step) = self.locate(&columns)? {
                        return Ok(step);
                    }
                    self.prepare_blobs()?;
                    self.phase = Phase::Emit;
                }
                Phase::Emit => {
                    if let Some(batch) = self.ready.pop_front() {
                        return Ok(Step::Batch(batch));
                    }
                    if self.windows.is_empty() {
                        self.select()?;
                    }
                    let Some(window) = self.windows.pop_front() else { return Ok(Step::Done) };
                    if let Some(step) = self.emit(window)? {
                        return Ok(step);
                    }
                }
            }
        }
    }

    /// Splits the rows into windows that end at page boundaries of the first column.
    fn cut_windows(&mut self, columns: &[usize]) -> Result<()> {
        let entry = self.entry()?;
        let chunks = self.wanted.columns();
        let sizes = chunks.iter().filter_map(|c| entry.chunk(*c)).map(|c| c.uncompressed);
        let decoded = sizes.fold(0u64, u64::saturating_add);
        let by_bytes = WINDOW_BYTES / (decoded / entry.rows.max(1)).max(1);
        let target = by_bytes.clamp(1, WINDOW_ROWS);
        let ends: Vec<u64> = match columns.first().and_then(|c| self.readers.get(c)) {
            Some(reader) => reader.pages().iter().map(|page| page.rows.end).collect(),
            None => vec![entry.rows],
        };
        let tests = !self.wanted.tests.is_empty();
        let mut start = self.rows.start;
        for end in ends {
            let end = end.min(self.rows.end);
            if end > start && (end - start >= target || end == self.rows.end) {
                let mut window = Window::new(start..end);
                let live = self.live.as_ref();
                let live = live.map(|live| live.slice(start as usize, (end - start) as usize));
                let any = live.map_or(Ok(true), |live| window.keep(&live))?;
                if any {
                    if tests { &mut self.untested } else { &mut self.windows }.push_back(window);
                }
                start = end;
            }
        }
        Ok(())
    }

    /// Tests the next windows, as many as there are threads, until one has a matching row: what is decoded for the test is
    /// used soon, while it is in the cache. Windows without a match are dropped.
    fn select(&mut self) -> Result<()> {
        while self.windows.is_empty() && !self.untested.is_empty() {
            let next = parallel::threads().min(self.untested.len());
            let windows: Vec<Window> = self.untested.drain(..next).collect();
            let task = &*self;
            let kept = parallel::try_map(windows, |mut window: Window| {
                for test in &*task.wanted.tests {
                    if !task.passes(test, &mut window)? {
                        return Ok::<_, Error>(None);
                    }
                }
                task.settle(&mut window)?;
                Ok(Some(window))
            })?;
            self.windows.extend(kept.into_iter().flatten());
        }
        if self.untested.is_empty() && !self.wanted.tests.is_empty() {
            // The filter columns are decoded: their bytes are no longer needed.
            for column in &self.wanted.filter {
                if let Some(reader) = self.readers.get_mut(column) {
                    reader.release();
                }
            }
        }
        Ok(())
    }

    fn prepare_blobs(&mut self) -> Result<()> {
        for (column, blob) in &mut self.blobs {
            if let Some(reader) = self.readers.get(column) {
                blob.read_validity(&self.file, self.group, reader)?;
            }
        }
        Ok(())
    }

    /// Decodes one window. If its blobs are missing, requests them; the window is then resumed.
    fn emit(&mut self, mut window: Window) -> Result<Option<Step>> {
        let mut missing = self.wanted.projection.clone();
        missing.retain(|column| !self.is_blob(*column) && !window.has(*column));
        for (column, array, straddling) in parallel::try_map(missing, |column| {
            let (array, straddling) = self.selected_column(column, &window)?;
            Ok::<_, Error>((column, array, straddling))
        })? {
            window.put(column, array);
            if let Some(page) = straddling {
                self.straddling.insert(column, page);
            }
        }
        let rows = self.next_rows(&mut window)?;
        let requests = self.missing_runs(&window, &rows)?;
        if !requests.is_empty() {
            self.windows.push_front(window);
            return Ok(self.need(requests));
        }
        let step = self.wanted.batch_rows.unwrap_or(usize::MAX).max(1);
        let batches =
            parallel::try_map(self.parts(&window, rows.clone())?, |rows| self.batch(&window, &rows))?;
        for batch in batches {
            let starts = (0..batch.num_rows()).step_by(step);
            self.ready.extend(starts.map(|start| batch.slice(start, step.min(batch.num_rows() - start))));
        }
        window.advance(rows.end);
        if !window.is_done() {
            self.windows.push_front(window);
        }
        Ok(None)
    }
}

impl GroupTask {
    /// Some selected rows of a window with decoded columns and fetched blobs.
    fn batch(&self, window: &Window, rows: &Range<usize>) -> Result<RecordBatch> {
        let arrays = self.wanted.projection.iter().map(|column| match self.blobs.get(column) {
            Some(blob) => blob.array(window.ordinals(*column, rows)?, &self.file),
            None => window.slice(*column, rows),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

impl Task for GroupTask {
    fn cost(&self) -> Cost {
        let Ok(entry) = self.entry() else { return Cost::default() };
        let columns = self.wanted.columns();
        let chunks = || columns.iter().filter_map(|c| entry.chunk(*c));
        let bytes_in = chunks().fold(0u64, |n, c| n.saturating_add(c.stored_len())).min(self.file.size());
        let decoded = chunks().fold(0u64, |n, c| n.saturating_add(c.uncompressed)).min(2 * WINDOW_BYTES);
        let blobs = if columns.iter().any(|c| self.is_blob(*c)) { 2 * blobs::BATCH_BYTES } else { 0 };
        let memory = bytes_in + 2 * decoded + blobs;
        let rows = self.rows.end.saturating_sub(self.rows.start);
        Cost { pieces: self.wanted.pieces(entry), bytes_in, memory, rows }
    }

    fn largest_piece(&self) -> u64 {
        let Ok(entry) = self.entry() else { return 0 };
        let fields = &self.file.footer().schema.fields;
        let bytes = |column: usize| {
            let chunk = entry.chunk(column)?;
            let width = fields.get(column)?.logical.scalar_width().unwrap_or(0);
            // Encoded values may be far smaller than what they stand for.
            let decoded = chunk.uncompressed.max(chunk.values.saturating_mul(width as u64));
            // The largest page is at least as large as the average one.
            Some(decoded.div_ceil(chunk.pages.max(1)))
        };
        self.wanted.columns().into_iter().filter_map(bytes).max().unwrap_or(0)
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        let path = Arc::clone(self.file.path());
        self.accept(fetched).and_then(|()| self.advance()).in_file(&path)
    }
}
