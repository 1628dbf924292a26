//! An aligned device: all series share the times.

use std::ops::Range;

use tesselle_core::{At, Result};

use super::timeline::{Timeline, ascends};
use super::{ChunkJob, Encoder, Input, blanks, check_type, unknown};
use crate::meta::schema::MeasurementSchema;
use crate::meta::{Compression, DataType, marker};
use crate::write::chunk::{Pages, closed, header, page_ranges};
use crate::write::page::{Content, PageJob, encode_all};
use crate::write::values::{Rows, Slice, Values};
use crate::write::writer_options::Order;

/// The rows of an aligned device.
#[derive(Debug)]
pub(crate) struct AlignedBuffer {
    timeline: Timeline,
    pages: Pages,
    compression: Compression,
    pub(super) columns: Vec<AlignedColumn>,
    /// Whether there is something to flush.
    used: bool,
}

#[derive(Debug)]
pub(super) struct AlignedColumn {
    pub(super) schema: MeasurementSchema,
    values: Values,
    /// Which rows have a value; `None` while all have.
    present: Option<Vec<bool>>,
    pages: Pages,
}

/// A column to encode: borrowed rows of a write, or buffered rows.
type ColumnRows<'a> = (Slice<'a>, Option<&'a [bool]>);

impl AlignedColumn {
    fn append(&mut self, input: Option<&Input<'_>>, rows: usize) -> Result<()> {
        let before = self.values.len();
        let Some(input) = input else {
            self.values.append(blanks(self.schema.data_type, rows).as_slice(), Rows::All)?;
            let present = self.present.get_or_insert_with(|| vec![true; before]);
            present.resize(before + rows, false);
            return Ok(());
        };
        self.values.append(input.values, Rows::All)?;
        match (input.present, &mut self.present) {
            (None, None) => {}
            (None, Some(present)) => present.resize(before + rows, true),
            (Some(mask), present) => {
                present.get_or_insert_with(|| vec![true; before]).extend_from_slice(mask);
            }
        }
        Ok(())
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        if let Some(present) = &mut self.present {
            present.truncate(rows);
        }
    }

    fn drop_front(&mut self, rows: usize) {
        self.values.drop_front(rows);
        if let Some(present) = &mut self.present {
            present.drain(..rows.min(present.len()));
        }
    }

    fn source(&self) -> ColumnRows<'_> {
        (self.values.as_slice(), self.present.as_deref())
    }

    /// Bytes of a row without a value.
    fn blank_size(&self) -> usize {
        blanks(self.schema.data_type, 1).as_slice().size()
    }
}

impl AlignedBuffer {
    pub(super) fn new(schemas: Vec<MeasurementSchema>, compression: Compression) -> Self {
        let columns = schemas.into_iter().map(|schema| AlignedColumn {
            values: Values::empty(schema.data_type),
            present: None,
            pages: Pages::default(),
            schema,
        });
        let columns = columns.collect();
        Self { timeline: Timeline::new(), pages: Pages::default(), compression, columns, used: false }
    }

    /// Goes on after the last row of a file.
    pub(super) fn resume_after(&mut self, last: i64) {
        self.timeline.resume_after(last);
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.used
    }

    /// Adds rows; adds none of them on an error. Returns their size in bytes.
    pub(super) fn write(
        &mut self,
        times: &[i64],
        columns: &[Input<'_>],
        order: Order,
        encoder: &Encoder<'_>,
    ) -> Result<usize> {
        if !(order == Order::Refuse && ascends(times) && self.timeline.continues(times)) {
            self.timeline.check(times.iter().copied(), order)?;
        }
        for column in columns {
            let found = self.columns.iter().find(|c| c.schema.name == column.name);
            let target = found.ok_or_else(|| unknown(column.name, self.columns.iter().map(|c| &c.schema)))?;
            check_type(&target.schema, column.values)?;
        }
        let inputs: Vec<Option<&Input<'_>>> =
            self.columns.iter().map(|target| columns.iter().find(|c| c.name == target.schema.name)).collect();
        let bytes = times.len() * 8
            + self
                .columns
                .iter()
                .zip(&inputs)
                .map(|(column, input)| {
                    let size = input.map_or_else(|| column.blank_size() * times.len(), |i| i.values.size());
                    size + times.len()
                })
                .sum::<usize>();
        let direct: Option<Vec<ColumnRows<'_>>> =
            inputs.iter().map(|input| input.map(|i| (i.values, i.present))).collect();
        if let Some(sources) = direct.filter(|_| order == Order::Refuse && self.timeline.times.is_empty()) {
            self.write_direct(times, &sources, encoder)?;
        } else {
            self.write_waiting(times, &inputs, order, encoder)?;
        }
        self.used |= !self.timeline.times.is_empty();
        Ok(bytes)
    }

    /// Encodes borrowed rows, and buffers the last of them.
    fn write_direct(
        &mut self,
        times: &[i64],
        sources: &[ColumnRows<'_>],
        encoder: &Encoder<'_>,
    ) -> Result<()> {
        let done = self.encode(Some((times, sources)), encoder)?;
        self.used |= done > 0;
        self.timeline.pass(times.part(..done)?);
        self.timeline.append(times.part(done..)?, Rows::All);
        for (column, (values, present)) in self.columns.iter_mut().zip(sources) {
            let rest = Input { name: "", values: *values, present: *present }.range(done..times.len());
            column.append(Some(&rest), times.len() - done)?;
        }
        Ok(())
    }

    /// Buffers rows after those already buffered, and encodes full pages.
    fn write_waiting(
        &mut self,
        times: &[i64],
        inputs: &[Option<&Input<'_>>],
        order: Order,
        encoder: &Encoder<'_>,
    ) -> Result<()> {
        let mark = self.timeline.mark();
        self.timeline.append(times, Rows::All);
        for (column, input) in self.columns.iter_mut().zip(inputs) {
            column.append(*input, times.len())?;
        }
        if order == Order::Sort {
            return Ok(());
        }
        let done = self.encode(None, encoder).inspect_err(|_| {
            self.timeline.go_back(mark);
            let rows = self.timeline.times.len();
            self.columns.iter_mut().for_each(|column| column.truncate(rows));
        })?;
        if done > 0 {
            self.timeline.times.drain(..done.min(self.timeline.times.len()));
            self.columns.iter_mut().for_each(|column| column.drop_front(done));
            self.used = true;
        }
        Ok(())
    }

    /// Encodes the full pages of the given rows, or of the buffered ones; returns the number of their rows.
    fn encode(&mut self, given: Option<(&[i64], &[ColumnRows<'_>])>, encoder: &Encoder<'_>) -> Result<usize> {
        let limits = encoder.setting.pages;
        let waiting: Vec<ColumnRows<'_>>;
        let (times, sources) = if let Some(given) = given {
            given
        } else {
            waiting = self.columns.iter().map(AlignedColumn::source).collect();
            (self.timeline.times.as_slice(), waiting.as_slice())
        };
        let all: Vec<Slice<'_>> = sources.iter().map(|(values, _)| *values).collect();
        if !encoder.may_close(times.len(), &all) {
            return Ok(0);
        }
        let ranges = closed(page_ranges(times.len(), limits, &all), limits);
        let jobs = self.jobs(times, sources, &ranges, encoder)?;
        let pages = encode_all(&jobs, encoder.setting, encoder.driver)?;
        drop(jobs);
        // Range by range: the times first, then the columns.
        let mut pages = pages.into_iter();
        let version = encoder.setting.version;
        for _ in &ranges {
            self.pages.push_next(&mut pages, version);
            for column in &mut self.columns {
                column.pages.push_next(&mut pages, version);
            }
        }
        Ok(ranges.last().map_or(0, |range| range.end))
    }

    /// The pages of these ranges, range by range: the times first, then the columns.
    fn jobs<'a>(
        &'a self,
        times: &'a [i64],
        sources: &[ColumnRows<'a>],
        ranges: &[Range<usize>],
        encoder: &Encoder<'_>,
    ) -> Result<Vec<PageJob<'a>>> {
        let mut jobs = Vec::with_capacity(ranges.len() * (sources.len() + 1));
        for range in ranges {
            let part = times.part(range.clone())?;
            let compression = self.compression;
            jobs.push(PageJob { name: "", times: part, content: Content::Times, compression });
            for (column, (values, present)) in self.columns.iter().zip(sources) {
                let coding = encoder.setting.value_coding(&column.schema)?;
                let mask = present.map(|mask| mask.part(range.clone())).transpose()?;
                let content = Content::Column(coding, values.range(range.clone()), mask);
                let (name, compression) = (&*column.schema.name, column.schema.compression);
                jobs.push(PageJob { name, times: part, content, compression });
            }
        }
        Ok(jobs)
    }

    /// Sorts the buffered rows if needed; returns the number of rows replaced by later ones at the same time.
    pub(super) fn settle(&mut self) -> u64 {
        let Some(rows) = self.timeline.sorted_rows() else { return 0 };
        let gone = self.timeline.times.len() - rows.len();
        self.timeline.sort(&rows);
        for column in &mut self.columns {
            column.values = column.values.as_slice().copy(Rows::At(&rows));
            if let Some(present) = &mut column.present {
                let mut sorted = Vec::with_capacity(rows.len());
                Rows::At(&rows).copy(present, &mut sorted);
                *present = sorted;
            }
        }
        gone as u64
    }

    /// The chunks to write, the times first; requires [`AlignedBuffer::settle`].
    pub(super) fn chunks(&self, encoder: &Encoder<'_>) -> Result<Vec<ChunkJob<'_>>> {
        let times = self.timeline.times.as_slice();
        let sources: Vec<ColumnRows<'_>> = self.columns.iter().map(AlignedColumn::source).collect();
        let all: Vec<Slice<'_>> = sources.iter().map(|(values, _)| *values).collect();
        let ranges = page_ranges(times.len(), encoder.setting.pages, &all);
        let time = MeasurementSchema {
            name: String::new(),
            data_type: DataType::Vector,
            encoding: encoder.setting.time_encoding,
            compression: self.compression,
            properties: Vec::new(),
        };
        let mut chunks = vec![ChunkJob {
            pages: &self.pages,
            rest: Vec::new(),
            header: header(&time, marker::TIME_COLUMN),
        }];
        chunks.extend(self.columns.iter().map(|column| ChunkJob {
            pages: &column.pages,
            rest: Vec::new(),
            header: header(&column.schema, marker::VALUE_COLUMN),
        }));
        let width = chunks.len();
        for (i, job) in self.jobs(times, &sources, &ranges, encoder)?.into_iter().enumerate() {
            if let Some(chunk) = chunks.get_mut(i % width) {
                chunk.rest.push(job);
            }
        }
        Ok(chunks)
    }

    pub(super) fn flushed(&mut self) {
        self.timeline.flush();
        self.pages = Pages::default();
        self.used = false;
        for column in &mut self.columns {
            column.values = Values::empty(column.schema.data_type);
            column.present = None;
            column.pages = Pages::default();
        }
    }
}
