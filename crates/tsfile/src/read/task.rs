//! The task that reads a stretch of time of one device: headers, then pages, then batches.

use super::join::join_window;
use super::loaded::{Loaded, header_range, parse_header};
use super::output::{Output, Shape};
use super::plan::Mode;
use super::prune::Pruner;
use super::source::{Material, PageId, Source, TaskChunk, TimeCache};
use super::units;
use super::walk::{HeaderWalk, Walk};
use crate::archive::Archive;
use crate::meta::{ChunkHeader, DataType};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
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
    /// The sources of the components, in the order of time.
    ready: VecDeque<Vec<Source>>,
    sources: Vec<Source>,
    cache: TimeCache,
    output: Output,
    state: State,
    headers: Vec<Option<(ChunkHeader, Range<u64>)>>,
    /// By chunk; `None` for those that are read whole.
    walks: Vec<Option<HeaderWalk>>,
    /// The pages found so far, by chunk.
    found: Vec<Option<Loaded>>,
    round: Round,
    /// Whether page headers are worth a walk: the scan may leave pages out, and small reads cost little.
    may_walk: bool,
    /// The pages that were asked for.
    asked: Vec<PageId>,
    shared: Arc<OnceLock<Arc<Vec<Option<Loaded>>>>>,
    cost: Cost,
}

/// Which chunks are cut into pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// All at once.
    All,
    /// Time columns first: they tell how far the others are of interest.
    Times,
    /// The others.
    Values,
}

impl Round {
    fn has(self, task: &TaskChunk) -> bool {
        match self {
            Self::All => true,
            Self::Times => task.data_type == DataType::Vector,
            Self::Values => task.data_type != DataType::Vector,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Headers,
    PageHeaders,
    Chunks,
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
        let fetched = HashMap::new();
        let material = Material { loaded: Arc::default(), fetched, files, device, chunks, window, times };
        let may_walk = !pruner.columns().is_empty() && archive.location.storage().hints().concurrency == 1;
        Self {
            material,
            pruner,
            names,
            mode,
            components: components.into(),
            ready: VecDeque::new(),
            sources: Vec::new(),
            cache: TimeCache::default(),
            output: Output::new(shape),
            state: State::Start,
            headers: Vec::new(),
            walks: Vec::new(),
            found: Vec::new(),
            round: Round::All,
            may_walk,
            asked: Vec::new(),
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

    /// Takes the headers of the chunks.
    fn take_headers(&mut self, fetched: &[Bytes]) -> Result<()> {
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
        let walk = |range: &Range<u64>| HeaderWalk::new(range).filter(|_| self.may_walk);
        self.walks = headers.iter().map(|header| walk(&header.as_ref()?.1)).collect();
        let mut chunks = self.material.chunks.iter().zip(&self.walks);
        if chunks.any(|(task, walk)| task.chunk.time_chunk.is_some() && walk.is_some()) {
            self.round = Round::Times;
        }
        self.found = headers.iter().map(|_| None).collect();
        self.headers = headers;
        Ok(())
    }

    /// The page headers that the walks of this round want next; empty when all have ended.
    fn need_page_headers(&self) -> Result<Vec<ByteRange>> {
        let walks = self.material.chunks.iter().zip(&self.walks).filter(|(task, _)| self.round.has(task));
        let wanted = walks.filter_map(|(task, walk)| Some((task, walk.as_ref()?.need())));
        let going = wanted.filter(|(_, range)| !range.is_empty());
        going.map(|(task, range)| Ok(ByteRange::new(Arc::clone(self.file(task)?.0), range))).collect()
    }

    fn take_page_headers(&mut self, fetched: Vec<Bytes>) {
        let mut fetched = fetched.into_iter();
        let round = self.round;
        let chunks = self.material.chunks.iter().zip(&self.headers);
        for ((task, header), place) in chunks.zip(&mut self.walks).filter(|((task, _), _)| round.has(task)) {
            let Some(walk) = place.as_mut().filter(|walk| !walk.need().is_empty()) else { continue };
            let facts = self.material.files.get(task.chunk.file);
            let (Some((header, _)), Some((_, facts)), Some(bytes)) = (header, facts, fetched.next()) else {
                continue;
            };
            if walk.take(header, facts.version, &bytes) == Walk::GivenUp {
                *place = None;
            }
        }
    }

    /// The chunks of this round that are read whole.
    fn need_chunks(&self) -> Result<Vec<ByteRange>> {
        let mut ranges = Vec::new();
        for ((task, header), walk) in self.material.chunks.iter().zip(&self.headers).zip(&self.walks) {
            if let (Some((_, range)), None) = (header, walk)
                && !range.is_empty()
                && self.round.has(task)
            {
                ranges.push(ByteRange::new(Arc::clone(self.file(task)?.0), range.clone()));
            }
        }
        Ok(ranges)
    }

    /// Takes the pages of the chunks of this round.
    fn load(&mut self, fetched: Vec<Bytes>) -> Result<()> {
        let mut fetched = fetched.into_iter();
        for i in 0..self.headers.len() {
            let Some(task) = self.material.chunks.get(i).filter(|task| self.round.has(task)) else {
                continue;
            };
            let walk = self.walks.get_mut(i).and_then(Option::take);
            let Some((header, range)) = self.headers.get_mut(i).and_then(Option::take) else { continue };
            let loaded = if let Some(walk) = walk {
                let (pages, all) = walk.pages();
                Loaded { header, pages, headers_only: true, cut: !all }
            } else {
                let bytes = if range.is_empty() { Bytes::new() } else { fetched.next().unwrap_or_default() };
                let (_, facts) = self.file(task)?;
                let loaded = Loaded::new(header, facts.version, &bytes, range.start);
                loaded.map_err(|e| self.material.place((i, 0), e))?
            };
            if let Some(place) = self.found.get_mut(i) {
                *place = Some(loaded);
            }
        }
        Ok(())
    }

    /// No walk has to go further than the pages whose times are of interest, which the time columns tell.
    fn limit_walks(&mut self) {
        let mut limits: HashMap<(usize, u64), usize> = HashMap::new();
        for (task, loaded) in self.material.chunks.iter().zip(&self.found) {
            if let Some(loaded) = loaded {
                let pages = units::pages_of_interest(task, loaded, &self.pruner);
                limits.insert((task.chunk.file, task.chunk.offset), pages);
            }
        }
        for (task, walk) in self.material.chunks.iter().zip(&mut self.walks) {
            let limit = task.chunk.time_chunk.and_then(|time| limits.get(&(task.chunk.file, time)));
            if let (Some(walk), Some(limit)) = (walk, limit) {
                walk.limit(*limit);
            }
        }
    }

    /// Chooses the pages, now that all headers are there, and says which are still to be fetched.
    fn need_pages(&mut self) -> Result<Vec<ByteRange>> {
        while let Some(component) = self.components.pop_front() {
            let sources = units::sources(&component, &self.material, self.mode, &self.names, &self.pruner)?;
            self.ready.push_back(sources);
        }
        let mut ranges = Vec::new();
        for (id, range) in self.material.missing(self.ready.iter().flatten()) {
            let task =
                self.material.chunks.get(id.0).ok_or_else(|| Error::internal("a page is of no chunk"))?;
            ranges.push(ByteRange::new(Arc::clone(self.file(task)?.0), range));
            self.asked.push(id);
        }
        Ok(ranges)
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
            let Some(sources) = self.ready.pop_front() else { break };
            self.sources = sources;
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
        let mut fetched = fetched;
        loop {
            let given = std::mem::take(&mut fetched);
            let wanted = match self.state {
                State::Start => {
                    // Another task that shares the chunks may have cut them into pages.
                    if let Some(loaded) = self.shared.get() {
                        self.material.loaded = Arc::clone(loaded);
                        self.state = State::Pages;
                        self.need_pages()?
                    } else {
                        self.state = State::Headers;
                        self.need_headers()?
                    }
                }
                State::Headers => {
                    self.take_headers(&given)?;
                    self.state = State::PageHeaders;
                    self.need_page_headers()?
                }
                State::PageHeaders => {
                    self.take_page_headers(given);
                    let wanted = self.need_page_headers()?;
                    if wanted.is_empty() {
                        self.state = State::Chunks;
                        self.need_chunks()?
                    } else {
                        wanted
                    }
                }
                State::Chunks => {
                    self.load(given)?;
                    if self.round == Round::Times {
                        self.round = Round::Values;
                        self.limit_walks();
                        self.state = State::PageHeaders;
                        self.need_page_headers()?
                    } else {
                        let found = Arc::new(std::mem::take(&mut self.found));
                        self.material.loaded = Arc::clone(self.shared.get_or_init(|| found));
                        self.state = State::Pages;
                        self.need_pages()?
                    }
                }
                State::Pages => {
                    self.material.fetched = std::mem::take(&mut self.asked).into_iter().zip(given).collect();
                    self.state = State::Rows;
                    return self.next_batch();
                }
                State::Rows => return self.next_batch(),
            };
            if !wanted.is_empty() {
                return Ok(Step::Need(wanted));
            }
        }
    }
}
