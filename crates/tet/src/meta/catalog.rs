//! Everything `open` reads and checks: superblock, directory, index (the header of a large one) and footer, in the order
//! of the original engine, so that a file that violates several rules fails with the same error.

use std::ops::Range;

use bytes::Bytes;
use tesselle_core::{Action, Context, Error, Limits, Location, Result};

use super::align8;
use super::directory::{self, BLOB_OFFSET, Dataset};
use super::footer::{Document, Tail};
use super::geometry::Grid;
use super::index::{Header, Index, MemoryBudget};
use super::limits;
use super::metadata::Metadata;
use super::rows::Rows;
use super::superblock::Superblock;

/// Bytes fetched from either end before anything is known; most files need no further request.
const WINDOW: u64 = 64 << 10;
/// Bytes of index rows that are read at once; those of a larger index are read as they are needed.
const SMALL_INDEX: u64 = 1 << 20;

/// The checked metadata of a file.
#[derive(Debug)]
pub(crate) struct Catalog {
    pub(crate) file_len: u64,
    pub(crate) superblock: Superblock,
    pub(crate) datasets: Vec<Dataset>,
    /// The geometry of each dataset, or why its data cannot be read.
    pub(crate) grids: Vec<Result<Grid>>,
    pub(crate) budget: MemoryBudget,
    pub(crate) rows: Rows,
    /// Payloads are below this offset.
    pub(crate) payload_end: u64,
    pub(crate) footer: Option<StoredFooter>,
}

/// The footer of a file.
#[derive(Debug)]
pub(crate) struct StoredFooter {
    pub(crate) tail: Tail,
    pub(crate) document: Document,
    /// The effective metadata: spilled, else inline.
    pub(crate) metadata: Option<Metadata>,
}

/// The structures before the payloads.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) superblock: Superblock,
    pub(crate) datasets: Vec<Dataset>,
    pub(crate) budget: MemoryBudget,
    /// Where the index rows are.
    pub(crate) rows: Range<u64>,
}

impl Front {
    pub(crate) fn grids(&self) -> Vec<Result<Grid>> {
        self.datasets.iter().map(Grid::try_new).collect()
    }

    /// Steps 1 to 17.
    pub(crate) fn parse(window: &Window<'_>) -> Result<Self> {
        let file_len = window.size;
        let superblock = Superblock::parse(&window.head, file_len)?;
        superblock.check_index_bounds(file_len)?;
        if superblock.dataset_count == 0 {
            let budget = MemoryBudget::default();
            return Ok(Self { superblock, datasets: Vec::new(), budget, rows: 0..0 });
        }
        let Some(blob_len) = window.head.get(32..).and_then(|rest| rest.first_chunk::<8>()) else {
            return Err(Error::corrupt(format!(
                "{} datasets are stated, but the file ends after {file_len} bytes",
                superblock.dataset_count
            ))
            .class("missing_dataset_directory")
            .offset(32)
            .piece("dataset directory length"));
        };
        let blob_len = u64::from_le_bytes(*blob_len);
        let blob_end = BLOB_OFFSET.checked_add(blob_len).filter(|end| *end <= file_len).ok_or_else(|| {
            Error::corrupt(format!("the dataset directory takes {blob_len} bytes, the file has {file_len}"))
                .class("directory_too_short")
                .offset(32)
                .piece("dataset directory length")
        })?;
        let datasets = directory::parse(&window.get(BLOB_OFFSET..blob_end)?, superblock.dataset_count)?;
        if align8(blob_end) != Some(superblock.chunk_index_offset) {
            return Err(Error::corrupt(format!(
                "the superblock states that the chunk index starts at {}, but the directory ends at {blob_end}",
                superblock.chunk_index_offset
            ))
            .class("chunk_index_offset_mismatch")
            .offset(16)
            .piece("superblock chunk_index_offset"));
        }
        let base = superblock.chunk_index_offset;
        let end = base.saturating_add(superblock.chunk_index_length);
        let rows = base.saturating_add(Header::LEN as u64)..end;
        let header = Header::parse(&window.get(base..rows.start.min(end))?, base)?;
        header.check_length(superblock.chunk_index_length, base)?;
        Ok(Self { superblock, datasets, budget: header.budget, rows })
    }
}

impl Catalog {
    /// Where superblock, directory and index end: no payload starts before.
    pub(crate) fn front_end(&self) -> u64 {
        let superblock = &self.superblock;
        let index_end = superblock.chunk_index_offset.saturating_add(superblock.chunk_index_length);
        index_end.max(Superblock::LEN as u64)
    }

    /// Reads and checks the metadata of a file.
    pub(crate) fn open(location: &Location, limits: &Limits) -> Result<Self> {
        let window = Window::try_new(location)?;
        Self::parse(&window, limits).in_file(location.path())
    }

    fn parse(window: &Window<'_>, limits: &Limits) -> Result<Self> {
        let file_len = window.size;
        let front = Front::parse(window)?;
        let tail = Tail::parse(&window.tail, file_len)?;
        let raw = match tail {
            _ if !front.superblock.has_footer() => None,
            Some(tail) => Some(RawFooter::read(window, tail, limits)?),
            None => {
                return Err(Error::corrupt(
                    "the superblock states a footer, but the file does not end in THST",
                )
                .class("footer_missing")
                .offset(file_len.saturating_sub(4))
                .piece("footer tail magic")
                .suggest("{} writes the data without the footer", [Action::Repair]));
            }
        };
        let payload_end = raw.as_ref().map_or(Ok(file_len), |raw| raw.payload_end(file_len))?;
        let grids = front.grids();
        let rows = if front.superblock.dataset_count == 0 {
            Rows::of(Index::empty())
        } else {
            rows(window, front.rows, &grids, payload_end)?
        };
        let footer = raw.map(|raw| raw.finish(window)).transpose()?;
        let (superblock, datasets, budget) = (front.superblock, front.datasets, front.budget);
        Ok(Self { file_len, superblock, datasets, grids, budget, rows, payload_end, footer })
    }

    /// The metadata of a dataset; names bind the first dataset, but metadata is found by name alone.
    pub(crate) fn metadata_of(&self, name: &str) -> Option<&super::metadata::DatasetMetadata> {
        self.footer.as_ref()?.metadata.as_ref()?.datasets.get(name)
    }

    /// The first dataset of that name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.datasets.iter().position(|dataset| dataset.name == name)
    }

    /// The spilled zone map document.
    pub(crate) fn zone_range(&self) -> Option<Range<u64>> {
        let footer = self.footer.as_ref().filter(|footer| footer.tail.version >= 2)?;
        footer.document.zone_maps_ref?.range(self.file_len)
    }

    /// The spilled secondary index document.
    pub(crate) fn secondary_range(&self) -> Option<Range<u64>> {
        let footer = self.footer.as_ref().filter(|footer| footer.tail.version >= 2)?;
        footer.document.secondary_index_ref?.range(self.file_len)
    }
}

/// The index rows: those of a large index are not read yet, unless reading costs nothing.
fn rows(window: &Window<'_>, range: Range<u64>, grids: &[Result<Grid>], payload_end: u64) -> Result<Rows> {
    let is_large = range.end.saturating_sub(range.start) > SMALL_INDEX;
    if is_large
        && !window.location.storage().hints().zero_copy
        && let Some(rows) = Rows::unread(range.clone(), grids, payload_end)
    {
        return Ok(rows);
    }
    Index::try_new(window.get(range.clone())?, range.start, grids, payload_end).map(Rows::of)
}

/// A footer whose JSON may still be invalid: rows are checked first.
pub(crate) struct RawFooter {
    pub(crate) tail: Tail,
    pub(crate) document: Result<Document>,
}

impl RawFooter {
    pub(crate) fn read(window: &Window<'_>, tail: Tail, limits: &Limits) -> Result<Self> {
        let range = tail.json_range(window.size);
        if tail.json_len > limits.metadata_bytes {
            return Err(Error::limit(format!(
                "the footer has {} bytes, the limit is {}",
                tail.json_len, limits.metadata_bytes
            ))
            .offset(range.start)
            .piece("footer JSON"));
        }
        let json = window.get(range.clone())?;
        Ok(Self { tail, document: Document::parse(&json, range.start) })
    }

    /// Where payloads end. A footer that is not JSON has no spills, so that the rows can still be checked.
    pub(crate) fn payload_end(&self, file_len: u64) -> Result<u64> {
        let spilled =
            self.document.as_ref().map_or(Some(0), |document| document.spilled_bytes(self.tail.version));
        let end = self.tail.json_range(file_len).start;
        spilled.and_then(|spilled| end.checked_sub(spilled)).ok_or_else(|| {
            Error::corrupt(format!("the footer and its spills are longer than the file of {file_len} bytes"))
                .class("footer_longer_than_file")
                .offset(end)
                .piece("footer JSON")
        })
    }

    pub(crate) fn finish(self, window: &Window<'_>) -> Result<StoredFooter> {
        let document = self.document?;
        let metadata = match document.metadata_ref {
            None => document.metadata.clone(),
            Some(spill) => Some(spilled_metadata(window, spill)?),
        };
        Ok(StoredFooter { tail: self.tail, document, metadata })
    }
}

fn spilled_metadata(window: &Window<'_>, spill: super::footer::SpillRef) -> Result<Metadata> {
    let range = spill.range(window.size).ok_or_else(|| {
        Error::corrupt(format!(
            "the footer states {} bytes of metadata at {}, but the file has {}",
            spill.len, spill.offset, window.size
        ))
        .class("metadata_ref_out_of_bounds")
        .piece("footer metadata_ref")
    })?;
    if spill.len > limits::METADATA_SPILL {
        return Err(Error::corrupt(format!(
            "spilled metadata has {} bytes, at most {} are allowed",
            spill.len,
            limits::METADATA_SPILL
        ))
        .class("metadata_invalid")
        .offset(range.start)
        .piece("spilled metadata"));
    }
    let metadata: Metadata = serde_json::from_slice(&window.get(range.clone())?).map_err(|source| {
        Error::corrupt("spilled metadata is not valid JSON of the expected form")
            .class("metadata_spill_json_parse")
            .offset(range.start)
            .piece("spilled metadata")
            .source(source)
    })?;
    limits::check_metadata(&metadata).at_offset(range.start)?;
    Ok(metadata)
}

/// Both ends of a file, fetched in one request, and the rest on demand.
pub(crate) struct Window<'a> {
    location: &'a Location,
    pub(crate) size: u64,
    pub(crate) head: Bytes,
    pub(crate) tail: Bytes,
}

impl<'a> Window<'a> {
    pub(crate) fn try_new(location: &'a Location) -> Result<Self> {
        let size = location.size()?;
        let (head, tail) = if size <= 2 * WINDOW {
            let all = location.read_range(0..size)?;
            (all.clone(), all)
        } else {
            let mut parts = location.read(&[0..WINDOW, size - WINDOW..size])?.into_iter();
            (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
        };
        Ok(Self { location, size, head, tail })
    }

    /// The bytes of `range`, from the fetched ends if possible.
    pub(crate) fn get(&self, range: Range<u64>) -> Result<Bytes> {
        let inside = |bytes: &Bytes, base: u64| {
            let (start, end) = (range.start.checked_sub(base)?, range.end.checked_sub(base)?);
            (start <= end && end <= bytes.len() as u64).then(|| bytes.slice(start as usize..end as usize))
        };
        inside(&self.head, 0)
            .or_else(|| inside(&self.tail, self.size - self.tail.len() as u64))
            .map_or_else(|| self.location.read_range(range.clone()), Ok)
    }
}
