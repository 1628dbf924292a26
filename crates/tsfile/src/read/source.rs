//! Sources: sequences of units that cover a time range, each unit decoded on demand.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::{At, ByteRange, Context as _, Error, Result};

use super::column::{DecodedValues, NONE};
use super::loaded::{ChunkRef, FileFacts, Loaded};
use super::page::{self, Page};
use super::prune::Pruner;
use super::run::{Run, RunColumn, is_ascending};
use super::times::{Buffers, TimeBytes, Times};
use super::values;
use crate::meta::DataType;

/// The chunks of a task and everything that its units refer to.
pub(crate) struct TaskInput {
    /// The chunks of the task.
    pub(crate) chunks: Vec<TaskChunk>,
    /// Their pages; `None` for skipped chunks.
    pub(crate) loaded: Arc<Vec<Option<Loaded>>>,
    /// The bytes of selected pages, for chunks of which only the headers were read.
    pub(crate) fetched: HashMap<PageId, Bytes>,
    /// The files of the archive.
    pub(crate) files: Arc<[(Arc<str>, FileFacts)]>,
    /// The device, for messages.
    pub(crate) device: String,
    /// The time range of this task, if several tasks share the chunks.
    pub(crate) window: Option<(i64, i64)>,
    /// Pruning by times alone; `None` if the scan has no condition on time.
    pub(crate) times: Option<Arc<Pruner>>,
}

/// A chunk of a task.
#[derive(Debug, Clone)]
pub(crate) struct TaskChunk {
    /// Its location.
    pub(crate) chunk: ChunkRef,
    /// Its measurement; empty for a time column.
    pub(crate) name: Arc<str>,
    /// Its type.
    pub(crate) data_type: DataType,
    /// Whether values are needed, not only times.
    pub(crate) values: bool,
}

/// A page by chunk and number.
pub(crate) type PageId = (usize, usize);

/// A page with points of one column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PointPage {
    /// Times and values together.
    Ordinary(PageId),
    /// A value page and the matching time page.
    Aligned {
        /// The time page.
        time: PageId,
        /// The value page.
        value: PageId,
    },
    /// Only the times of an aligned group.
    Times(PageId),
}

/// The unit of decoding.
#[derive(Debug)]
pub(crate) enum DecodeUnit {
    /// Points of one column; several pages, lowest rank first, if their times are mixed.
    Points(Vec<PointPage>),
    /// Rows of an aligned group: a time page and the value page of each column.
    Rows {
        /// The time page.
        time: PageId,
        /// By column of the source.
        values: Vec<Option<PageId>>,
    },
}

/// A sequence of units in time order.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its columns; empty if it only contributes rows.
    pub(crate) columns: Vec<SourceColumn>,
    /// Units still to be decoded.
    pub(crate) units: VecDeque<DecodeUnit>,
    /// Decoded and not consumed.
    pub(crate) run: Option<Run>,
    /// The last time of the preceding runs.
    pub(crate) last: Option<i64>,
}

/// A column of a source.
#[derive(Debug, Clone)]
pub(crate) struct SourceColumn {
    /// The output slot it fills.
    pub(crate) slot: usize,
    /// Its measurement.
    pub(crate) name: Arc<str>,
    /// Its type.
    pub(crate) data_type: DataType,
}

impl Source {
    /// Decodes until a run has rows left, or all units are consumed.
    pub(crate) fn fill(&mut self, input: &TaskInput, buffers: &mut Buffers) -> Result<()> {
        while self.run.as_ref().is_none_or(|run| run.rest().is_empty()) {
            self.last = self.run.take().and_then(|run| run.times.last().copied()).or(self.last);
            let last = self.last;
            let Some(unit) = self.units.pop_front() else { return Ok(()) };
            let mut run = match &unit {
                DecodeUnit::Points(pages) => self.decode_points(pages, input, buffers)?,
                DecodeUnit::Rows { time, values } => self.decode_rows(*time, values, input, buffers)?,
            };
            run.normalise()?;
            if let (Some(last), Some(first)) = (last, run.times.first())
                && *first <= last
            {
                let message = format!(
                    "the times of a page start at {first}, although the previous page ends at {last}"
                );
                return Err(input.place(unit.first_page(), Error::corrupt(message).class("bad_statistics")));
            }
            let rows = input.wanted_rows(&run.times);
            (run.position, run.end) = (rows.start, rows.end);
            self.run = Some(run);
        }
        Ok(())
    }

    fn decode_points(&self, pages: &[PointPage], input: &TaskInput, buffers: &mut Buffers) -> Result<Run> {
        let wanted = self.columns.first();
        let one = |page: PointPage, first_rows: bool, buffers: &mut Buffers| {
            input.decode_page(page, wanted, first_rows, buffers).map_err(|e| input.place(page.data_page(), e))
        };
        if let [only] = pages {
            return one(*only, true, buffers);
        }
        let mut times = Vec::new();
        let mut column = wanted.and_then(|w| w.data_type.physical()).map(DecodedValues::new);
        for page in pages {
            let run = one(*page, false, buffers)?;
            times.extend_from_slice(&run.times);
            if let (Some(all), Some(part)) = (&mut column, run.columns.first()) {
                all.extend_range(&part.values, 0, run.times.len())?;
            }
        }
        let columns = column.map(|values| RunColumn { values, picks: None });
        Ok(Run::new(Arc::new(times), columns.into_iter().collect()))
    }

    fn decode_rows(
        &self,
        time: PageId,
        values: &[Option<PageId>],
        input: &TaskInput,
        buffers: &mut Buffers,
    ) -> Result<Run> {
        let scratch = &mut buffers.unfolded;
        let times = input.decode_time_page(time, scratch).map_err(|e| input.place(time, e))?;
        let last = input.wanted_rows(&times).end;
        let mut columns = Vec::with_capacity(self.columns.len());
        for (column, page) in self.columns.iter().zip(values) {
            let mut decoded = match page {
                Some(page) => {
                    let decoded = input.aligned_page(*page, times.len(), last, scratch);
                    decoded.map_err(|e| input.place(*page, e))?
                }
                None => RunColumn {
                    values: DecodedValues::new(physical(column.data_type)?),
                    picks: Some(vec![NONE; times.len()]),
                },
            };
            if let Some(chunk) = page.and_then(|page| input.chunks.get(page.0)) {
                decoded.hide(&times, &chunk.chunk.deleted);
            }
            columns.push(decoded);
        }
        let mut run = Run::new(times, columns);
        // The deletions of a time chunk are those that all columns share: such rows are dropped.
        if let Some(chunk) = input.chunks.get(time.0) {
            run.delete(&chunk.chunk.deleted)?;
        }
        Ok(run)
    }
}

impl DecodeUnit {
    /// All pages it is decoded from.
    fn pages(&self) -> Vec<PageId> {
        match self {
            Self::Points(pages) => {
                pages.iter().flat_map(|page| page.time_page().into_iter().chain([page.data_page()])).collect()
            }
            Self::Rows { time, values } => values.iter().flatten().copied().chain([*time]).collect(),
        }
    }

    fn first_page(&self) -> PageId {
        match self {
            Self::Points(pages) => pages.first().map_or((0, 0), |page| page.data_page()),
            Self::Rows { time, .. } => *time,
        }
    }
}

impl PointPage {
    /// The page with the times of an aligned value page.
    fn time_page(self) -> Option<PageId> {
        match self {
            Self::Aligned { time, .. } => Some(time),
            Self::Ordinary(_) | Self::Times(_) => None,
        }
    }

    fn data_page(self) -> PageId {
        match self {
            Self::Ordinary(page) | Self::Times(page) | Self::Aligned { value: page, .. } => page,
        }
    }
}

impl TaskInput {
    /// The chunk, its bytes and the properties of its file.
    pub(crate) fn get(&self, chunk: usize) -> Result<(&TaskChunk, &Loaded, FileFacts)> {
        let task = self.chunks.get(chunk);
        let facts = task.and_then(|t| self.files.get(t.chunk.file)).map(|(_, facts)| *facts);
        let loaded = self.loaded.get(chunk).and_then(Option::as_ref);
        match (task, loaded, facts) {
            (Some(task), Some(loaded), Some(facts)) => Ok((task, loaded, facts)),
            _ => Err(Error::internal("a unit refers to a chunk that was not fetched")),
        }
    }

    /// The path and the properties of the file of a chunk.
    pub(crate) fn file(&self, task: &TaskChunk) -> Result<(&Arc<str>, FileFacts)> {
        let file = self.files.get(task.chunk.file);
        file.map(|(path, facts)| (path, *facts)).ok_or_else(|| Error::internal("a chunk has no file"))
    }

    /// A byte range of the file of a chunk, as a request.
    pub(crate) fn bytes(&self, task: &TaskChunk, range: Range<u64>) -> Result<ByteRange> {
        Ok(ByteRange::new(Arc::clone(self.file(task)?.0), range))
    }

    /// A page with its bytes.
    fn page(&self, id: PageId) -> Result<Cow<'_, Page>> {
        let (_, loaded, _) = self.get(id.0)?;
        let page = loaded.pages.get(id.1).ok_or_else(|| Error::internal("a page is missing"))?;
        if !loaded.headers_only {
            return Ok(Cow::Borrowed(page));
        }
        let data = self.fetched.get(&id).ok_or_else(|| Error::internal("a page was not fetched"))?;
        Ok(Cow::Owned(Page { data: data.clone(), ..page.clone() }))
    }

    /// The pages of these sources that are still to be fetched, each once, with their ranges.
    pub(crate) fn missing<'a>(&self, sources: impl Iterator<Item = &'a Source>) -> Vec<(PageId, Range<u64>)> {
        if !self.loaded.iter().flatten().any(|loaded| loaded.headers_only) {
            return Vec::new();
        }
        let mut ids: Vec<PageId> = sources.flat_map(|s| &s.units).flat_map(DecodeUnit::pages).collect();
        ids.sort_unstable();
        ids.dedup();
        let range = |id: PageId| {
            let (_, loaded, _) = self.get(id.0).ok().filter(|(_, loaded, _)| loaded.headers_only)?;
            Some((id, loaded.pages.get(id.1)?.range()))
        };
        ids.into_iter().filter_map(range).collect()
    }

    /// Adds the location to an error.
    pub(crate) fn place(&self, (chunk, page): PageId, error: Error) -> Error {
        let Some(task) = self.chunks.get(chunk) else { return error };
        let file = self.files.get(task.chunk.file).map(|(path, _)| path.to_string()).unwrap_or_default();
        let series = match &*task.name {
            "" => format!("times of '{}'", self.device),
            name => format!("'{}.{name}'", self.device),
        };
        error.piece(format!("{series}, chunk at {}, page {page}", task.chunk.offset)).file(file)
    }

    /// The points of a page; with `first_rows`, values after the needed ones may be missing.
    fn decode_page(
        &self,
        page: PointPage,
        wanted: Option<&SourceColumn>,
        first_rows: bool,
        buffers: &mut Buffers,
    ) -> Result<Run> {
        match page {
            PointPage::Ordinary((chunk, number)) => {
                let (task, loaded, facts) = self.get(chunk)?;
                let statistics = loaded.page_statistics(number, &task.chunk);
                let page = self.page((chunk, number))?;
                let mut column = match wanted {
                    Some(column) if task.values => Some(DecodedValues::new(physical(column.data_type)?)),
                    _ => None,
                };
                if page.header.uncompressed_size == 0 {
                    let columns = column.map(|values| RunColumn { values, picks: None });
                    return Ok(Run::new(Arc::default(), columns.into_iter().collect()));
                }
                let Buffers { times: known, unfolded } = buffers;
                let bytes = page.unfold(loaded.header.compression, unfolded)?;
                let (time_bytes, value_bytes) = page::split_columns(bytes, page.offset)?;
                let times = known.times(TimeBytes::Encoded, time_bytes, || {
                    values::decode_times(time_bytes, None, statistics)
                });
                let Times { values: times, ordered } = times.at_offset(page.offset)?;
                if let Some(column) = &mut column {
                    let encoding = loaded.header.encoding;
                    let most = if first_rows
                        && encoding.is_sequential(task.data_type)
                        && task.chunk.deleted.is_empty()
                    {
                        self.wanted_rows(&times).end
                    } else {
                        times.len()
                    };
                    values::decode(column, encoding, facts.version, value_bytes, most, statistics)
                        .at_offset(page.offset)?;
                }
                let columns = column.map(|values| RunColumn { values, picks: None });
                let mut run = Run { ordered, ..Run::new(times, columns.into_iter().collect()) };
                run.delete(&task.chunk.deleted)?;
                Ok(run)
            }
            PointPage::Times(page) => {
                let Times { values: times, ordered } = self.time_page(page, buffers)?;
                let mut run = Run { ordered, ..Run::new(times, Vec::new()) };
                run.delete(&self.chunks.at(page.0)?.chunk.deleted)?;
                Ok(run)
            }
            PointPage::Aligned { time, value } => {
                let Times { values: times, ordered } = self.time_page(time, buffers)?;
                let column = self.aligned_page(value, times.len(), times.len(), &mut buffers.unfolded)?;
                let there = match column.picks {
                    None => times,
                    Some(picks) => {
                        let there = times.iter().zip(&picks).filter(|(_, pick)| **pick != NONE);
                        Arc::new(there.map(|(time, _)| *time).collect())
                    }
                };
                let columns = vec![RunColumn { values: column.values, picks: None }];
                let mut run = Run { ordered, ..Run::new(there, columns) };
                run.delete(&self.chunks.at(value.0)?.chunk.deleted)?;
                Ok(run)
            }
        }
    }

    /// The times of a page of a time column, not shared with other columns.
    fn decode_time_page(&self, (chunk, number): PageId, scratch: &mut Vec<u8>) -> Result<Arc<Vec<i64>>> {
        let (task, loaded, _) = self.get(chunk)?;
        let page = self.page((chunk, number))?;
        let statistics = loaded.page_statistics(number, &task.chunk);
        page::decode_time_page(&page, &loaded.header, statistics, scratch).map(Arc::new)
    }

    fn time_page(&self, (chunk, number): PageId, buffers: &mut Buffers) -> Result<Times> {
        let (task, loaded, _) = self.get(chunk)?;
        let page = self.page((chunk, number))?;
        let statistics = loaded.page_statistics(number, &task.chunk);
        let Buffers { times: known, unfolded } = buffers;
        known.times(TimeBytes::Page, &page.data, || {
            page::decode_time_page(&page, &loaded.header, statistics, unfolded)
        })
    }

    /// The number of rows that the scan and this task may need: the values after them are not decoded. All
    /// rows, if times are not ascending.
    fn wanted_rows(&self, times: &[i64]) -> Range<usize> {
        let all = 0..times.len();
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return all };
        // If both ends match, all rows do, regardless of the order of the times between them.
        let inside = |time: &i64| self.window.is_none_or(|(from, to)| (from..=to).contains(time));
        let wants = |lo: i64, hi: i64| self.times.as_ref().is_none_or(|pruner| pruner.wants_all(lo, hi));
        if wants(*first, *last) && inside(first) && inside(last) || !is_ascending(times) {
            return all;
        }
        let mut rows = all;
        if let Some((from, to)) = self.window {
            rows.start = times.partition_point(|time| *time < from);
            rows.end = times.partition_point(|time| *time <= to);
        }
        if let Some(pruner) = &self.times {
            // If a run can be pruned, so can every shorter one.
            rows.start = rows.start.max(times.partition_point(|time| pruner.rules_out_time(*first, *time)));
            rows.end = rows.end.min(times.partition_point(|time| !pruner.rules_out_time(*time, *last)));
        }
        rows.start..rows.end.max(rows.start)
    }

    /// The values of the first `wanted` rows of a page that has `rows`.
    fn aligned_page(
        &self,
        (chunk, number): PageId,
        rows: usize,
        wanted: usize,
        scratch: &mut Vec<u8>,
    ) -> Result<RunColumn> {
        let (task, loaded, facts) = self.get(chunk)?;
        let early = loaded.header.encoding.is_sequential(task.data_type) && task.chunk.deleted.is_empty();
        let wanted = if early { wanted } else { rows };
        let page = self.page((chunk, number))?;
        let statistics = loaded.page_statistics(number, &task.chunk);
        let physical = physical(task.data_type)?;
        let counts = (rows, wanted);
        let header = &loaded.header;
        let decoded =
            page::decode_aligned(&page, header, facts.version, physical, statistics, counts, scratch)?;
        Ok(RunColumn { values: decoded.values, picks: decoded.picks })
    }
}

fn physical(data_type: DataType) -> Result<crate::meta::Physical> {
    data_type.physical().ok_or_else(|| Error::internal("a time column is read as values"))
}
