//! Writing whole arrays, adding datasets to a file, and writing a file anew with other tiles.

use std::borrow::Cow;

use rayon::prelude::*;
use tesselle_core::array::{contiguous, read_region};
use tesselle_core::{ArrayView, DType, Driver, Error, Location, OpenOptions, Region, Result, Span, Summary};

use super::encode::Encoded;
use super::spec::{DatasetSpec, FooterSpec, WriterOptions};
use super::writer::Writer;
use crate::meta::index::Codec;
use crate::meta::metadata::Metadata;
use crate::read::{File, decode_into};
use crate::statistics::TileStatistics;

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
        let footer = merged_footer(&file, options.footer);
        let mut writer = Self::start(
            location,
            &specs,
            kept,
            WriterOptions { footer, overwrite: true, alignment: options.alignment },
            driver,
        )?;
        for id in 0..kept {
            writer.copy_dataset(id, &file, id)?;
        }
        Ok(writer)
    }

    /// Copies the payloads of a dataset as they are stored.
    pub(crate) fn copy_dataset(&mut self, id: usize, file: &File, source: usize) -> Result<()> {
        let grid = file.opened.grid(source)?;
        let mut next = 0;
        while next < grid.tiles {
            self.driver.check_canceled()?;
            let end = grid.tiles.min(next + BATCH);
            let Some(output) = self.datasets.get(id) else { break };
            let (encoder, driver) = (output.encoder(), &self.driver);
            let copied = driver.install(|| {
                (next..end)
                    .into_par_iter()
                    .map(|linear| {
                        let tile = grid.tile_at(linear);
                        let row = file.opened.tile_row(source, grid, &tile)?;
                        let payload = file.opened.location.read_range(row.span())?;
                        let statistics = encoder.statistics.then(|| {
                            let mut decoded = vec![0; row.raw_len as usize];
                            decode_into(&row, &payload, &mut decoded)?;
                            Ok::<_, Error>(TileStatistics::of(grid.dtype, encoder.fill.as_deref(), &decoded))
                        });
                        Ok((tile, row.codec, payload, statistics.transpose()?))
                    })
                    .collect::<Result<Vec<_>>>()
            })?;
            for (tile, codec, payload, statistics) in copied {
                let encoded = Encoded { codec, payload: Cow::Borrowed(&payload), statistics };
                self.append_encoded(id, &tile, &encoded)?;
            }
            next = end;
        }
        Ok(())
    }
}

/// The footer of a file that grows: what it has, and what is added.
fn merged_footer(file: &File, added: Option<FooterSpec>) -> Option<FooterSpec> {
    let old = file.opened.catalog.footer.as_ref();
    if old.is_none() && added.is_none() {
        return None;
    }
    let mut footer = FooterSpec {
        history: file.history().to_vec(),
        metadata: file.metadata().cloned(),
        indexes: old
            .is_some_and(|footer| footer.document.zone_maps_ref.is_some() && footer.tail.version >= 2),
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

/// How a file is written anew.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RewriteOptions {
    /// The nominal tile of every dataset of this rank; others, and all when absent, keep theirs.
    pub chunk_shape: Option<Vec<u64>>,
    /// The codec of all tiles; when absent, payloads are copied as far as the tiles stay.
    pub codec: Option<Codec>,
    /// The zstd level.
    pub level: Option<i32>,
    /// Alignment and footer; without a footer, that of the source is kept.
    pub writer: WriterOptions,
}

/// Writes all datasets of `source` to `target`, which may be the same file.
pub fn rewrite(
    source: &File,
    target: &Location,
    options: RewriteOptions,
    driver: &Driver,
) -> Result<Summary> {
    let catalog = &source.opened.catalog;
    let mut specs = Vec::with_capacity(catalog.datasets.len());
    for (id, dataset) in catalog.datasets.iter().enumerate() {
        let grid = source.opened.grid(id)?;
        let stored = catalog.index.datasets.get(id).map_or(Codec::Raw, |rows| rows.codec);
        let chunk_shape = options.chunk_shape.clone().filter(|chunk| chunk.len() == grid.rank());
        specs.push(DatasetSpec {
            name: dataset.name.clone(),
            dtype: grid.dtype,
            shape: dataset.shape.clone(),
            chunk_shape: chunk_shape.unwrap_or_else(|| dataset.chunk_shape.clone()),
            codec: options.codec.unwrap_or(stored),
            level: options.level,
            budget: catalog.budget,
        });
    }
    let mut settings = options.writer;
    settings.footer = settings.footer.or_else(|| merged_footer(source, None));
    target.refuse_existing(settings.overwrite)?;
    let mut writer = Writer::start(target, &specs, specs.len(), settings, driver)?;
    for id in writer.order.clone() {
        let same_tiles =
            catalog.datasets.get(id).zip(specs.get(id)).is_some_and(|(d, s)| d.chunk_shape == s.chunk_shape);
        if same_tiles && options.codec.is_none() {
            writer.copy_dataset(id, source, id)?;
        } else {
            let array = source.array(id)?;
            writer.put_array(id, &*array)?;
        }
    }
    writer.finish()
}
