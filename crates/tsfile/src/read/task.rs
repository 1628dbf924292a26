//! The task that reads a time range of one device: headers, then pages, then batches.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tesselle_core::{ByteRange, Cost, Error, Result, Step, Task};

use super::batch::{BatchBuilder, Projection};
use super::find::{Header, PageFinder};
use super::join::join_window;
use super::loaded::Loaded;
use super::page::Page;
use super::plan::Mode;
use super::prune::Pruner;
use super::source::{PageId, Source, TaskChunk, TaskInput};
use super::sources;
use super::times::Buffers;
use crate::open::Archive;

/// Bytes of a decoded time or number.
const VALUE_BYTES: u64 = 8;

/// Chunks that overlap in time.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    /// By column.
    pub(crate) series: Vec<SeriesChunks>,
    /// The time chunks of aligned groups.
    pub(crate) times: Vec<usize>,
}

/// The chunks of one column in an overlap.
#[derive(Debug)]
pub(crate) struct SeriesChunks {
    /// The column of the device.
    pub(crate) column: usize,
    /// The slot it fills; `None` if only its times are needed.
    pub(crate) slot: Option<usize>,
    /// Its chunks.
    pub(crate) chunks: Vec<usize>,
}

/// The part of its chunks that a task reads: tasks that share large chunks take one time range each.
#[derive(Debug, Clone)]
pub(crate) struct TimeWindow {
    /// The times of its rows; `None` for all.
    pub(crate) times: Option<(i64, i64)>,
    /// Number of tasks that share the chunks.
    pub(crate) parts: u64,
    /// Whether it is the first of them, which counts the chunks in the statistics of the scan.
    pub(crate) first: bool,
    /// The chunks once one of the tasks has split them into pages.
    pub(crate) loaded: Arc<OnceLock<Arc<Vec<Option<Loaded>>>>>,
}

/// Reads a few overlaps of one device.
pub(crate) struct ScanTask {
    input: TaskInput,
    pruner: Arc<Pruner>,
    names: Arc<[Arc<str>]>,
    mode: Mode,
    overlaps: VecDeque<Overlap>,
    /// The sources of the overlaps, in time order.
    ready: VecDeque<Vec<Source>>,
    sources: Vec<Source>,
    buffers: Buffers,
    batch: BatchBuilder,
    state: State,
    finder: PageFinder,
    /// The requested pages.
    asked: Vec<PageId>,
    shared: Arc<OnceLock<Arc<Vec<Option<Loaded>>>>>,
    /// Whether no other task reads the same chunks.
    alone: bool,
    cost: Cost,
    /// Bytes of the largest page, once the headers are there.
    largest: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Find,
    Pages,
    Rows,
}

impl ScanTask {
    #[expect(clippy::too_many_arguments, reason = "one call site, and each part has its own type")]
    pub(crate) fn new(
        archive: &Arc<Archive>,
        device: &str,
        projection: Arc<Projection>,
        mode: Mode,
        pruner: Arc<Pruner>,
        names: Arc<[Arc<str>]>,
        chunks: Vec<TaskChunk>,
        overlaps: Vec<Overlap>,
        time_window: &TimeWindow,
    ) -> Self {
        let cells = chunks.iter().fold(0_u64, |n, c| n.saturating_add(c.chunk.statistics.count))
            / time_window.parts.max(1);
        // A chunk's size is only in its header; a value takes a few bytes with its time.
        let bytes_in = cells.saturating_mul(4).saturating_add(chunks.len() as u64 * 64);
        let memory = cells.saturating_mul(16).saturating_add(bytes_in);
        let pieces = if time_window.first { chunks.len() as u64 } else { 0 };
        let cost = Cost { pieces, bytes_in, memory, rows: 0 };
        let files = Arc::clone(&archive.facts);
        let window = time_window.times;
        let times = pruner.columns().contains(&super::TIME).then(|| Arc::clone(&pruner));
        let device = device.to_string();
        let fetched = HashMap::new();
        let input = TaskInput { loaded: Arc::default(), fetched, files, device, chunks, window, times };
        let may_walk = !pruner.columns().is_empty() && archive.location.storage().hints().concurrency == 1;
        let most_series = overlaps.iter().map(|overlap| overlap.series.len()).max().unwrap_or(0);
        let buffers = match mode {
            Mode::Rows => Buffers::side_by_side(most_series),
            Mode::Points => Buffers::in_turn(),
        };
        Self {
            input,
            pruner,
            names,
            mode,
            overlaps: overlaps.into(),
            ready: VecDeque::new(),
            sources: Vec::new(),
            buffers,
            batch: BatchBuilder::new(projection),
            state: State::Start,
            finder: PageFinder::new(may_walk),
            asked: Vec::new(),
            shared: Arc::clone(&time_window.loaded),
            alone: time_window.parts == 1,
            cost,
            largest: 0,
        }
    }

    /// Prunes by what conditions have learned since the scan was planned.
    fn learn(&mut self) {
        if let Some(learned) = self.pruner.learned() {
            self.pruner = Arc::new(learned);
        }
    }

    /// Requests what is needed to locate all pages; `None` when they are located.
    fn find(&mut self, given: Vec<Bytes>) -> Result<Option<Vec<ByteRange>>> {
        // Another task that shares the chunks may have done it already.
        if let Some(loaded) = self.shared.get() {
            self.input.loaded = Arc::clone(loaded);
            return Ok(None);
        }
        let leave_out = |headers: &mut [Header]| {
            let chunks = &self.input.chunks;
            match self.mode {
                Mode::Rows => {
                    sources::drop_hopeless_chunks(chunks, &self.overlaps, &self.names, &self.pruner, headers);
                }
                Mode::Points => {
                    sources::drop_hopeless_points(chunks, &self.overlaps, &self.names, &self.pruner, headers);
                }
            }
        };
        let wanted = self.finder.advance(&self.input, &self.pruner, leave_out, given)?;
        if wanted.is_none() {
            let found = Arc::new(self.finder.take());
            self.input.loaded = Arc::clone(self.shared.get_or_init(|| found));
        }
        Ok(wanted)
    }

    /// Selects the pages, now that all headers are read, and returns those still to be fetched.
    fn need_pages(&mut self) -> Result<Vec<ByteRange>> {
        if let (Some(window), Some(overlap)) = (self.input.window, self.overlaps.front()) {
            self.input.window = Some(sources::at_pages(window, overlap, &self.input));
        }
        while let Some(overlap) = self.overlaps.pop_front() {
            let sources = sources::sources(&overlap, &self.input, self.mode, &self.names, &self.pruner)?;
            self.ready.push_back(sources);
        }
        let mut ranges = Vec::new();
        for (id, range) in self.input.missing(self.ready.iter().flatten()) {
            let task = self.input.chunks.get(id.0).ok_or_else(|| Error::internal("a page has no chunk"))?;
            ranges.push(self.input.bytes(task, range)?);
            self.asked.push(id);
        }
        Ok(ranges)
    }

    fn next_batch(&mut self) -> Result<Step> {
        loop {
            if self.batch.is_full() {
                return self.batch.take().map(Step::Batch).map_err(|e| self.name_device(e));
            }
            let more = match self.mode {
                Mode::Rows => {
                    join_window(&mut self.sources, &self.input, &mut self.buffers, &mut self.batch)?
                }
                Mode::Points => self.next_points()?,
            };
            if more {
                continue;
            }
            let Some(sources) = self.ready.pop_front() else { break };
            self.sources = sources;
        }
        if self.batch.rows() > 0 {
            return self.batch.take().map(Step::Batch).map_err(|e| self.name_device(e));
        }
        Ok(Step::Done)
    }

    fn next_points(&mut self) -> Result<bool> {
        while let Some(source) = self.sources.first_mut() {
            source.fill(&self.input, &mut self.buffers)?;
            if let Some(run) = &mut source.run {
                // Each column of an aligned group returns this many rows in turn.
                let rows = (self.batch.batch_rows() / source.columns.len().max(1)).max(64);
                self.batch.points(run, &source.columns, rows)?;
                return Ok(true);
            }
            self.sources.remove(0);
        }
        Ok(false)
    }

    fn name_device(&self, error: Error) -> Error {
        let file = self.input.chunks.first().and_then(|c| self.input.files.get(c.chunk.file));
        let error = error.piece(format!("'{}'", self.input.device));
        match file {
            Some((path, _)) => error.file(&**path),
            None => error,
        }
    }
}

impl ScanTask {
    /// The bytes of the largest page once it is decoded: encoded values may be far smaller than what they stand for.
    fn largest_page(&self) -> u64 {
        let chunks = self.input.chunks.iter().zip(self.input.loaded.iter());
        let loaded = chunks.filter_map(|(task, loaded)| Some((task, loaded.as_ref()?)));
        let sizes = loaded.flat_map(|(task, loaded)| {
            // A page without statistics is the only one of its chunk.
            let count = |page: &Page| page.header.statistics.as_ref().unwrap_or(&task.chunk.statistics).count;
            loaded.pages.iter().map(move |page| {
                u64::from(page.header.uncompressed_size).max(count(page).saturating_mul(VALUE_BYTES))
            })
        });
        sizes.max().unwrap_or(0)
    }
}

impl Task for ScanTask {
    fn cost(&self) -> Cost {
        self.cost
    }

    fn largest_piece(&self) -> u64 {
        self.largest
    }

    fn step(&mut self, mut fetched: Vec<Bytes>) -> Result<Step> {
        if self.state == State::Start {
            self.state = State::Find;
            // Chunks that other tasks read as well are skipped only by what all of them know.
            if self.alone {
                self.learn();
            }
        }
        if self.state == State::Find {
            if let Some(wanted) = self.find(std::mem::take(&mut fetched))? {
                return Ok(Step::Need(wanted));
            }
            self.state = State::Pages;
            self.learn();
            self.largest = self.largest_page();
            // Also where nothing is missing: the sizes of the pages are looked at before they are decoded.
            return self.need_pages().map(Step::Need);
        }
        if self.state == State::Pages {
            self.input.fetched = std::mem::take(&mut self.asked).into_iter().zip(fetched).collect();
            self.state = State::Rows;
        }
        self.next_batch()
    }
}
