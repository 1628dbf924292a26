//! An ordinary device: each series has times of its own.

use std::ops::Range;

use tesselle_core::{At, Result};

use super::timeline::{Mark, Timeline, ascends};
use super::{ChunkJob, Encoder, Input, check_type, unknown};
use crate::meta::schema::MeasurementSchema;
use crate::write::chunk::{Pages, closed, header, page_ranges};
use crate::write::page::{Content, PageJob, encode_all};
use crate::write::values::{Rows, Slice, Values};
use crate::write::writer_options::Order;

/// The points of an ordinary series.
#[derive(Debug)]
pub(crate) struct SeriesBuffer {
    pub(super) schema: MeasurementSchema,
    timeline: Timeline,
    values: Values,
    pages: Pages,
    /// Whether there is something to flush.
    used: bool,
}

/// The effect of a write on one series.
struct SeriesWrite<'a> {
    target: usize,
    mark: Mark,
    /// The rows are encoded zero-copy; otherwise they have been appended to the buffered ones.
    direct: Option<Slice<'a>>,
    pages: Vec<Range<usize>>,
    bytes: usize,
}

impl SeriesBuffer {
    pub(super) fn new(schema: MeasurementSchema) -> Self {
        let values = Values::empty(schema.data_type);
        Self { schema, timeline: Timeline::new(), values, pages: Pages::default(), used: false }
    }

    /// Goes on after the last point of a file.
    pub(super) fn resume_after(&mut self, last: i64) {
        self.timeline.resume_after(last);
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.used
    }

    fn job<'a>(
        &'a self,
        times: &'a [i64],
        values: Slice<'a>,
        range: &Range<usize>,
        encoder: &Encoder<'_>,
    ) -> Result<PageJob<'a>> {
        let coding = encoder.setting.value_coding(&self.schema)?;
        let content = Content::Points(coding, values.range(range.clone()));
        let times = times.part(range.clone())?;
        Ok(PageJob { name: &self.schema.name, times, content, compression: self.schema.compression })
    }

    /// Sorts the buffered points if needed; returns the number of points replaced by later ones at the same
    /// time.
    pub(super) fn settle(&mut self) -> u64 {
        let Some(rows) = self.timeline.sorted_rows() else { return 0 };
        let gone = self.timeline.times.len() - rows.len();
        self.timeline.sort(&rows);
        self.values = self.values.as_slice().copy(Rows::At(&rows));
        gone as u64
    }

    /// The chunk to write; requires [`SeriesBuffer::settle`].
    pub(super) fn chunk(&self, encoder: &Encoder<'_>) -> Result<ChunkJob<'_>> {
        let times = self.timeline.times.as_slice();
        let values = self.values.as_slice();
        let ranges = page_ranges(times.len(), encoder.setting.pages, &[values]);
        let rest =
            ranges.iter().map(|range| self.job(times, values, range, encoder)).collect::<Result<_>>()?;
        Ok(ChunkJob { pages: &self.pages, rest, header: header(&self.schema, 0) })
    }

    pub(super) fn flushed(&mut self) {
        self.timeline.flush();
        self.values = Values::empty(self.schema.data_type);
        self.pages = Pages::default();
        self.used = false;
    }
}

/// Adds rows; adds none of them on an error. Returns their size in bytes.
pub(super) fn write(
    series: &mut [SeriesBuffer],
    times: &[i64],
    columns: &[Input<'_>],
    order: Order,
    encoder: &Encoder<'_>,
) -> Result<usize> {
    let in_order = order == Order::Refuse && ascends(times);
    let mut parts: Vec<SeriesWrite<'_>> = Vec::with_capacity(columns.len());
    for column in columns {
        let found = series.iter().position(|s| s.schema.name == column.name);
        let target = found.ok_or_else(|| unknown(column.name, series.iter().map(|s| &s.schema)))?;
        let buffer = series.at(target)?;
        check_type(&buffer.schema, column.values)?;
        if !(in_order && buffer.timeline.continues(times)) {
            let there = column.present_times(times);
            buffer
                .timeline
                .check(there, order)
                .map_err(|e| e.piece(format!("measurement '{}'", column.name)))?;
        }
        let is_direct =
            column.present.is_none() && buffer.timeline.times.is_empty() && order == Order::Refuse;
        let direct = is_direct.then_some(column.values);
        parts.push(SeriesWrite { target, mark: buffer.timeline.mark(), direct, pages: Vec::new(), bytes: 0 });
    }
    for (part, column) in parts.iter_mut().zip(columns) {
        let buffer = series.at_mut(part.target)?;
        let waiting = if part.direct.is_some() {
            part.bytes = column.values.size() + times.len() * 8;
            column.values
        } else {
            let before = buffer.values.as_slice().size() + buffer.timeline.times.len() * 8;
            let keep = column.present.map_or(Rows::All, Rows::Where);
            buffer.timeline.append(times, keep);
            buffer.values.append(column.values, keep)?;
            let waiting = buffer.values.as_slice();
            part.bytes = waiting.size() + buffer.timeline.times.len() * 8 - before;
            waiting
        };
        if order == Order::Refuse && encoder.may_close(waiting.len(), &[waiting]) {
            let limits = encoder.setting.pages;
            part.pages = closed(page_ranges(waiting.len(), limits, &[waiting]), limits);
        }
    }
    match encode(series, times, &parts, encoder) {
        Ok(()) => {}
        Err(error) => {
            for part in parts.iter().filter(|part| part.direct.is_none()) {
                let buffer = series.at_mut(part.target)?;
                buffer.timeline.go_back(part.mark);
                buffer.values.truncate(buffer.timeline.times.len());
            }
            return Err(error);
        }
    }
    // Rows that do not fill a page are buffered.
    for part in &parts {
        let buffer = series.at_mut(part.target)?;
        let done = part.pages.last().map_or(0, |range| range.end);
        if let Some(values) = part.direct {
            buffer.timeline.pass(times.part(..done)?);
            buffer.timeline.append(times.part(done..)?, Rows::All);
            buffer.values.append(values.range(done..values.len()), Rows::All)?;
        } else if done > 0 {
            buffer.timeline.times.drain(..done.min(buffer.timeline.times.len()));
            buffer.values.drop_front(done);
        }
        buffer.used |= done > 0 || !buffer.timeline.times.is_empty();
    }
    Ok(parts.iter().map(|part| part.bytes).sum())
}

/// Encodes the full pages.
fn encode(
    series: &mut [SeriesBuffer],
    times: &[i64],
    parts: &[SeriesWrite<'_>],
    encoder: &Encoder<'_>,
) -> Result<()> {
    let mut owners = Vec::new();
    let mut jobs = Vec::new();
    for part in parts {
        let buffer = series.at(part.target)?;
        let (times, values) = match part.direct {
            Some(values) => (times, values),
            None => (buffer.timeline.times.as_slice(), buffer.values.as_slice()),
        };
        for range in &part.pages {
            owners.push(part.target);
            jobs.push(buffer.job(times, values, range, encoder)?);
        }
    }
    let pages = encode_all(&jobs, encoder.setting, encoder.driver)?;
    for (owner, page) in owners.into_iter().zip(pages) {
        if let Some(buffer) = series.get_mut(owner) {
            buffer.pages.push(page, encoder.setting.version);
        }
    }
    Ok(())
}
