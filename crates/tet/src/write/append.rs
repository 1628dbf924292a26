//! Writing whole arrays, adding datasets to a file, and copying datasets as they are stored.

use std::borrow::Cow;
use std::collections::BTreeSet;

use bytes::Bytes;
use tesselle_core::array::{contiguous, read_region};
use tesselle_core::{ArrayView, DType, Driver, Error, Location, OpenOptions, Region, Result, Span, Summary};

use super::encode::{Encoded, Encoder};
use super::spec::{DatasetSpec, FooterSpec, WriterOptions};
use super::writer::Writer;
use crate::container::File;
use crate::meta::geometry::Grid;
use crate::meta::index::Codec;
use crate::meta::metadata::Metadata;
use crate::meta::statistics::TileStatistics;

/// Rows of an array are read in parts of about this size.
const WINDOW: u64 = 32 << 20;
/// Payloads that are copied between two looks at the clock.
const BATCH: u64 = 256;

impl Writer {
    /// Writes all of an array, whatever its own tiles are. An array of `i8` may go into a dataset of `i16`.
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
        // What is in memory row by row already needs no window.
        let lent = contiguous(array)?.filter(|bytes| !widened && bytes.len() as u64 == output.grid.bytes);
        let mut window = Vec::new();
        let mut start = 0;
        while start < rows {
            let stop = rows.min(start + step);
            if let Some(bytes) = &lent {
                let range = (start * row_bytes) as usize..(stop * row_bytes) as usize;
                self.push_rows(id, bytes.get(range).unwrap_or_default())?;
                start = stop;
                continue;
            }
            let mut region = Region::whole(&shape);
            if let Some(first) = region.spans.first_mut() {
                *first = Span { start, stop, step: 1 };
            }
            let size = usize::try_from((stop - start) * row_bytes)
                .map_err(|_| Error::limit("a band of tiles exceeds the address space"))?;
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

    /// Starts a new state of the file at `location`: all its datasets, copied as they are stored, and `added` ones,
    /// whose numbers follow. Until [`Writer::finish`] the old state stays. History and metadata are kept and those of
    /// `options` added; zone maps are kept up where the file has them.
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
            let codec = catalog.index.datasets.get(id).map_or(Codec::Raw, |rows| rows.codec);
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

    /// Copies the payloads of a dataset as they are stored, except where `copying` says otherwise.
    pub(crate) fn copy_dataset(
        &mut self,
        id: usize,
        file: &File,
        source: usize,
        copying: &Copying<'_>,
    ) -> Result<()> {
        let grid = file.opened.grid(source)?;
        let mut next = 0;
        while next < grid.tiles {
            self.driver.check_canceled()?;
            let end = grid.tiles.min(next + BATCH);
            let Some(output) = self.datasets.get(id) else { break };
            let (encoder, driver) = (output.encoder(), &self.driver);
            let copied = driver
                .try_map(next..end, |linear| copy_tile(file, source, grid, linear, encoder, copying))?;
            for (tile, codec, payload, statistics) in copied {
                let encoded = Encoded { codec, payload: Cow::Borrowed(&payload), statistics };
                self.append_encoded(id, &tile, &encoded)?;
            }
            next = end;
        }
        Ok(())
    }
    /// Copies one tile as it is stored.
    pub(super) fn copy_one(&mut self, id: usize, file: &File, source: usize, tile: &[u64]) -> Result<()> {
        let grid = file.opened.grid(source)?;
        let missing = || Error::internal("a tile is not there");
        let linear = grid.linear(tile).ok_or_else(missing)?;
        let encoder = self.datasets.get(id).ok_or_else(missing)?.encoder();
        let (tile, codec, payload, statistics) =
            copy_tile(file, source, grid, linear, encoder, &Copying::default())?;
        let encoded = Encoded { codec, payload: Cow::Borrowed(&payload), statistics };
        self.append_encoded(id, &tile, &encoded)
    }
}

/// What is not copied as it is stored.
#[derive(Debug, Default)]
pub(crate) struct Copying<'a> {
    /// Tiles, by row-major number, every element of which becomes `fill`.
    pub(crate) lost: Option<&'a BTreeSet<u64>>,
    /// An element, little-endian.
    pub(crate) fill: &'a [u8],
    /// Whether zstd tiles are compressed again.
    pub(crate) recompress: bool,
}

type Copied = (Vec<u64>, Codec, Bytes, Option<TileStatistics>);

fn copy_tile(
    file: &File,
    source: usize,
    grid: &Grid,
    linear: u64,
    encoder: &Encoder,
    copying: &Copying<'_>,
) -> Result<Copied> {
    let tile = grid.tile_at(linear);
    let encode = |tile: Vec<u64>, codec: Codec, bytes: Vec<u8>| {
        let encoded = Encoder { codec, ..encoder.clone() }.encode(grid, Cow::Owned(bytes))?;
        Ok((tile, codec, Bytes::from(encoded.payload.into_owned()), encoded.statistics))
    };
    if copying.lost.is_some_and(|lost| lost.contains(&linear)) {
        let filled = copying.fill.repeat(grid.tile_bytes(&tile) as usize / copying.fill.len().max(1));
        return encode(tile, encoder.codec, filled);
    }
    let row = file.opened.tile_row(source, grid, &tile)?;
    let payload = file.opened.location.read_range(row.span())?;
    let decode = || {
        let mut decoded = vec![0; row.raw_len as usize];
        file.opened.decode(source, &tile, &row, &payload, &mut decoded)?;
        Ok::<_, Error>(decoded)
    };
    if copying.recompress && row.codec == Codec::Zstd {
        let decoded = decode()?;
        return encode(tile, Codec::Zstd, decoded);
    }
    let statistics = encoder
        .statistics
        .then(|| Ok::<_, Error>(TileStatistics::of(grid.dtype, encoder.fill.as_deref(), &decode()?)));
    let statistics = statistics.transpose()?;
    Ok((tile, row.codec, payload, statistics))
}

/// The footer of a file that grows: what it has, and what is added.
pub(super) fn merged_footer(file: &File, added: Option<FooterSpec>) -> Option<FooterSpec> {
    let old = file.opened.catalog.footer.as_ref();
    if old.is_none() && added.is_none() {
        return None;
    }
    let mut footer = FooterSpec {
        history: file.history().to_vec(),
        metadata: file.metadata().cloned(),
        // A document that cannot be read is not worth keeping up.
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

/// Writes one array as a file of its own.
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
