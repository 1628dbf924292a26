//! Zone maps as bounds of the value column. They are only used to skip chunks; inconsistent ones are ignored.

use std::collections::HashMap;

use tesselle_core::{ColumnBounds, Scalar};

use crate::meta::zone::{Zone, ZoneDocument, scalar};
use crate::open::Opened;

/// The usable zone maps of a file, by dataset and row-major chunk number.
#[derive(Debug)]
pub(crate) struct Zones {
    by_chunk: HashMap<(usize, u64), Zone>,
}

impl Zones {
    /// Reads the embedded document; `None` when there is none or it cannot be used.
    pub(crate) fn load(opened: &Opened) -> Option<Self> {
        let bytes = opened.spill(opened.catalog.zone_range()?).ok()?;
        let document = ZoneDocument::parse(&bytes)?;
        let mut by_chunk = HashMap::with_capacity(document.chunks.len());
        for entry in &document.chunks {
            let Ok(id) = usize::try_from(entry.dataset_id) else { continue };
            let Some(Ok(grid)) = opened.catalog.grids.get(id) else { continue };
            if entry.chunk_index.len() != grid.rank() {
                continue;
            }
            let Some(linear) = grid.linear(&entry.chunk_index) else { continue };
            let size = grid.dtype.size() as u64;
            let whole = entry.element_count.checked_mul(size) == Some(grid.chunk_bytes(&entry.chunk_index));
            match Zone::from_entry(grid.dtype, entry).filter(|_| whole) {
                // Two entries for one chunk: neither is trusted.
                Some(zone) => {
                    if by_chunk.insert((id, linear), zone).is_some_and(|other| other != zone) {
                        return None;
                    }
                }
                None => return None,
            }
        }
        Some(Self { by_chunk })
    }

    /// The zone map of a chunk.
    pub(crate) fn get(&self, id: usize, chunk: u64) -> Option<&Zone> {
        self.by_chunk.get(&(id, chunk))
    }

    /// The bounds of a chunk's elements, nulls included: the value column has no nulls, it shows NaNs and fill values
    /// as they are.
    pub(crate) fn bounds(&self, opened: &Opened, id: usize, chunk: u64) -> Option<ColumnBounds> {
        let zone = self.by_chunk.get(&(id, chunk))?;
        let dataset = opened.catalog.datasets.get(id)?;
        let dtype = dataset.dtype()?;
        let metadata = opened.catalog.metadata_of(&dataset.name);
        let has_fill = metadata.is_some_and(|metadata| metadata.fill_text().is_some());
        let (min, max) = match (zone.nulls, zone.range) {
            (0, Some((min, max))) => (scalar(dtype, min), scalar(dtype, max)),
            // Nulls of a float without a fill value are NaNs, which are above everything.
            (_, range) if dtype.is_float() && !has_fill => {
                let nan = Scalar::Float(f64::NAN);
                (range.map_or_else(|| nan.clone(), |(min, _)| scalar(dtype, min)), nan)
            }
            // Which of the nulls are fill values, and their value, is unknown.
            _ => return None,
        };
        let sound = min.compare(&max).is_some_and(std::cmp::Ordering::is_le);
        sound.then_some(ColumnBounds {
            min: Some(min),
            max: Some(max),
            nulls: Some(0),
            rows: Some(zone.elements),
        })
    }
}
