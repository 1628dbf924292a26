//! Writing of whole arrays, adding of datasets to a file, and verbatim copies of datasets.

use std::borrow::Cow;
use std::collections::BTreeSet;

use bytes::Bytes;
use tesselle_core::array::{contiguous, read_region};
use tesselle_core::{
    ArrayView, At, DType, Driver, Error, Location, OpenOptions, Region, Result, Span, Summary,
};

use super::encode::{Encoded, Encoder};
use super::spec::{DatasetSpec, FooterSpec, WriterOptions};
use super::writer::Writer;
use crate::container::File;
use crate::meta::geometry::Grid;
use crate::meta::index::Codec;
use crate::meta::metadata::Metadata;
use crate::meta::statistics::ChunkStatistics;

/// Rows of an array are read in parts of about this size.
const WINDOW: u64 = 32 << 20;
/// Windows of an array in memory that are passed on at once.
const BORROWED: u64 = 8;
/// Payloads copied between two cancellation checks at most.
const BATCH: u64 = 256;

impl Writer {
    /// Writes all of an array, regardless of its chunks. An array of `i8` may be written to a dataset of `i16`.
    pub fn put_array(&mut self, id: usize, array: &dyn ArrayView) -> Result<()> {
        let Some(output) = self.datasets.get(id) else {
            return Err(Error::invalid(format!("there is no dataset {id}")));
        };
        let (shape, dtype) = (output.grid.shape.clone(), output.grid.dtype);
        let widened = array.dtype() == DType::I8 && dtype == DType::I16;
        if array.shape() != shape || (array.dtype() != dtype && !widened) {
            return Err(Error::invalid(format!(
                "the array is {} {:?}, dataset '{}' is {} {shape:?}",
                array.dtype().name(),
                array.shape(),
                output.dataset.name,
                dtype.name()
            )));
        }
        let (rows, row_bytes) = match shape.first() {
            Some(rows) if output.grid.bytes > 0 => (*rows, output.grid.bytes / rows),
            _ => return Ok(()),
        };
        let band = output.grid.chunk_shape.first().copied().unwrap_or(1).min(rows);
        let step = band * (WINDOW / (band * row_bytes).max(1)).max(1);
        let driver = self.driver.clone();
        // An array that is already row-major in memory needs no window.
        let borrowed = contiguous(array)?.filter(|bytes| !widened && bytes.len() as u64 == output.grid.bytes);
        let step = if borrowed.is_some() { step.saturating_mul(BORROWED) } else { step };
        let mut window = Vec::new();
        let mut start = 0;
        while start < rows {
            let stop = rows.min(start + step);
            if let Some(bytes) = &borrowed {
                let range = (start * row_bytes) as usize..(stop * row_bytes) as usize;
                self.push_rows(id, bytes.part(range)?)?;
                driver.progress().advance((stop - start) * row_bytes);
                start = stop;
                continue;
            }
            let mut region = Region::whole(&shape);
            if let Some(first) = region.spans.first_mut() {
                *first = Span { start, stop, step: 1 };
            }
            let size = usize::try_from((stop - start) * row_bytes)
                .map_err(|_| Error::limit("a band of chunks exceeds the address space"))?;
            window.resize(if widened { size / 2 } else { size }, 0);
            read_region(array, &region, &mut window, &driver)?;
            if widened {
                let wide: Vec<u8> =
                    window.iter().flat_map(|byte| i16::from(byte.cast_signed()).to_le_bytes()).collect();
                self.push_rows(id, &wide)?;
            } else {
                self.push_rows(id, &window)?;
            }
            start = stop;
        }
        Ok(())
    }

    /// Starts a new state of the file at `location`: all its datasets, copied as stored, and the `added` ones, whose
    /// numbers follow. The old state is visible until [`Writer::finish`]. History and metadata are kept and those of
    /// `options` added; zone maps are maintained if the file has them.
    pub fn append(
        location: &Location,
        added: &[DatasetSpec],
        options: WriterOptions,
        driver: &Driver,
    ) -> Result<Self> {
        let file = File::open(location, &OpenOptions::default())?;
        let catalog = &file.opened.catalog;
        let mut specs = Vec::with_capacity(catalog.datasets.len() + added.len());
        for (id, dataset) in catalog.datasets.iter().enumerate() {
            let grid = file.opened.grid(id)?;
            let codec = file.opened.index()?.datasets.at(id)?.codec;
            specs.push(DatasetSpec {
                name: dataset.name.clone(),
                dtype: grid.dtype,
                shape: dataset.shape.clone(),
                chunk_shape: dataset.chunk_shape.clone(),
                codec,
                level: None,
                budget: catalog.budget,
            });
        }
        let kept = specs.len();
        specs.extend_from_slice(added);
        let WriterOptions { footer, alignment, checksum, .. } = options;
        let footer = merged_footer(&file, footer);
        let mut writer = Self::start(
            location,
            &specs,
            kept,
            WriterOptions { footer, overwrite: true, alignment, checksum },
            driver,
        )?;
        for id in 0..kept {
            writer.copy_dataset(id, &file, id, &Copying::default())?;
        }
        Ok(writer)
    }

    /// Copies the payloads of a dataset as stored, except as stated by `copying`.
    pub(crate) fn copy_dataset(
        &mut self,
        id: usize,
        file: &File,
        source: usize,
        copying: &Copying<'_>,
    ) -> Result<()> {
        let grid = file.opened.grid(source)?;
        let rows = file.opened.index()?.datasets.get(source);
        let mut left = rows.map_or(0, |rows| rows.stored_bytes);
        self.driver.progress().expect(left);
        let mut next = 0;
        while next < grid.chunks {
            self.driver.check_canceled()?;
            let end = self.batch_end(file, source, grid, next);
            let (encoder, driver) = (self.datasets.at(id)?.encoder(), &self.driver);
            let copied = driver
                .try_map(next..end, |linear| copy_chunk(file, source, grid, linear, encoder, copying))?;
            for (chunk, codec, payload, statistics) in copied {
                let encoded = Encoded { codec, payload: Cow::Borrowed(&payload), statistics };
                self.append_encoded(id, &chunk, &encoded)?;
            }
            let stored = |linear| file.opened.chunk_row(source, grid, &grid.chunk_at(linear));
            let sizes = (next..end).filter_map(|linear| stored(linear).ok()).map(|row| row.stored_len);
            let done = sizes.fold(0, u64::saturating_add).min(left);
            self.driver.progress().advance(done);
            left -= done;
            next = end;
        }
        // Rows of the index that no chunk refers to.
        self.driver.progress().advance(left);
        Ok(())
    }

    /// The end of the chunks from `next` on that are copied at once: as many as the memory has room for, at least one.
    fn batch_end(&self, file: &File, source: usize, grid: &Grid, next: u64) -> u64 {
        let room = self.driver.budget().total() / 2;
        let mut taken = 0_u64;
        let fits = |linear: &u64| {
            let row = file.opened.chunk_row(source, grid, &grid.chunk_at(*linear));
            // Stored, and decoded for statistics.
            let bytes = row.map_or(0, |row| row.stored_len.saturating_add(row.raw_len));
            taken = taken.saturating_add(bytes);
            taken <= room
        };
        let end = grid.chunks.min(next.saturating_add(BATCH));
        let count = (next..end).take_while(fits).count() as u64;
        end.min(next + count.max(1))
    }

    /// Copies one chunk as stored.
    pub(super) fn copy_one(&mut self, id: usize, file: &File, source: usize, chunk: &[u64]) -> Result<()> {
        let grid = file.opened.grid(source)?;
        let missing = || Error::internal("a chunk is missing");
        let linear = grid.linear(chunk).ok_or_else(missing)?;
        let encoder = self.datasets.get(id).ok_or_else(missing)?.encoder();
        let (chunk, codec, payload, statistics) =
            copy_chunk(file, source, grid, linear, encoder, &Copying::default())?;
        let encoded = Encoded { codec, payload: Cow::Borrowed(&payload), statistics };
        self.append_encoded(id, &chunk, &encoded)
    }
}

/// Exceptions from a verbatim copy.
#[derive(Debug, Default)]
pub(crate) struct Copying<'a> {
    /// Chunks, by row-major number, whose elements all become `fill`.
    pub(crate) lost: Option<&'a BTreeSet<u64>>,
    /// An element, little-endian.
    pub(crate) fill: &'a [u8],
    /// Whether zstd chunks are compressed again.
    pub(crate) recompress: bool,
}

type Copied = (Vec<u64>, Codec, Bytes, Option<ChunkStatistics>);

fn copy_chunk(
    file: &File,
    source: usize,
    grid: &Grid,
    linear: u64,
    encoder: &Encoder,
    copying: &Copying<'_>,
) -> Result<Copied> {
    let chunk = grid.chunk_at(linear);
    let encode = |chunk: Vec<u64>, codec: Codec, bytes: Vec<u8>| {
        let encoded = Encoder { codec, ..encoder.clone() }.encode(grid, Cow::Owned(bytes))?;
        Ok((chunk, codec, Bytes::from(encoded.payload.into_owned()), encoded.statistics))
    };
    if copying.lost.is_some_and(|lost| lost.contains(&linear)) {
        let filled = copying.fill.repeat(grid.chunk_bytes(&chunk) as usize / copying.fill.len().max(1));
        return encode(chunk, encoder.codec, filled);
    }
    let row = file.opened.chunk_row(source, grid, &chunk)?;
    let payload = file.opened.location.read_range(row.span())?;
    let decode = || {
        let mut decoded = vec![0; row.raw_len as usize];
        file.opened.decode(source, &chunk, &row, &payload, &mut decoded)?;
        Ok::<_, Error>(decoded)
    };
    if copying.recompress && row.codec == Codec::Zstd {
        let decoded = decode()?;
        return encode(chunk, Codec::Zstd, decoded);
    }
    let statistics = encoder
        .statistics
        .then(|| Ok::<_, Error>(ChunkStatistics::of(grid.dtype, encoder.fill.as_deref(), &decode()?)));
    let statistics = statistics.transpose()?;
    Ok((chunk, row.codec, payload, statistics))
}

/// The footer of a file that grows: the existing contents and the added ones.
pub(crate) fn merged_footer(file: &File, added: Option<FooterSpec>) -> Option<FooterSpec> {
    let old = file.opened.catalog.footer.as_ref();
    if old.is_none() && added.is_none() {
        return None;
    }
    let mut footer = FooterSpec {
        history: file.history().to_vec(),
        metadata: file.metadata().cloned(),
        // An unreadable document is not maintained.
        indexes: file.opened.zones().is_some(),
        version: old.map(|footer| footer.tail.version),
    };
    if let Some(added) = added {
        footer.history.extend(added.history);
        footer.indexes |= added.indexes;
        if let Some(metadata) = added.metadata {
            let merged = footer.metadata.get_or_insert_with(Metadata::default);
            merged.datasets.extend(metadata.datasets);
            merged.file = metadata.file.or(merged.file.take());
        }
    }
    Some(footer)
}

/// Writes one array as a separate file.
pub fn write_array(
    location: &Location,
    spec: &DatasetSpec,
    array: &dyn ArrayView,
    options: WriterOptions,
    driver: &Driver,
) -> Result<Summary> {
    let mut writer = Writer::create(location, std::slice::from_ref(spec), options, driver)?;
    writer.put_array(0, array)?;
    writer.finish()
}
