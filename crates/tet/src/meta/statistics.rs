//! Zone maps and the secondary index, computed from decoded chunks: by the writer to embed them, by the verifier to
//! compare them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use tesselle_core::{DType, Within, hex};

use crate::meta::dtype::tag_of;
use crate::meta::geometry::Grid;
use crate::meta::metadata::DatasetMetadata;
use crate::meta::secondary::{AxisSegment, LabelPosting, SecondaryDocument, SecondaryEntry, ValuePosting};
use crate::meta::zone::{Element, NO_SHA256, VERSION, Zone, ZoneEntry};

/// Maximum distinct elements of a dataset with value postings.
const MOST_DISTINCT: usize = 64;

/// The statistics of one chunk.
#[derive(Debug, Clone)]
pub(crate) struct ChunkStatistics {
    pub(crate) zone: Zone,
    /// Its distinct non-null elements; `None` if there are too many.
    distinct: Option<Vec<Element>>,
}

impl ChunkStatistics {
    /// Computes the statistics of a decoded chunk, on any thread.
    pub(crate) fn of(dtype: DType, fill: Option<&[u8]>, chunk: &[u8]) -> Self {
        let distinct = match dtype.size() {
            1 => distinct::<1>(dtype, fill, chunk),
            2 => distinct::<2>(dtype, fill, chunk),
            4 => distinct::<4>(dtype, fill, chunk),
            _ => distinct::<8>(dtype, fill, chunk),
        };
        Self { zone: Zone::of(dtype, fill, chunk), distinct }
    }
}

fn distinct<const N: usize>(dtype: DType, fill: Option<&[u8]>, chunk: &[u8]) -> Option<Vec<Element>> {
    let (cells, _) = chunk.as_chunks::<N>();
    let mut seen: HashSet<[u8; N]> = HashSet::new();
    let mut last = None;
    for cell in cells {
        if last == Some(cell) {
            continue;
        }
        last = Some(cell);
        if seen.contains(cell) || Zone::of(dtype, fill, cell).nulls > 0 {
            continue;
        }
        if seen.len() == MOST_DISTINCT {
            return None;
        }
        seen.insert(*cell);
    }
    let padded = |cell: [u8; N]| {
        let mut out = [0; 8];
        out.iter_mut().zip(cell).for_each(|(out, byte)| *out = byte);
        out
    };
    Some(seen.into_iter().map(padded).collect())
}

/// The statistics of one dataset's chunks.
#[derive(Debug)]
pub(crate) struct DatasetStatistics {
    zones: BTreeMap<u64, Zone>,
    /// Chunks by element, as long as there are few elements.
    postings: Option<BTreeMap<Element, BTreeSet<u64>>>,
}

impl DatasetStatistics {
    pub(crate) fn new() -> Self {
        Self { zones: BTreeMap::new(), postings: Some(BTreeMap::new()) }
    }

    /// Adds the chunk of this row-major number.
    pub(crate) fn add(&mut self, chunk: u64, statistics: ChunkStatistics) {
        self.zones.insert(chunk, statistics.zone);
        let Some(elements) = statistics.distinct else {
            self.postings = None;
            return;
        };
        if let Some(postings) = &mut self.postings {
            for element in elements {
                postings.entry(element).or_default().insert(chunk);
            }
            if postings.len() > MOST_DISTINCT {
                self.postings = None;
            }
        }
    }

    /// The zone map entry of a chunk.
    pub(crate) fn zone_entry(&self, grid: &Grid, dataset_id: u64, chunk: &[u64]) -> Option<ZoneEntry> {
        let zone = self.zones.get(&grid.linear(chunk)?)?;
        Some(zone.entry(grid.dtype, dataset_id, chunk))
    }

    /// The entries of the secondary index, in their order.
    pub(crate) fn secondary(
        &self,
        grid: &Grid,
        dataset_id: u64,
        metadata: Option<&DatasetMetadata>,
    ) -> Vec<SecondaryEntry> {
        let mut entries = Vec::new();
        if let (Some(postings), Some(dtype)) = (&self.postings, tag_of(grid.dtype)) {
            let size = grid.dtype.size();
            let postings = postings.iter().map(|(element, chunks)| ValuePosting {
                value_le: hex(element.within(..size)),
                chunks: chunks.iter().map(|chunk| grid.chunk_at(*chunk)).collect(),
            });
            entries.push(SecondaryEntry::ValuePostings { dataset_id, dtype, postings: postings.collect() });
        }
        let Some(metadata) = metadata else { return entries };
        let labeled: Vec<(usize, &[String])> = grid
            .shape
            .iter()
            .enumerate()
            .filter_map(|(axis, extent)| {
                let labels = metadata.labels(axis, *extent)?;
                (labels.len() as u64 == *extent && *extent > 0).then_some((axis, labels))
            })
            .collect();
        entries
            .extend(labeled.iter().filter_map(|(axis, labels)| sorted_axis(grid, dataset_id, *axis, labels)));
        entries.extend(labeled.iter().map(|(axis, labels)| label_postings(grid, dataset_id, *axis, labels)));
        entries
    }
}

/// All chunks of the grid, grouped by their position on an axis.
fn slabs(grid: &Grid, axis: usize) -> BTreeMap<u64, Vec<Vec<u64>>> {
    let mut slabs: BTreeMap<u64, Vec<Vec<u64>>> = BTreeMap::new();
    for chunk in (0..grid.chunks).map(|linear| grid.chunk_at(linear)) {
        slabs.entry(chunk.get(axis).copied().unwrap_or(0)).or_default().push(chunk);
    }
    slabs
}

fn chunk_of(grid: &Grid, axis: usize) -> u64 {
    grid.chunk_shape.get(axis).copied().unwrap_or(1).max(1)
}

fn sorted_axis(grid: &Grid, dataset_id: u64, axis: usize, labels: &[String]) -> Option<SecondaryEntry> {
    let numbers: Vec<f64> = labels
        .iter()
        .map(|label| label.trim().parse::<f64>().ok().filter(|x| x.is_finite()))
        .collect::<Option<_>>()?;
    let ascending = numbers.is_sorted_by(|a, b| a < b);
    let descending = numbers.is_sorted_by(|a, b| a > b);
    if !ascending && !descending {
        return None;
    }
    let chunk = usize::try_from(chunk_of(grid, axis)).unwrap_or(usize::MAX);
    let mut segments: Vec<AxisSegment> = numbers
        .chunks(chunk)
        .zip(slabs(grid, axis).into_values())
        .map(|(slab, chunks)| {
            let min = slab.iter().copied().fold(f64::INFINITY, f64::min);
            let max = slab.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            AxisSegment { lo_le: hex(&min.to_le_bytes()), hi_le: hex(&max.to_le_bytes()), chunks }
        })
        .collect();
    // Sorted as strings, as the original engine does, not as numbers.
    segments.sort_by(|a, b| a.lo_le.cmp(&b.lo_le));
    Some(SecondaryEntry::SortedAxisRange { dataset_id, axis: axis as u64, ascending, segments })
}

fn label_postings(grid: &Grid, dataset_id: u64, axis: usize, labels: &[String]) -> SecondaryEntry {
    let chunk = chunk_of(grid, axis);
    let mut by_label: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for (position, label) in (0_u64..).zip(labels) {
        by_label.entry(label).or_default().insert(position / chunk);
    }
    let slabs = slabs(grid, axis);
    let postings = by_label
        .into_iter()
        .map(|(label, on_axis)| {
            let mut chunks: Vec<Vec<u64>> =
                on_axis.iter().filter_map(|at| slabs.get(at)).flatten().cloned().collect();
            chunks.sort();
            LabelPosting { label: label.to_owned(), chunks }
        })
        .collect();
    SecondaryEntry::CoordLabelPostings { dataset_id, axis: axis as u64, postings }
}

/// The secondary index document of a standalone file; `None` if there are no entries.
pub(crate) fn secondary_document(indexes: Vec<SecondaryEntry>) -> Option<SecondaryDocument> {
    (!indexes.is_empty()).then(|| SecondaryDocument {
        version: VERSION,
        generation: 0,
        packed_sha256: NO_SHA256.to_owned(),
        indexes,
    })
}
