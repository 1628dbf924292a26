//! The chunk list from the metadata of a damaged file: where a scan can resume after damage, and which chunks
//! to expect.

use std::collections::BTreeMap;

use tesselle_core::{Cursor, Location, Result};

use crate::meta::bloom::BloomFilter;
use crate::meta::{DataType, DeviceId, Statistics, Version, marker};
use crate::read::file::File;
use crate::verify::{Compare, difference};

/// Extra bytes that the header of a group may have: one library writes trailing null tags.
const NULL_TAGS: u64 = 64;

/// The metadata entry of a chunk.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) device: DeviceId,
    pub(super) path: String,
    pub(super) series: String,
    pub(super) data_type: DataType,
    pub(super) statistics: Statistics,
    /// Compared with the versions of deletions.
    pub(super) version: i64,
    /// Whether the statistics of the series confirm those of the chunk, as far as possible.
    pub(super) is_consistent: bool,
}

/// The chunks of a file by offset.
#[derive(Debug, Default)]
pub(super) struct Guide {
    pub(super) chunks: BTreeMap<u64, Vec<Known>>,
    /// Whether the metadata was not completely readable, so that some chunks are missing here.
    pub(super) has_gaps: bool,
    bloom: Option<BloomFilter>,
}

impl Guide {
    /// Collects the entries of the metadata.
    pub(super) fn of(file: &File) -> Self {
        let mut guide = Self { bloom: file.metadata.bloom.clone(), ..Self::default() };
        for device in &file.devices {
            let Ok(list) = file.series_unchecked(device) else {
                guide.has_gaps = true;
                continue;
            };
            for series in list {
                let mut merged = Statistics::default();
                series.chunks.iter().for_each(|chunk| merged.merge(&chunk.statistics, file.version));
                let stated = series.statistics.as_ref();
                let is_consistent =
                    stated.is_none_or(|stated| difference(stated, &merged, Compare::Merged).is_none());
                for chunk in series.chunks {
                    guide.chunks.entry(chunk.offset).or_default().push(Known {
                        device: device.id.clone(),
                        path: device.path.clone(),
                        series: series.name.clone(),
                        data_type: series.data_type,
                        statistics: chunk.statistics,
                        version: chunk.version,
                        is_consistent,
                    });
                }
            }
        }
        guide
    }

    /// Whether the bloom filter over all series contains `inside` and not `outside`.
    pub(super) fn filter_confirms(&self, inside: &str, outside: &[String]) -> bool {
        let filter = self.bloom.as_ref();
        filter.is_some_and(|bloom| bloom.may_contain(inside) && !outside.iter().any(|o| bloom.may_contain(o)))
    }

    /// The start of the first group completely after `after`. Up to version 2 a group starts with its first
    /// chunk, and its footer shows whether it was the first one; later it starts with a header.
    pub(super) fn next_group(
        &self,
        location: &Location,
        version: Version,
        after: u64,
    ) -> Result<Option<u64>> {
        for (offset, known) in self.chunks.range(after.saturating_add(1)..) {
            if !version.is_compact() {
                return Ok(Some(*offset));
            }
            for one in known.iter().filter(|known| known.statistics.count > 0) {
                if let Some(start) = header_before(location, version, &one.device, *offset)?
                    && start > after
                {
                    return Ok(Some(start));
                }
            }
        }
        Ok(None)
    }
}

/// The start of the header of a group of this device that ends at `end`, if there is one.
fn header_before(location: &Location, version: Version, device: &DeviceId, end: u64) -> Result<Option<u64>> {
    let mut expected = Vec::new();
    device.write(&mut expected, version)?;
    let shortest = expected.len() as u64 + 1;
    let from = end.saturating_sub(shortest + NULL_TAGS);
    let bytes = location.read_range(from..end)?;
    for start in (from..=end.saturating_sub(shortest)).rev() {
        let Some(header) = bytes.get((start - from) as usize..) else { continue };
        let mut cursor = Cursor::new(header, start, "chunk group");
        if cursor.u8()? != marker::CHUNK_GROUP {
            continue;
        }
        if DeviceId::parse(&mut cursor, version).is_ok_and(|id| id == *device) && cursor.rest().is_empty() {
            return Ok(Some(start));
        }
    }
    Ok(None)
}
