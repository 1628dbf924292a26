//! Buffers of the points of a device: points wait for a full page, pages wait for the flush.

mod aligned;
mod ordinary;
mod timeline;

use std::collections::HashMap;
use std::ops::Range;

use aligned::AlignedBuffer;
use ordinary::SeriesBuffer;
use tesselle_core::{Driver, Error, Result, Within};

use super::chunk::{EncodedChunk, Pages, Setting};
use super::encode::LOSSY;
use super::page::PageJob;
use super::resume::ROWS;
use super::values::{Slice, Values};
use super::writer_options::Order;
use crate::meta::schema::MeasurementSchema;
use crate::meta::{ChunkHeader, Compression, DataType, Encoding};

/// One column of a write: values by row, and which rows have one.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The measurement.
    pub name: &'a str,
    /// One value per row.
    pub values: &'a Values,
    /// Non-null rows; `None` means all.
    pub present: Option<&'a [bool]>,
}

/// One column of a write, borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    /// The measurement.
    pub(crate) name: &'a str,
    /// One value per row.
    pub(crate) values: Slice<'a>,
    /// Non-null rows; `None` means all.
    pub(crate) present: Option<&'a [bool]>,
}

impl<'a> From<&Column<'a>> for Input<'a> {
    fn from(column: &Column<'a>) -> Self {
        Self { name: column.name, values: column.values.as_slice(), present: column.present }
    }
}

impl<'a> Input<'a> {
    /// A range of its rows.
    pub(crate) fn range(self, rows: Range<usize>) -> Self {
        let present = self.present.map(|mask| mask.within(rows.clone()));
        Self { name: self.name, values: self.values.range(rows), present }
    }

    /// The times at which there is a value.
    fn present_times(self, times: &'a [i64]) -> impl Iterator<Item = i64> + 'a {
        let keep = move |i: usize| self.present.is_none_or(|p| p.value(i));
        times.iter().enumerate().filter(move |(i, _)| keep(*i)).map(|(_, time)| *time)
    }
}

/// How pages are encoded, and on which threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encoder<'a> {
    pub(crate) setting: &'a Setting,
    pub(crate) driver: &'a Driver,
}

impl Encoder<'_> {
    /// Whether this many rows of these columns may fill a page; determined without visiting each row.
    fn may_close(&self, rows: usize, columns: &[Slice<'_>]) -> bool {
        let limits = self.setting.pages;
        rows >= limits.points
            || rows.saturating_mul(8) >= limits.bytes
            || columns.iter().any(|column| column.size() >= limits.bytes)
    }
}

/// The points of one device.
#[derive(Debug)]
pub(crate) enum DeviceBuffer {
    /// Each series has times of its own.
    Ordinary(Vec<SeriesBuffer>),
    /// All series share the times.
    Aligned(Box<AlignedBuffer>),
}

impl DeviceBuffer {
    pub(crate) fn new(aligned: bool, schemas: Vec<MeasurementSchema>, compression: Compression) -> Self {
        if aligned {
            return Self::Aligned(Box::new(AlignedBuffer::new(schemas, compression)));
        }
        Self::Ordinary(schemas.into_iter().map(SeriesBuffer::new).collect())
    }

    /// Goes on after the last times of a file, by series; those of an aligned device are under the empty name.
    pub(crate) fn resume_after(&mut self, last: &HashMap<String, i64>) {
        match self {
            Self::Ordinary(list) => {
                for series in list {
                    if let Some(time) = last.get(&series.schema.name) {
                        series.resume_after(*time);
                    }
                }
            }
            Self::Aligned(buffer) => {
                if let Some(time) = last.get(ROWS) {
                    buffer.resume_after(*time);
                }
            }
        }
    }

    /// Whether its series share their times.
    pub(crate) fn is_aligned(&self) -> bool {
        matches!(self, Self::Aligned(_))
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
            return Err(Error::invalid(format!(
                "series '{}' cannot be added to an aligned device",
                schema.name
            )));
        };
        series.push(SeriesBuffer::new(schema));
        Ok(())
    }

    /// Adds rows; adds none of them on an error. Returns their size in bytes.
    pub(crate) fn write(
        &mut self,
        times: &[i64],
        columns: &[Input<'_>],
        order: Order,
        encoder: &Encoder<'_>,
    ) -> Result<usize> {
        for column in columns {
            let rows = column.present.map_or(times.len(), <[bool]>::len);
            if column.values.len() != times.len() || rows != times.len() {
                let message = format!(
                    "column '{}' has {} rows for {} times",
                    column.name,
                    column.values.len(),
                    times.len()
                );
                return Err(Error::invalid(message));
            }
        }
        match self {
            Self::Ordinary(series) => ordinary::write(series, times, columns, order, encoder),
            Self::Aligned(buffer) => buffer.write(times, columns, order, encoder),
        }
    }

    /// Whether nothing is buffered.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Ordinary(series) => series.iter().all(SeriesBuffer::is_empty),
            Self::Aligned(buffer) => buffer.is_empty(),
        }
    }

    /// Sorts the buffered points if needed; returns the number of points (of an aligned device rows) replaced
    /// by later ones at the same time.
    pub(crate) fn settle(&mut self) -> u64 {
        match self {
            Self::Ordinary(series) => series.iter_mut().map(SeriesBuffer::settle).sum(),
            Self::Aligned(buffer) => buffer.settle(),
        }
    }

    /// The chunks to write; each is finished on its own. Requires [`DeviceBuffer::settle`].
    pub(crate) fn chunks(&self, encoder: &Encoder<'_>) -> Result<Vec<ChunkJob<'_>>> {
        match self {
            Self::Ordinary(series) => {
                series.iter().filter(|s| !s.is_empty()).map(|series| series.chunk(encoder)).collect()
            }
            Self::Aligned(buffer) => buffer.chunks(encoder),
        }
    }

    /// Drops what has been written, and frees its memory: the next points may belong to another device.
    pub(crate) fn flushed(&mut self) {
        match self {
            Self::Ordinary(series) => {
                series.iter_mut().filter(|s| !s.is_empty()).for_each(SeriesBuffer::flushed);
            }
            Self::Aligned(buffer) => buffer.flushed(),
        }
    }
}

/// An unfinished chunk.
#[derive(Debug)]
pub(crate) struct ChunkJob<'a> {
    /// Encoded pages.
    pages: &'a Pages,
    /// Pages still to be encoded.
    rest: Vec<PageJob<'a>>,
    header: ChunkHeader,
}

impl ChunkJob<'_> {
    /// Encodes the rest and joins all pages.
    pub(crate) fn run(&self, setting: &Setting) -> Result<EncodedChunk> {
        let pages =
            |jobs: &[PageJob<'_>]| jobs.iter().map(|job| job.run(setting)).collect::<Result<Vec<_>>>();
        let rest = match pages(&self.rest) {
            Err(error) if setting.fallback && error.class_name() == LOSSY && self.pages.is_empty() => {
                return self.run_as(Encoding::default_for(self.header.data_type, setting.version), setting);
            }
            rest => rest?,
        };
        self.pages.chunk(&rest, self.header.clone(), setting.version)
    }

    /// Encodes all pages in another encoding.
    fn run_as(&self, encoding: Encoding, setting: &Setting) -> Result<EncodedChunk> {
        let rest = self.rest.iter().map(|job| job.encoded_as(encoding).run(setting));
        let rest = rest.collect::<Result<Vec<_>>>()?;
        let header = ChunkHeader { encoding, ..self.header.clone() };
        let chunk = self.pages.chunk(&rest, header, setting.version)?;
        Ok(EncodedChunk { refused: Some(self.header.encoding), ..chunk })
    }
}

fn unknown<'a>(name: &str, schemas: impl Iterator<Item = &'a MeasurementSchema>) -> Error {
    Error::unknown_name("measurement", name, schemas.map(|s| s.name.as_str()))
}

fn check_type(schema: &MeasurementSchema, values: Slice<'_>) -> Result<()> {
    if schema.data_type.physical() == Some(values.physical()) {
        return Ok(());
    }
    let (name, type_name) = (&schema.name, schema.data_type.name());
    Err(Error::invalid(format!("column '{name}' is {type_name}, got {:?} values", values.physical())))
}

/// Number of rows without a value.
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
