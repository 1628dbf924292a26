//! Locates the pages of the chunks of a task in a few rounds of reads: chunk headers, then page headers or
//! whole chunks.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use tesselle_core::{ByteRange, Error, Result};

use super::loaded::{Loaded, header_range, parse_header};
use super::page_headers::{HeaderWalk, WalkState};
use super::prune::Pruner;
use super::source::{TaskChunk, TaskInput};
use super::sources;
use crate::meta::{ChunkHeader, DataType};

/// The header of a chunk and the range of its pages; `None` for a skipped chunk.
pub(crate) type Header = Option<(ChunkHeader, Range<u64>)>;

/// Locates the pages of the chunks of a task.
pub(crate) struct PageFinder {
    phase: Phase,
    round: Round,
    headers: Vec<Header>,
    /// By chunk; `None` for those that are read whole.
    walks: Vec<Option<HeaderWalk>>,
    /// The pages found so far, by chunk.
    found: Vec<Option<Loaded>>,
    /// Whether reading page headers one by one can pay off: the scan may skip pages, and small reads are
    /// cheap.
    may_walk: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    Headers,
    PageHeaders,
    Chunks,
}

/// The chunks that are split into pages in this round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// All at once.
    All,
    /// Time columns first: they determine how far the others are needed.
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

impl PageFinder {
    pub(crate) fn new(may_walk: bool) -> Self {
        let (headers, walks, found) = (Vec::new(), Vec::new(), Vec::new());
        Self { phase: Phase::Start, round: Round::All, headers, walks, found, may_walk }
    }

    /// Takes the bytes requested last and requests more; `None` when all pages are located. `skip`
    /// receives the headers of the chunks once they are read.
    pub(crate) fn advance(
        &mut self,
        input: &TaskInput,
        pruner: &Pruner,
        skip: impl Fn(&mut [Header]),
        mut given: Vec<Bytes>,
    ) -> Result<Option<Vec<ByteRange>>> {
        loop {
            let given = std::mem::take(&mut given);
            let wanted = match self.phase {
                Phase::Start => {
                    self.phase = Phase::Headers;
                    need_headers(input)?
                }
                Phase::Headers => {
                    self.take_headers(input, &given)?;
                    skip(&mut self.headers);
                    self.prepare_walks(input);
                    self.phase = Phase::PageHeaders;
                    self.need_page_headers(input)?
                }
                Phase::PageHeaders => {
                    self.take_page_headers(input, given)?;
                    let wanted = self.need_page_headers(input)?;
                    if wanted.is_empty() {
                        self.phase = Phase::Chunks;
                        self.need_chunks(input)?
                    } else {
                        wanted
                    }
                }
                Phase::Chunks => {
                    self.take_chunks(input, given)?;
                    if self.round != Round::Times {
                        return Ok(None);
                    }
                    self.round = Round::Values;
                    self.limit_walks(input, pruner);
                    self.phase = Phase::PageHeaders;
                    self.need_page_headers(input)?
                }
            };
            if !wanted.is_empty() {
                return Ok(Some(wanted));
            }
        }
    }

    /// The pages by chunk, once all are located.
    pub(crate) fn take(&mut self) -> Vec<Option<Loaded>> {
        std::mem::take(&mut self.found)
    }

    fn take_headers(&mut self, input: &TaskInput, fetched: &[Bytes]) -> Result<()> {
        for (i, (task, bytes)) in input.chunks.iter().zip(fetched).enumerate() {
            let (_, facts) = input.file(task)?;
            let parsed = parse_header(&task.chunk, (&task.name, task.data_type), facts, bytes);
            self.headers.push(Some(parsed.map_err(|e| input.place((i, 0), e))?));
        }
        Ok(())
    }

    fn prepare_walks(&mut self, input: &TaskInput) {
        let walk = |range: &Range<u64>| HeaderWalk::new(range).filter(|_| self.may_walk);
        self.walks = self.headers.iter().map(|header| walk(&header.as_ref()?.1)).collect();
        self.found = self.headers.iter().map(|_| None).collect();
        let mut chunks = input.chunks.iter().zip(&self.walks);
        if chunks.any(|(task, walk)| task.chunk.time_chunk.is_some() && walk.is_some()) {
            self.round = Round::Times;
        }
    }

    /// The page headers that the walks of this round need next; empty when all have ended.
    fn need_page_headers(&self, input: &TaskInput) -> Result<Vec<ByteRange>> {
        let walks = input.chunks.iter().zip(&self.walks).filter(|(task, _)| self.round.has(task));
        let wanted = walks.filter_map(|(task, walk)| Some((task, walk.as_ref()?.need())));
        let going = wanted.filter(|(_, range)| !range.is_empty());
        going.map(|(task, range)| input.bytes(task, range)).collect()
    }

    fn take_page_headers(&mut self, input: &TaskInput, fetched: Vec<Bytes>) -> Result<()> {
        let mut fetched = fetched.into_iter();
        let round = self.round;
        let chunks = input.chunks.iter().zip(&self.headers);
        for ((task, header), place) in chunks.zip(&mut self.walks).filter(|((task, _), _)| round.has(task)) {
            let Some(walk) = place.as_mut().filter(|walk| !walk.need().is_empty()) else { continue };
            let (Some((header, _)), Some(bytes)) = (header, fetched.next()) else {
                return Err(Error::internal("a page header was not fetched"));
            };
            if walk.take(header, input.file(task)?.1.version, &bytes) == WalkState::GivenUp {
                *place = None;
            }
        }
        Ok(())
    }

    /// The chunks of this round that are read whole.
    fn need_chunks(&self, input: &TaskInput) -> Result<Vec<ByteRange>> {
        let mut ranges = Vec::new();
        for ((task, header), walk) in input.chunks.iter().zip(&self.headers).zip(&self.walks) {
            if let (Some((_, range)), None) = (header, walk)
                && !range.is_empty()
                && self.round.has(task)
            {
                ranges.push(input.bytes(task, range.clone())?);
            }
        }
        Ok(ranges)
    }

    /// Takes the pages of the chunks of this round.
    fn take_chunks(&mut self, input: &TaskInput, fetched: Vec<Bytes>) -> Result<()> {
        let mut fetched = fetched.into_iter();
        let places = self.headers.iter_mut().zip(&mut self.walks).zip(&mut self.found);
        for (i, (task, ((header, walk), place))) in input.chunks.iter().zip(places).enumerate() {
            if !self.round.has(task) {
                continue;
            }
            let Some((header, range)) = header.take() else { continue };
            let loaded = if let Some(walk) = walk.take() {
                let (pages, all) = walk.pages();
                Loaded { header, pages, headers_only: true, cut: !all }
            } else {
                let bytes = if range.is_empty() {
                    Bytes::new()
                } else {
                    fetched.next().ok_or_else(|| Error::internal("a chunk was not fetched"))?
                };
                let (_, facts) = input.file(task)?;
                let loaded = Loaded::try_new(header, facts.version, &bytes, range.start);
                loaded.map_err(|e| input.place((i, 0), e))?
            };
            *place = Some(loaded);
        }
        Ok(())
    }

    /// Limits each walk to the pages in the needed time range, which the time columns determine.
    fn limit_walks(&mut self, input: &TaskInput, pruner: &Pruner) {
        let mut limits: HashMap<(usize, u64), usize> = HashMap::new();
        for (task, loaded) in input.chunks.iter().zip(&self.found) {
            if let Some(loaded) = loaded {
                let pages = sources::pages_of_interest(task, loaded, pruner);
                limits.insert((task.chunk.file, task.chunk.offset), pages);
            }
        }
        for (task, walk) in input.chunks.iter().zip(&mut self.walks) {
            let limit = task.chunk.time_chunk.and_then(|time| limits.get(&(task.chunk.file, time)));
            if let (Some(walk), Some(limit)) = (walk, limit) {
                walk.limit(*limit);
            }
        }
    }
}

fn need_headers(input: &TaskInput) -> Result<Vec<ByteRange>> {
    let range = |task: &TaskChunk| {
        let (_, facts) = input.file(task)?;
        input.bytes(task, header_range(&task.chunk, &task.name, facts))
    };
    input.chunks.iter().map(range).collect()
}
