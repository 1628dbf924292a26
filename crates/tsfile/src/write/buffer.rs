//! Points of a device that wait for the next flush.

use super::chunk::{self, EncodedChunk, Setting};
use super::options::Order;
use super::values::{Rows, Values};
use crate::meta::schema::MeasurementSchema;
use crate::meta::{Compression, DataType};
use tesselle_core::{Error, Result};

/// One column of a write: values by row, and which rows have one.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The measurement.
    pub name: &'a str,
    /// One value per row.
    pub values: &'a Values,
    /// Rows that have a value; `None` is all of them.
    pub present: Option<&'a [bool]>,
}

/// Times in order, with what has been flushed before them.
#[derive(Debug, Default)]
struct Timeline {
    times: Vec<i64>,
    /// The greatest time so far.
    last: Option<i64>,
    /// The greatest time that has been flushed.
    flushed: Option<i64>,
    sorted: bool,
}

impl Timeline {
    fn new() -> Self {
        Self { sorted: true, ..Self::default() }
    }

    /// Checks times before anything is stored.
    fn check(&self, times: impl Iterator<Item = i64>, order: Order) -> Result<()> {
        let mut last = self.last;
        for time in times {
            if order == Order::Refuse && last.is_some_and(|last| time <= last) {
                return Err(not_ascending(time, last.unwrap_or_default()));
            }
            if let Some(flushed) = self.flushed.filter(|flushed| time <= *flushed) {
                return Err(Error::invalid(format!(
                    "time {time} comes after {flushed} has been written to the file"
                ))
                .hint("sort the input, or raise group_bytes so that more of it is sorted at a time"));
            }
            last = Some(time);
        }
        Ok(())
    }

    fn push(&mut self, time: i64) {
        self.sorted &= self.last.is_none_or(|last| time > last);
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        self.times.push(time);
    }

    /// The rows in order of time, of equal times the last; `None` when they are already.
    fn sorted_rows(&self) -> Option<Vec<usize>> {
        if self.sorted {
            return None;
        }
        let at = |i: &usize| self.times.get(*i).copied();
        let mut rows: Vec<usize> = (0..self.times.len()).collect();
        rows.sort_by_key(at);
        // Equal times stand together in the order they came; the last of them stays.
        rows.reverse();
        rows.dedup_by_key(|i| at(i));
        rows.reverse();
        Some(rows)
    }

    fn sort(&mut self, rows: &[usize]) {
        let mut times = Vec::with_capacity(rows.len());
        Rows::At(rows).copy(&self.times, &mut times);
        self.times = times;
    }

    fn flush(&mut self) {
        self.flushed = self.last.max(self.flushed);
        self.times = Vec::new();
        self.sorted = true;
    }
}

fn not_ascending(time: i64, last: i64) -> Error {
    let text = if time == last {
        format!("time {time} occurs twice")
    } else {
        format!("time {time} comes after {last}; times must ascend")
    };
    Error::invalid(text).hint("sort the input, or set order=sort")
}

/// The points of one device.
#[derive(Debug)]
pub(crate) enum DeviceBuffer {
    /// Each series has times of its own.
    Ordinary(Vec<SeriesBuffer>),
    /// All series share the times.
    Aligned(AlignedBuffer),
}

/// The points of an ordinary series.
#[derive(Debug)]
pub(crate) struct SeriesBuffer {
    schema: MeasurementSchema,
    timeline: Timeline,
    values: Values,
}

/// The rows of an aligned device.
#[derive(Debug)]
pub(crate) struct AlignedBuffer {
    timeline: Timeline,
    compression: Compression,
    columns: Vec<AlignedColumn>,
}

#[derive(Debug)]
struct AlignedColumn {
    schema: MeasurementSchema,
    values: Values,
    present: Vec<bool>,
}

impl DeviceBuffer {
    pub(crate) fn new(aligned: bool, schemas: Vec<MeasurementSchema>, compression: Compression) -> Self {
        if aligned {
            let columns = schemas.into_iter().map(|schema| AlignedColumn {
                values: Values::empty(schema.data_type),
                present: Vec::new(),
                schema,
            });
            let columns = columns.collect();
            return Self::Aligned(AlignedBuffer { timeline: Timeline::new(), compression, columns });
        }
        let series = schemas.into_iter().map(|schema| SeriesBuffer {
            values: Values::empty(schema.data_type),
            timeline: Timeline::new(),
            schema,
        });
        Self::Ordinary(series.collect())
    }

    /// The schema of a series.
    pub(crate) fn schema(&self, name: &str) -> Option<&MeasurementSchema> {
        match self {
            Self::Ordinary(series) => series.iter().map(|s| &s.schema).find(|s| s.name == name),
            Self::Aligned(buffer) => buffer.columns.iter().map(|c| &c.schema).find(|s| s.name == name),
        }
    }

    /// Adds a series to an ordinary device.
    pub(crate) fn add_series(&mut self, schema: MeasurementSchema) -> Result<()> {
        let Self::Ordinary(series) = self else {
            return Err(Error::invalid(format!("series '{}' cannot join an aligned device", schema.name)));
        };
        let values = Values::empty(schema.data_type);
        series.push(SeriesBuffer { values, timeline: Timeline::new(), schema });
        Ok(())
    }

    /// Takes rows in; nothing is taken when anything is wrong with them. Gives the bytes that they take.
    pub(crate) fn write(&mut self, times: &[i64], columns: &[Column<'_>], order: Order) -> Result<usize> {
        for column in columns {
            let rows = column.present.map_or(times.len(), <[bool]>::len);
            if column.values.len() != times.len() || rows != times.len() {
                let text = format!(
                    "column '{}' has {} rows for {} times",
                    column.name,
                    column.values.len(),
                    times.len()
                );
                return Err(Error::invalid(text));
            }
        }
        match self {
            Self::Ordinary(series) => write_series(series, times, columns, order),
            Self::Aligned(buffer) => buffer.write(times, columns, order),
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Ordinary(series) => series.iter().all(|s| s.timeline.times.is_empty()),
            Self::Aligned(buffer) => buffer.timeline.times.is_empty(),
        }
    }

    /// The chunks to encode; each runs on its own.
    pub(crate) fn jobs(&mut self, setting: &Setting) -> Vec<Job<'_>> {
        match self {
            Self::Ordinary(series) => {
                let waiting = series.iter_mut().filter(|s| !s.timeline.times.is_empty());
                waiting.map(|s| s.job()).collect()
            }
            Self::Aligned(buffer) => buffer.jobs(setting),
        }
    }

    /// Forgets what has been written, and gives its memory back: the next points may be another device's.
    pub(crate) fn flushed(&mut self) {
        match self {
            Self::Ordinary(series) => {
                for series in series.iter_mut().filter(|s| !s.timeline.times.is_empty()) {
                    series.timeline.flush();
                    series.values = Values::empty(series.schema.data_type);
                }
            }
            Self::Aligned(buffer) => {
                buffer.timeline.flush();
                for column in &mut buffer.columns {
                    column.values = Values::empty(column.schema.data_type);
                    column.present = Vec::new();
                }
            }
        }
    }
}

/// A chunk that waits to be encoded.
#[derive(Debug)]
pub(crate) enum Job<'a> {
    /// An ordinary series.
    Ordinary(&'a MeasurementSchema, &'a [i64], &'a Values),
    /// The times of an aligned device.
    Times(&'a [i64], Compression, std::sync::Arc<[std::ops::Range<usize>]>),
    /// A column of an aligned device.
    Values(
        &'a MeasurementSchema,
        &'a [i64],
        &'a Values,
        &'a [bool],
        std::sync::Arc<[std::ops::Range<usize>]>,
    ),
}

impl Job<'_> {
    /// Encodes the chunk.
    pub(crate) fn run(&self, setting: &Setting) -> Result<EncodedChunk> {
        match self {
            Self::Ordinary(schema, times, values) => chunk::ordinary(schema, times, values, setting),
            Self::Times(times, compression, pages) => {
                chunk::aligned_times(times, *compression, setting, pages)
            }
            Self::Values(schema, times, values, present, pages) => {
                chunk::aligned_values(schema, times, values, present, setting, pages)
            }
        }
    }
}

fn unknown<'a>(name: &str, schemas: impl Iterator<Item = &'a MeasurementSchema>) -> Error {
    Error::unknown_name("measurement", name, schemas.map(|s| s.name.as_str()))
}

fn check_type(schema: &MeasurementSchema, values: &Values) -> Result<()> {
    if schema.data_type.physical() == Some(values.physical()) {
        return Ok(());
    }
    let (name, type_name) = (&schema.name, schema.data_type.name());
    Err(Error::invalid(format!("column '{name}' is {type_name}, but {:?} values came", values.physical())))
}

fn write_series(
    series: &mut [SeriesBuffer],
    times: &[i64],
    columns: &[Column<'_>],
    order: Order,
) -> Result<usize> {
    let mut targets = Vec::with_capacity(columns.len());
    for column in columns {
        let found = series.iter().position(|s| s.schema.name == column.name);
        let target = found.ok_or_else(|| unknown(column.name, series.iter().map(|s| &s.schema)))?;
        if let Some(buffer) = series.get(target) {
            check_type(&buffer.schema, column.values)?;
            buffer
                .timeline
                .check(present_times(times, column.present), order)
                .map_err(|e| e.piece(format!("measurement '{}'", column.name)))?;
        }
        targets.push(target);
    }
    let mut bytes = 0;
    for (column, target) in columns.iter().zip(targets) {
        let Some(buffer) = series.get_mut(target) else { continue };
        let before = buffer.values.size() + buffer.timeline.times.len() * 8;
        present_times(times, column.present).for_each(|time| buffer.timeline.push(time));
        buffer.values.append(column.values, column.present.map_or(Rows::All, Rows::Where))?;
        bytes += buffer.values.size() + buffer.timeline.times.len() * 8 - before;
    }
    Ok(bytes)
}

fn present_times<'a>(times: &'a [i64], present: Option<&'a [bool]>) -> impl Iterator<Item = i64> + 'a {
    let keep = move |i: usize| present.is_none_or(|p| p.get(i).copied().unwrap_or(false));
    times.iter().enumerate().filter(move |(i, _)| keep(*i)).map(|(_, time)| *time)
}

impl SeriesBuffer {
    fn job(&mut self) -> Job<'_> {
        if let Some(rows) = self.timeline.sorted_rows() {
            self.timeline.sort(&rows);
            self.values = self.values.pick(&rows);
        }
        Job::Ordinary(&self.schema, &self.timeline.times, &self.values)
    }
}

impl AlignedBuffer {
    fn write(&mut self, times: &[i64], columns: &[Column<'_>], order: Order) -> Result<usize> {
        self.timeline.check(times.iter().copied(), order)?;
        for column in columns {
            let found = self.columns.iter().find(|c| c.schema.name == column.name);
            let target = found.ok_or_else(|| unknown(column.name, self.columns.iter().map(|c| &c.schema)))?;
            check_type(&target.schema, column.values)?;
        }
        for &time in times {
            self.timeline.push(time);
        }
        let mut bytes = times.len() * 8;
        for target in &mut self.columns {
            let before = target.values.size();
            let found = columns.iter().find(|c| c.name == target.schema.name);
            let blank;
            let (values, present) = if let Some(column) = found {
                (column.values, column.present)
            } else {
                blank = (blanks(target.schema.data_type, times.len()), vec![false; times.len()]);
                (&blank.0, Some(blank.1.as_slice()))
            };
            target.values.append(values, Rows::All)?;
            match present {
                Some(present) => target.present.extend_from_slice(present),
                None => target.present.resize(target.present.len() + times.len(), true),
            }
            bytes += target.values.size() - before + times.len();
        }
        Ok(bytes)
    }

    fn jobs(&mut self, setting: &Setting) -> Vec<Job<'_>> {
        if let Some(rows) = self.timeline.sorted_rows() {
            self.timeline.sort(&rows);
            for column in &mut self.columns {
                column.values = column.values.pick(&rows);
                let mut present = Vec::with_capacity(rows.len());
                Rows::At(&rows).copy(&column.present, &mut present);
                column.present = present;
            }
        }
        let times = self.timeline.times.as_slice();
        if times.is_empty() {
            return Vec::new();
        }
        let all: Vec<&Values> = self.columns.iter().map(|c| &c.values).collect();
        let pages: std::sync::Arc<[_]> = chunk::page_ranges(times.len(), setting.pages, &all).into();
        let mut jobs = vec![Job::Times(times, self.compression, pages.clone())];
        let columns = self.columns.iter();
        jobs.extend(columns.map(|c| Job::Values(&c.schema, times, &c.values, &c.present, pages.clone())));
        jobs
    }
}

/// Rows without a value.
pub(super) fn blanks(data_type: DataType, n: usize) -> Values {
    match Values::empty(data_type) {
        Values::Boolean(_) => Values::Boolean(vec![false; n]),
        Values::Int32(_) => Values::Int32(vec![0; n]),
        Values::Int64(_) => Values::Int64(vec![0; n]),
        Values::Float(_) => Values::Float(vec![0.0; n]),
        Values::Double(_) => Values::Double(vec![0.0; n]),
        Values::Binary(_) => Values::Binary((0..n).map(|_| b"").collect()),
    }
}
