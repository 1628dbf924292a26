//! The remains of one dataset, and its lost chunks.

use std::collections::BTreeSet;

use tesselle_core::driver::parallel;
use tesselle_core::{DType, Driver, Error, ErrorKind, Result};

use crate::Codec;
use crate::container::File;
use crate::meta::geometry::Grid;
use crate::meta::metadata::parse_element;
use crate::open::decode_into;

/// The attribute that lists the lost chunks of a dataset.
const LOST: &str = "tesselle:lost_chunks";
/// The attribute that lists the chunks that disagreed with their zone maps.
const DOUBTFUL: &str = "tesselle:doubtful_chunks";
/// Maximum bytes of an attribute that lists chunks; the limit of the format is 1024.
const LISTED: usize = 900;

/// A dataset that has at least one chunk left.
pub(super) struct SalvagedDataset {
    pub(super) id: usize,
    /// The lost chunks, by row-major number.
    pub(super) lost: BTreeSet<u64>,
    /// The fill value of lost chunks, little-endian, and as a string.
    pub(super) fill: Vec<u8>,
    fill_text: String,
    /// The stored sizes of the lost chunks, as far as the index states them.
    pub(super) lost_bytes: u64,
    /// The chunks that disagree with their zone maps.
    pub(super) doubtful: Vec<String>,
    /// Lost chunks as coordinates, and the reason of the first one.
    places: Vec<Vec<u64>>,
    reason: Option<String>,
}

impl SalvagedDataset {
    /// Checks every chunk of a dataset. A data error means that nothing of it remains. `given` is the fill value that the
    /// user chose.
    pub(super) fn of(file: &File, id: usize, given: Option<&str>, driver: &Driver) -> Result<Self> {
        let opened = &file.opened;
        let grid = opened.grid(id)?;
        let checked: Vec<(u64, Error)> = driver.install(|| {
            let check = |scratch: &mut Vec<u8>, linear: u64| {
                check_chunk(file, id, grid, linear, scratch).err().map(|error| (linear, error))
            };
            parallel::map_with(0..grid.chunks, Vec::new, check).into_iter().flatten().collect()
        });
        let about_data = |error: &Error| matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported);
        let (fill, fill_text) = fill(file, id, grid.dtype);
        let mut kept = Self {
            id,
            lost: BTreeSet::new(),
            fill,
            fill_text,
            lost_bytes: 0,
            doubtful: Vec::new(),
            places: Vec::new(),
            reason: None,
        };
        for (linear, error) in checked {
            if !about_data(&error) || grid.chunks == checked_len(&kept) + 1 {
                return Err(error);
            }
            let chunk = grid.chunk_at(linear);
            let row = opened.index()?.find(id, &opened.catalog.grids, &chunk);
            kept.lost_bytes = kept.lost_bytes.saturating_add(row.map_or(0, |(_, row)| row.stored_len));
            kept.reason.get_or_insert_with(|| error.without_hint());
            kept.lost.insert(linear);
            kept.places.push(chunk);
        }
        if let Some(text) = given.filter(|_| !kept.lost.is_empty()) {
            kept.fill = parse_element(grid.dtype, text).ok_or_else(|| {
                let (name, dtype) = (opened.name(id), grid.dtype.name());
                Error::invalid(format!("'{text}' is not a value of the type {dtype} of dataset '{name}'"))
            })?;
            text.trim().clone_into(&mut kept.fill_text);
        }
        Ok(kept)
    }

    /// The line of the report on its lost chunks.
    pub(super) fn note(&self, file: &File) -> Option<String> {
        let reason = self.reason.as_ref()?;
        let name = file.opened.name(self.id);
        Some(format!("dataset '{name}': {}; the first: {reason}", self.summary()))
    }

    fn summary(&self) -> String {
        let (count, fill) = (self.lost.len(), &self.fill_text);
        let what = if count == 1 { "chunk is lost" } else { "chunks are lost" };
        format!(
            "{count} {what} and filled with {fill}: {}",
            list(self.places.iter().map(|p| format!("{p:?}")))
        )
    }

    /// The attributes that mark the dataset.
    pub(super) fn marks(&self) -> Vec<(&'static str, String)> {
        let mut marks = Vec::new();
        if !self.lost.is_empty() {
            marks.push((LOST, self.summary()));
        }
        if !self.doubtful.is_empty() {
            marks.push((DOUBTFUL, list(self.doubtful.iter().cloned())));
        }
        marks
    }
}

fn checked_len(kept: &SalvagedDataset) -> u64 {
    kept.lost.len() as u64
}

fn list(places: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    let mut more = 0_u64;
    for place in places {
        if text.len() + place.len() > LISTED {
            more += 1;
            continue;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&place);
    }
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// Whether a chunk is inside the payloads and decodes.
fn check_chunk(file: &File, id: usize, grid: &Grid, linear: u64, scratch: &mut Vec<u8>) -> Result<()> {
    let opened = &file.opened;
    let chunk = grid.chunk_at(linear);
    let row = opened.chunk_row(id, grid, &chunk)?;
    let front = opened.catalog.front_end();
    if row.payload_offset < front && row.stored_len > 0 {
        return Err(Error::corrupt(format!(
            "its payload starts before the end of the index at byte {front}"
        ))
        .piece(format!("chunk {chunk:?} of '{}'", opened.name(id)))
        .offset(row.payload_offset));
    }
    if row.codec == Codec::Raw {
        return Ok(());
    }
    let payload = opened.location.read_range(row.span())?;
    scratch.resize(row.raw_len as usize, 0);
    decode_into(&row, &payload, scratch).map_err(|error| {
        error.piece(format!("chunk {chunk:?} of '{}'", opened.name(id))).file(opened.location.path())
    })
}

/// The fill for lost elements: the null sentinel of the dataset, else NaN or 0.
fn fill(file: &File, id: usize, dtype: DType) -> (Vec<u8>, String) {
    let metadata = file.opened.catalog.metadata_of(file.opened.name(id));
    if let Some((fill, text)) = metadata.and_then(|about| Some((about.fill(dtype)?, about.fill_text()?))) {
        return (fill, text.to_owned());
    }
    match dtype {
        DType::F16 => (half::f16::NAN.to_le_bytes().to_vec(), "NaN".to_owned()),
        DType::F32 => (f32::NAN.to_le_bytes().to_vec(), "NaN".to_owned()),
        DType::F64 => (f64::NAN.to_le_bytes().to_vec(), "NaN".to_owned()),
        _ => (vec![0; dtype.size()], "0".to_owned()),
    }
}
