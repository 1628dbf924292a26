//! The task that reads a stretch of time of one device: headers, then pages, then batches.

use super::join::join_window;
use super::loaded::{Loaded, header_range, parse_header};
use super::output::{Output, Shape};
use super::plan::Mode;
use super::prune::Pruner;
use super::source::{Material, Source, TaskChunk, TimeCache};
use super::units;
use crate::archive::Archive;
use crate::meta::ChunkHeader;
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use tesselle_core::{ByteRange, Cost, Error, Result, Step, Task};

/// Chunks that overlap in time.
#[derive(Debug, Default)]
pub(crate) struct Component {
    /// By column.
    pub(crate) strands: Vec<Strand>,
    /// The time chunks of aligned groups.
    pub(crate) times: Vec<usize>,
}

/// The chunks of one column in a component.
#[derive(Debug)]
pub(crate) struct Strand {
    /// The column of the device.
    pub(crate) column: usize,
    /// The slot it fills; `None` when only its times count.
    pub(crate) slot: Option<usize>,
    /// Its chunks.
    pub(crate) chunks: Vec<usize>,
}

/// What part of its chunks a task reads: large chunks are shared by tasks that take a stretch of time each.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    /// The times of its rows; `None` is all.
    pub(crate) window: Option<(i64, i64)>,
    /// How many tasks share the chunks.
    pub(crate) parts: u64,
    /// Whether it is the first of them, which counts the chunks as its pieces.
    pub(crate) first: bool,
    /// The chunks once one of them has cut them into pages.
    pub(crate) loaded: Arc<OnceLock<Arc<Vec<Option<Loaded>>>>>,
}

/// Reads a few components of one device.
pub(crate) struct ScanTask {
    material: Material,
    pruner: Arc<Pruner>,
    names: Arc<[Arc<str>]>,
    mode: Mode,
    components: VecDeque<Component>,
    sources: Vec<Source>,
    cache: TimeCache,
    output: Output,
    state: State,
    headers: Vec<Option<(ChunkHeader, Range<u64>)>>,
    shared: Arc<OnceLock<Arc<Vec<Option<Loaded>>>>>,
    cost: Cost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Headers,
    Pages,
    Rows,
}

impl ScanTask {
    #[expect(clippy::too_many_arguments, reason = "one call site, and each part has its own type")]
    pub(crate) fn new(
        archive: &Arc<Archive>,
        device: &str,
        shape: Arc<Shape>,
        mode: Mode,
        pruner: Arc<Pruner>,
        names: Arc<[Arc<str>]>,
        chunks: Vec<TaskChunk>,
        components: Vec<Component>,
        share: &Share,
    ) -> Self {
        let cells =
            chunks.iter().fold(0_u64, |n, c| n.saturating_add(c.chunk.statistics.count)) / share.parts.max(1);
        // A chunk's size stands only in its header; a value takes a few bytes with its time.
        let bytes_in = cells.saturating_mul(4).saturating_add(chunks.len() as u64 * 64);
        let memory = cells.saturating_mul(16).saturating_add(bytes_in);
        let pieces = if share.first { chunks.len() as u64 } else { 0 };
        let cost = Cost { pieces, bytes_in, memory };
        let files = Arc::clone(&archive.facts);
        let window = share.window;
        let times = pruner.columns().contains(&super::TIME).then(|| Arc::clone(&pruner));
        let device = device.to_string();
        let material = Material { loaded: Arc::default(), files, device, chunks, window, times };
        Self {
            material,
            pruner,
            names,
            mode,
            components: components.into(),
            sources: Vec::new(),
            cache: TimeCache::default(),
            output: Output::new(shape),
            state: State::Start,
            headers: Vec::new(),
            shared: Arc::clone(&share.loaded),
            cost,
        }
    }

    fn need_headers(&self) -> Result<Vec<ByteRange>> {
        let range = |task: &TaskChunk| {
            let (path, facts) = self.file(task)?;
            Ok(ByteRange::new(Arc::clone(path), header_range(&task.chunk, &task.name, facts)))
        };
        self.material.chunks.iter().map(range).collect()
    }

    fn file(&self, task: &TaskChunk) -> Result<(&Arc<str>, super::loaded::FileFacts)> {
        let file = self.material.files.get(task.chunk.file);
        file.map(|(path, facts)| (path, *facts)).ok_or_else(|| Error::internal("a chunk is of no file"))
    }

    /// Takes the headers and says which pages are wanted.
    fn need_pages(&mut self, fetched: &[Bytes]) -> Result<Vec<ByteRange>> {
        let mut headers = Vec::with_capacity(fetched.len());
        for (i, (task, bytes)) in self.material.chunks.iter().zip(fetched).enumerate() {
            let (_, facts) = self.file(task)?;
            let parsed = parse_header(&task.chunk, (&task.name, task.data_type), facts, bytes);
            headers.push(Some(parsed.map_err(|e| self.material.place((i, 0), e))?));
        }
        if self.mode == Mode::Rows {
            units::drop_hopeless_chunks(
                &self.material.chunks,
                &self.components,
                &self.names,
                &self.pruner,
                &mut headers,
            );
        }
        let mut ranges = Vec::new();
        for (task, header) in self.material.chunks.iter().zip(&headers) {
            if let Some((_, range)) = header
                && !range.is_empty()
            {
                ranges.push(ByteRange::new(Arc::clone(self.file(task)?.0), range.clone()));
            }
        }
        self.headers = headers;
        Ok(ranges)
    }

    fn take_pages(&mut self, fetched: Vec<Bytes>) -> Result<()> {
        let headers = std::mem::take(&mut self.headers);
        let known = self.shared.get().cloned();
        self.material.loaded = if let Some(loaded) = known {
            loaded
        } else {
            let loaded = Arc::new(self.load(headers, fetched)?);
            Arc::clone(self.shared.get_or_init(|| loaded))
        };
        Ok(())
    }

    fn load(
        &self,
        headers: Vec<Option<(ChunkHeader, Range<u64>)>>,
        fetched: Vec<Bytes>,
    ) -> Result<Vec<Option<Loaded>>> {
        let mut fetched = fetched.into_iter();
        let mut all = Vec::with_capacity(headers.len());
        for (i, header) in headers.into_iter().enumerate() {
            let Some((header, range)) = header else {
                all.push(None);
                continue;
            };
            let bytes = if range.is_empty() { Bytes::new() } else { fetched.next().unwrap_or_default() };
            let version = self.material.chunks.get(i).and_then(|t| self.material.files.get(t.chunk.file));
            let Some((_, facts)) = version else { return Err(Error::internal("a chunk is of no file")) };
            let loaded = Loaded::new(header, facts.version, &bytes, range.start);
            all.push(Some(loaded.map_err(|e| self.material.place((i, 0), e))?));
        }
        Ok(all)
    }

    fn next_batch(&mut self) -> Result<Step> {
        loop {
            if self.output.is_full() {
                return self.output.take().map(Step::Batch).map_err(|e| self.name_device(e));
            }
            let more = match self.mode {
                Mode::Rows => {
                    join_window(&mut self.sources, &self.material, &mut self.cache, &mut self.output)?
                }
                Mode::Points => self.next_points()?,
            };
            if more {
                continue;
            }
            let Some(component) = self.components.pop_front() else { break };
            self.sources = units::sources(&component, &self.material, self.mode, &self.names, &self.pruner)?;
        }
        if self.output.rows() > 0 {
            return self.output.take().map(Step::Batch).map_err(|e| self.name_device(e));
        }
        Ok(Step::Done)
    }

    fn next_points(&mut self) -> Result<bool> {
        while let Some(source) = self.sources.first_mut() {
            source.fill(&self.material, &mut self.cache)?;
            if let Some(run) = &mut source.run {
                // Each column of an aligned group gives so many rows in turn.
                let rows = (self.output.batch_rows() / source.columns.len().max(1)).max(64);
                self.output.points(run, &source.columns, rows)?;
                return Ok(true);
            }
            self.sources.remove(0);
        }
        Ok(false)
    }

    fn name_device(&self, error: Error) -> Error {
        let file = self.material.chunks.first().and_then(|c| self.material.files.get(c.chunk.file));
        let error = error.piece(format!("'{}'", self.material.device));
        match file {
            Some((path, _)) => error.file(&**path),
            None => error,
        }
    }
}

impl Task for ScanTask {
    fn cost(&self) -> Cost {
        self.cost
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        match self.state {
            State::Start => {
                self.state = State::Headers;
                Ok(Step::Need(self.need_headers()?))
            }
            State::Headers => {
                self.state = State::Pages;
                let ranges = self.need_pages(&fetched)?;
                if ranges.is_empty() {
                    return self.step(Vec::new());
                }
                Ok(Step::Need(ranges))
            }
            State::Pages => {
                self.take_pages(fetched)?;
                self.state = State::Rows;
                self.next_batch()
            }
            State::Rows => self.next_batch(),
        }
    }
}
