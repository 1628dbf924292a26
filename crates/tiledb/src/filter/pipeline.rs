//! The list of filters of a field (spec §5.1).

use tesselle_core::Cursor;

use super::Filter;
use crate::Result;

/// The target size of chunks in bytes, also stored in pipelines.
pub(crate) const MAX_CHUNK: u32 = 65536;

/// Filters in the order in which writing applies them.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// Stored chunk size. Only 0 has a meaning: one chunk for the whole tile.
    pub max_chunk: u32,
    /// The filters.
    pub filters: Vec<Filter>,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self::new([])
    }
}

impl Pipeline {
    /// A pipeline of these filters.
    pub fn new(filters: impl IntoIterator<Item = Filter>) -> Self {
        Self { max_chunk: MAX_CHUNK, filters: filters.into_iter().collect() }
    }

    /// Whether there are no filters.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Reads a pipeline of a schema (or generic tile) of the given format version.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, version: u32) -> Result<Self> {
        let max_chunk = cursor.u32_le()?;
        let stated = cursor.u32_le()?;
        let count = cursor.count(stated.into(), 5)?;
        let filters = (0..count).map(|_| Filter::parse(cursor, version)).collect::<Result<_>>()?;
        Ok(Self { max_chunk, filters })
    }

    /// Appends the pipeline as a schema of the given format version stores it.
    pub(crate) fn write(&self, version: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.max_chunk.to_le_bytes());
        out.extend_from_slice(&(self.filters.len() as u32).to_le_bytes());
        for filter in &self.filters {
            filter.write(version, out);
        }
    }
}
