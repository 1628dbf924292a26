//! The streaming writer: datasets are declared first, chunks or rows follow.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use tesselle_core::driver::parallel;
use tesselle_core::storage::Staged;
use tesselle_core::{At, Driver, Error, Location, Result};

use super::bands::{Bands, EncodedChunk};
use super::encode::{Encoded, Encoder};
use super::spec::{Alignment, DatasetSpec, FooterSpec, WriterOptions};
use crate::meta::align8;
use crate::meta::directory::{self, BLOB_OFFSET, Dataset};
use crate::meta::geometry::Grid;
use crate::meta::index::{self, Codec, Header, MemoryBudget};
use crate::meta::limits;
use crate::meta::statistics::DatasetStatistics;
use crate::meta::superblock::Superblock;

/// Rows are buffered up to this size before chunks are cut, so that several are encoded at once.
const GATHER: usize = 16 << 20;
/// Bytes of chunks that are encoded while those before them are written.
const GROUP: u64 = 16 << 20;

/// Writes one file. Nothing is visible before [`Writer::finish`], and nothing is left behind without it.
pub struct Writer {
    pub(super) staged: Box<dyn Staged>,
    pub(super) driver: Driver,
    pub(super) superblock: Superblock,
    pub(super) budget: MemoryBudget,
    pub(super) datasets: Vec<Output>,
    /// The datasets in the order of their index rows.
    pub(crate) order: Vec<usize>,
    alignment: Alignment,
    pub(super) footer: Option<FooterSpec>,
    /// Buffers of raw chunks that are written.
    spare: Vec<Vec<u8>>,
}

/// One staged dataset.
pub(super) struct Output {
    pub(super) dataset: Dataset,
    pub(super) grid: Grid,
    encoder: Encoder,
    /// By row-major chunk number.
    pub(super) slots: Vec<Option<Slot>>,
    pub(super) statistics: Option<DatasetStatistics>,
    /// Rows that no chunk has been cut from yet.
    rows: Vec<u8>,
    /// The next band of chunks that rows fill.
    band: u64,
}

/// Where a payload went.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) offset: u64,
    pub(super) stored_len: u64,
    pub(super) codec: Codec,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("datasets", &self.datasets.len()).finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts a file with these datasets; an empty list creates an empty file.
    pub fn create(
        location: &Location,
        datasets: &[DatasetSpec],
        options: WriterOptions,
        driver: &Driver,
    ) -> Result<Self> {
        location.refuse_existing(options.overwrite)?;
        Self::start(location, datasets, 0, options, driver)
    }

    /// Like [`Writer::create`], but the first `kept` names come from a file and may repeat.
    pub(crate) fn start(
        location: &Location,
        specs: &[DatasetSpec],
        kept: usize,
        options: WriterOptions,
        driver: &Driver,
    ) -> Result<Self> {
        for (i, spec) in specs.iter().enumerate().skip(kept) {
            if specs.iter().take(i).any(|other| other.name == spec.name) {
                return Err(Error::invalid(format!("dataset '{}' already exists", spec.name)));
            }
        }
        if let Some(footer) = &options.footer {
            check_footer(footer)?;
        }
        let outputs = specs.iter().map(|spec| Output::try_new(spec, &options));
        let outputs = outputs.collect::<Result<Vec<_>>>()?;
        let mut order: Vec<usize> = (0..outputs.len()).collect();
        if options.alignment == Alignment::Sorted {
            order.sort_by_key(|id| outputs.get(*id).map(Output::alignment_rank));
        }
        let mut writer = Self {
            staged: location.create(true)?,
            driver: driver.clone(),
            superblock: Superblock {
                dataset_count: 0,
                flags: 0,
                chunk_index_offset: 32,
                chunk_index_length: 0,
            },
            budget: specs.first().map_or_else(MemoryBudget::default, |spec| spec.budget),
            datasets: outputs,
            order,
            alignment: options.alignment,
            footer: options.footer,
            spare: Vec::new(),
        };
        writer.front()?;
        Ok(writer)
    }

    /// Writes everything before the payloads; the index rows are written at the end.
    fn front(&mut self) -> Result<()> {
        if self.datasets.is_empty() {
            return self.staged.write(&self.superblock.to_bytes());
        }
        let too_many = || Error::invalid("there are too many datasets or chunks for one file");
        let records: Vec<Dataset> = self.datasets.iter().map(|output| output.dataset.clone()).collect();
        let blob = directory::write(&records);
        let rows = self.rows().ok_or_else(too_many)?;
        let start = align8(BLOB_OFFSET + blob.len() as u64).ok_or_else(too_many)?;
        self.superblock = Superblock {
            dataset_count: u32::try_from(records.len()).map_err(|_| too_many())?,
            flags: 0,
            chunk_index_offset: start,
            chunk_index_length: index::region_length(rows).ok_or_else(too_many)?,
        };
        self.staged.write(&self.superblock.to_bytes())?;
        self.staged.write(&(blob.len() as u64).to_le_bytes())?;
        self.staged.write(&blob)?;
        self.staged.write(&Header { entry_count: rows, budget: self.budget }.to_bytes())?;
        self.zeros(self.superblock.chunk_index_length - Header::LEN as u64)
    }

    /// Index rows of the whole file.
    pub(super) fn rows(&self) -> Option<u64> {
        self.datasets.iter().try_fold(0_u64, |n, output| n.checked_add(output.grid.chunks))
    }

    fn zeros(&mut self, mut n: u64) -> Result<()> {
        let zeros = [0; 8192];
        while n > 0 {
            let part = n.min(zeros.len() as u64);
            self.staged.write(zeros.part(..part as usize)?)?;
            n -= part;
        }
        Ok(())
    }

    fn output(&self, id: usize) -> Result<&Output> {
        self.datasets.get(id).ok_or_else(|| Error::invalid(format!("there is no dataset {id}")))
    }

    fn output_mut(&mut self, id: usize) -> Result<&mut Output> {
        self.datasets.get_mut(id).ok_or_else(|| Error::internal("a dataset is missing"))
    }

    /// Writes one chunk: the clipped box in row-major order, little-endian. Chunks may come in any order; payloads are
    /// stored in that order.
    pub fn put_chunk(&mut self, id: usize, chunk: &[u64], bytes: &[u8]) -> Result<()> {
        let output = self.output(id)?;
        let expected = output.grid.chunk_bytes(chunk);
        if chunk.len() != output.grid.rank() || expected != bytes.len() as u64 || expected == 0 {
            return Err(Error::invalid(format!(
                "chunk {chunk:?} has {expected} bytes, but {} were given",
                bytes.len()
            ))
            .piece(format!("dataset '{}'", output.dataset.name)));
        }
        let encoded = output.encoder.encode(&output.grid, Cow::Borrowed(bytes))?;
        self.append_encoded(id, chunk, &encoded)
    }

    /// Appends an encoded chunk and records its position.
    pub(super) fn append_encoded(&mut self, id: usize, chunk: &[u64], encoded: &Encoded<'_>) -> Result<()> {
        self.append_parts(id, chunk, encoded.codec, &[&encoded.payload])?;
        let output = self.output_mut(id)?;
        if let (Some(all), Some(statistics)) = (&mut output.statistics, &encoded.statistics)
            && let Some(linear) = output.grid.linear(chunk)
        {
            all.add(linear, statistics.clone());
        }
        Ok(())
    }

    /// Appends the payload of a chunk, in parts, and records its position.
    fn append_parts(&mut self, id: usize, chunk: &[u64], codec: Codec, parts: &[&[u8]]) -> Result<()> {
        let output = self.output(id)?;
        let linear = output
            .grid
            .linear(chunk)
            .ok_or_else(|| Error::invalid(format!("there is no chunk {chunk:?}")))?;
        let size = output.grid.dtype.size() as u64;
        if output.slot(linear).is_some() {
            return Err(Error::invalid(format!(
                "chunk {chunk:?} of '{}' is given twice",
                output.dataset.name
            )));
        }
        if self.alignment != Alignment::Packed && codec == Codec::Raw {
            let at = self.staged.position();
            self.zeros(at.next_multiple_of(size) - at)?;
        }
        let slot = Slot {
            offset: self.staged.position(),
            stored_len: parts.iter().map(|part| part.len() as u64).sum(),
            codec,
        };
        self.staged.write_parts(parts)?;
        let output = self.output_mut(id)?;
        if let Some(place) = usize::try_from(linear).ok().and_then(|linear| output.slots.get_mut(linear)) {
            *place = Some(slot);
        }
        Ok(())
    }

    /// Takes the next bytes of a dataset in row-major order, in parts of any size. Chunks are cut, encoded in parallel
    /// and written as soon as a band of them is complete, so memory depends on the band, not on the tensor.
    pub fn push_rows(&mut self, id: usize, bytes: &[u8]) -> Result<()> {
        let output = self.output(id)?;
        let left = output.bytes_left();
        if bytes.len() as u64 > left {
            return Err(Error::invalid(format!(
                "{} more bytes were given, but '{}' has room for {left}",
                bytes.len(),
                output.dataset.name
            )));
        }
        let gather = output.gather_bytes()?;
        let mut bytes = bytes;
        if !output.rows.is_empty() {
            let missing = gather - output.rows.len();
            let (now, later) = bytes.split_at(missing.min(bytes.len()));
            let Some(output) = self.datasets.get_mut(id) else { return Ok(()) };
            output.rows.extend_from_slice(now);
            bytes = later;
            if output.rows.len() == gather || output.bytes_left() == 0 {
                let rows = std::mem::take(&mut output.rows);
                self.write_bands(id, &rows)?;
                // The buffer is worth keeping.
                if let Some(output) = self.datasets.get_mut(id) {
                    output.rows = rows;
                    output.rows.clear();
                }
            }
        }
        // Complete bands are cut in place, without a copy.
        let output = self.output(id)?;
        let ends = output.bytes_left() == bytes.len() as u64;
        let band = output.band_bytes()?;
        let whole = match bytes.len() {
            all if ends => all,
            few if few < gather => 0,
            many => many / band.max(1) * band,
        };
        let (now, later) = bytes.split_at(whole);
        if !now.is_empty() {
            self.write_bands(id, now)?;
        }
        if let Some(output) = self.datasets.get_mut(id) {
            output.rows.extend_from_slice(later);
        }
        Ok(())
    }

    /// Cuts and writes whole bands (the last one may be short): some chunks are written while the next are encoded.
    fn write_bands(&mut self, id: usize, rows: &[u8]) -> Result<()> {
        let output = self.output(id)?;
        let bands = Bands {
            grid: output.grid.clone(),
            encoder: output.encoder().clone(),
            rows,
            band_bytes: output.band_bytes()?.max(1),
            first: output.band,
            per_band: output.grid.counts.iter().skip(1).product::<u64>(),
            spare: Mutex::new(std::mem::take(&mut self.spare)),
        };
        let count = rows.len().div_ceil(bands.band_bytes) as u64;
        let driver = self.driver.clone();
        let chunk = bands.grid.chunk_bytes(&vec![0; bands.grid.rank()]).max(1);
        let threads = driver.threads() as u64;
        let group = (GROUP / chunk).clamp(threads * 2, threads * 64);
        driver.install(|| {
            let (mut next, mut pending) = (0, Vec::new());
            if bands.are_parts()? {
                next = count * bands.per_band;
                for number in 0..next {
                    driver.check_canceled()?;
                    let (chunk, parts) = bands.parts(number)?;
                    self.append_parts(id, &chunk, Codec::Raw, &parts)?;
                }
            }
            while next < count * bands.per_band || !pending.is_empty() {
                driver.check_canceled()?;
                let end = (next + group).min(count * bands.per_band);
                let (written, encoded) = parallel::join(
                    || self.append_group(id, std::mem::take(&mut pending), &bands),
                    || bands.encode(next..end),
                );
                written?;
                (pending, next) = (encoded?, end);
            }
            Ok::<_, Error>(())
        })?;
        self.spare = bands.spare.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(output) = self.datasets.get_mut(id) {
            output.band += count;
        }
        Ok(())
    }

    fn append_group(&mut self, id: usize, group: Vec<EncodedChunk<'_>>, bands: &Bands<'_>) -> Result<()> {
        for (chunk, encoded) in group {
            self.append_encoded(id, &chunk, &encoded)?;
            if let (Codec::Raw, Cow::Owned(buffer)) = (encoded.codec, encoded.payload) {
                bands.spare().push(buffer);
            }
        }
        Ok(())
    }
}

fn check_footer(footer: &FooterSpec) -> Result<()> {
    let checks = [
        footer.metadata.as_ref().map_or(Ok(()), limits::check_metadata),
        limits::check_history(&footer.history),
    ];
    checks.into_iter().try_for_each(|check| check.map_err(|error| Error::invalid(error.message().to_owned())))
}

impl Output {
    fn try_new(spec: &DatasetSpec, options: &WriterOptions) -> Result<Self> {
        let (dataset, grid) = spec.check()?;
        let footer = options.footer.as_ref();
        let metadata = footer.and_then(|footer| footer.metadata.as_ref()?.datasets.get(&spec.name));
        let statistics = footer.is_some_and(|footer| footer.indexes);
        let encoder = Encoder {
            codec: spec.codec,
            level: spec.level,
            checksum: options.checksum,
            fill: metadata.and_then(|metadata| metadata.fill(grid.dtype)),
            statistics,
        };
        let chunks = usize::try_from(grid.chunks).map_err(|_| Error::limit("there are too many chunks"))?;
        let mut slots = Vec::new();
        slots.try_reserve_exact(chunks).map_err(|_| {
            Error::limit(format!("an index of {chunks} chunks does not fit into memory"))
                .hint("use larger chunks")
        })?;
        slots.resize(chunks, None);
        let statistics = statistics.then(DatasetStatistics::new);
        Ok(Self { dataset, grid, encoder, slots, statistics, rows: Vec::new(), band: 0 })
    }

    pub(super) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Raw datasets first, large elements before small ones, then compressed ones.
    fn alignment_rank(&self) -> (bool, std::cmp::Reverse<usize>) {
        match self.encoder.codec {
            Codec::Raw => (false, std::cmp::Reverse(self.grid.dtype.size())),
            Codec::Zstd => (true, std::cmp::Reverse(0)),
        }
    }

    fn slot(&self, linear: u64) -> Option<Slot> {
        usize::try_from(linear).ok().and_then(|linear| self.slots.get(linear)).copied().flatten()
    }

    /// Bytes of a band of chunks along the first axis.
    fn band_bytes(&self) -> Result<usize> {
        let first =
            self.grid.shape.first().zip(self.grid.chunk_shape.first()).map_or(1, |(n, chunk)| *n.min(chunk));
        let row = self.grid.bytes.checked_div(self.grid.shape.first().copied().unwrap_or(1)).unwrap_or(0);
        usize::try_from(first * row).map_err(|_| Error::limit("a band of chunks exceeds the address space"))
    }

    /// Bytes buffered before chunks are cut: one band, or as many as are worthwhile.
    fn gather_bytes(&self) -> Result<usize> {
        let band = self.band_bytes()?.max(1);
        Ok(band * (GATHER / band).max(1))
    }

    /// Bytes of the tensor that are still expected as rows.
    fn bytes_left(&self) -> u64 {
        let row = self.grid.bytes.checked_div(self.grid.shape.first().copied().unwrap_or(1)).unwrap_or(0);
        let done =
            self.band.saturating_mul(self.grid.chunk_shape.first().copied().unwrap_or(1)).saturating_mul(row);
        self.grid.bytes.saturating_sub(done).saturating_sub(self.rows.len() as u64)
    }
}
