//! An attribute as a column of a grid. The tiles of a region are composed as a whole; fixed-size cells are never processed
//! one by one.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;
use arrow_schema::DataType;
use bytes::Bytes;
use tesselle_core::array::{GridValues, PartCost, ValuesRead, ValuesStep};
use tesselle_core::{At, ColumnBounds, Region, Span, ValueBuffer};

use super::compose::{Composition, DenseAttribute};
use crate::filter::Entries;
use crate::order::grid::Runs;
use crate::read::build::{self, Cells};
use crate::read::copy::{copy_runs, fill_runs};
use crate::read::tile::{StoredTile, VarCells};
use crate::{Error, Result};

/// An attribute as a column of the grid.
pub(super) struct DenseColumn {
    attribute: Arc<DenseAttribute>,
    tile_shape: Vec<u64>,
    shape: Vec<u64>,
    cell_bytes: u64,
}

impl DenseColumn {
    /// A column over a grid of this shape.
    pub(super) fn new(attribute: DenseAttribute, shape: &[u64]) -> Self {
        let tile_shape = attribute.grid.axes.iter().map(|axis| axis.extent).collect();
        let cell_bytes = cell_bytes(&attribute);
        Self { attribute: Arc::new(attribute), tile_shape, shape: shape.to_vec(), cell_bytes }
    }
}

/// Decoded bytes of a cell; of variable-length ones the average.
fn cell_bytes(attribute: &DenseAttribute) -> u64 {
    let column = &attribute.column;
    let nulls = u64::from(column.nullable);
    if !column.is_var() {
        return (column.cell_size() as u64).saturating_add(nulls);
    }
    let (mut bytes, mut cells) = (0_u64, 0_u64);
    for (fragment, field) in attribute.fields() {
        let sizes = (0..fragment.tiles).map(|tile| field.var_size(tile));
        bytes = sizes.fold(bytes, u64::saturating_add);
        cells = cells.saturating_add(fragment.tiles.saturating_mul(attribute.cells_per_tile));
    }
    // An offset in the tile, one in the column, and the row it comes from.
    (bytes / cells.max(1)).saturating_add(20 + nulls)
}

impl GridValues for DenseColumn {
    fn tile_shape(&self) -> &[u64] {
        &self.tile_shape
    }

    fn cell_bytes(&self) -> u64 {
        self.cell_bytes
    }

    fn part_cost(&self) -> PartCost {
        // Validity and variable-length cells are decoded tile by tile, which bands must not repeat too often: as for rows
        // that are decoded alone, the size of a band is bounded first.
        PartCost::Rows
    }

    fn bounds(&self, tile: &[u64]) -> Option<ColumnBounds> {
        let axes = tile.iter().zip(&self.tile_shape).zip(&self.shape);
        let spans = axes.map(|((tile, extent), shape)| {
            let start = tile.saturating_mul(*extent);
            Span { start, stop: start.saturating_add(*extent).min(*shape), step: 1 }
        });
        self.attribute.bounds(&Region { spans: spans.collect() })
    }

    fn read(&self, region: &Region, wanted: &dyn Fn(&[u64]) -> bool) -> Result<Box<dyn ValuesRead>> {
        let rows = region.cells().and_then(|cells| usize::try_from(cells).ok());
        let rows = rows.ok_or_else(|| Error::limit("a band has too many cells for this machine"))?;
        let mut composition = self.attribute.compose(region);
        let all = composition.parts.len();
        composition.parts.retain(|part| wanted(&part.index));
        composition.covered &= composition.parts.len() == all;
        let (attribute, region) = (Arc::clone(&self.attribute), region.clone());
        Ok(Box::new(DenseRead { attribute, region, rows, composition, asked: false }))
    }
}

/// The values of a region on their way.
struct DenseRead {
    attribute: Arc<DenseAttribute>,
    region: Region,
    rows: usize,
    composition: Composition,
    asked: bool,
}

impl ValuesRead for DenseRead {
    fn step(&mut self, fetched: &[Bytes]) -> Result<ValuesStep> {
        if !std::mem::replace(&mut self.asked, true) {
            let ranges = self.attribute.ranges(&self.composition)?;
            if !ranges.is_empty() {
                return Ok(ValuesStep::Need(ranges));
            }
        }
        let stored = self.attribute.stored(&self.composition, fetched);
        self.column(&stored).map(ValuesStep::Values)
    }
}

impl DenseRead {
    fn column(&self, stored: &[Option<StoredTile>]) -> Result<ArrayRef> {
        let column = &self.attribute.column;
        let validity = if column.nullable { Some(self.validity(stored)?) } else { None };
        if column.is_var() {
            if *column.field.data_type() == DataType::Utf8
                && let Some(entries) = self.entries(stored)?
                && let Some(strings) = build::dictionary_of(entries, validity.as_deref())?
            {
                return Ok(strings);
            }
            let (data, offsets) = self.variable(stored)?;
            let (data, offsets) = (data.into(), Some(offsets));
            return build::array(column, Cells { data, offsets, validity, rows: self.rows });
        }
        let size = self.rows.checked_mul(column.cell_size());
        let size = size.ok_or_else(|| Error::limit("a band has too many bytes for this machine"))?;
        let mut data = ValueBuffer::zeroed(size);
        self.attribute.fixed(&self.region, &self.composition, stored, data.as_slice_mut())?;
        build::array(column, Cells { data: data.into(), offsets: None, validity, rows: self.rows })
    }

    /// The runs of each part.
    fn runs(&self) -> impl Iterator<Item = Option<Runs>> {
        let parts = self.composition.parts.iter();
        parts.map(|part| self.attribute.grid.runs(&part.index, &part.region, &self.region))
    }

    fn validity(&self, stored: &[Option<StoredTile>]) -> Result<Vec<u8>> {
        let attribute = &self.attribute;
        let blank = u8::from(attribute.column.fill_valid);
        let (mut out, mut scratch) = (vec![blank; self.rows], Vec::new());
        for ((part, runs), stored) in self.composition.parts.iter().zip(self.runs()).zip(stored) {
            let Some(runs) = runs else { continue };
            let (Some(field), Some(tile)) = (attribute.field(part), stored) else {
                fill_runs(&runs, &[blank], &mut out);
                continue;
            };
            let len = field.validity_len(tile, attribute.cells_per_tile);
            scratch.resize(len.map_err(|error| field.place(&error, part.tile, 2))?, 0);
            field.decode_validity(tile, part.tile, &mut scratch)?;
            copy_runs(&runs, &scratch, &mut out, 1)?;
        }
        Ok(out)
    }

    fn variable(&self, stored: &[Option<StoredTile>]) -> Result<(MutableBuffer, Vec<i32>)> {
        let attribute = &self.attribute;
        let mut decoded: Vec<Option<VarCells>> = Vec::with_capacity(stored.len());
        for (part, tile) in self.composition.parts.iter().zip(stored) {
            decoded.push(match (attribute.field(part), tile) {
                (Some(field), Some(tile)) => {
                    Some(field.decode_var(tile, part.tile, attribute.cells_per_tile)?)
                }
                _ => None,
            });
        }
        if let Some(cells) = self.adjoining(&decoded)? {
            return Ok(cells);
        }
        let column = &attribute.column;
        let mut data = MutableBuffer::new(0);
        let mut offsets = Vec::with_capacity(self.rows.saturating_add(1));
        offsets.push(0);
        let too_long = || self.too_long();
        for (part, cell) in self.origins()? {
            let source = (part as usize).checked_sub(1).and_then(|part| decoded.get(part)?.as_ref());
            let bytes = source.map_or(column.fill.as_slice(), |cells| cells.get(cell as usize));
            data.extend_from_slice(bytes);
            offsets.push(i32::try_from(data.len()).map_err(|_| too_long())?);
        }
        Ok((data, offsets))
    }

    /// The cells of parts whose rows follow one another as distinct strings; `None` if they are not stored so.
    fn entries(&self, stored: &[Option<StoredTile>]) -> Result<Option<Entries>> {
        let attribute = &self.attribute;
        let mut all = Entries::default();
        for ((part, runs), tile) in self.composition.parts.iter().zip(self.runs()).zip(stored) {
            let (Some(field), Some(tile), Some(runs)) = (attribute.field(part), tile, runs) else {
                return Ok(None);
            };
            let ([run], 1) = (runs.starts.as_slice(), runs.step) else { return Ok(None) };
            if run.target != all.ids.len() {
                return Ok(None);
            }
            let Some(own) = field.entries(tile, part.tile, attribute.cells_per_tile)? else {
                return Ok(None);
            };
            if !all.append(&own, run.source..run.source + runs.len)? {
                return Ok(None);
            }
        }
        Ok((all.ids.len() == self.rows && self.rows > 0).then_some(all))
    }

    fn too_long(&self) -> Error {
        Error::limit(format!("column '{}' exceeds 2 GiB in one band", self.attribute.column.name))
    }

    /// The cells of parts whose rows follow one another, copied part by part; `None` if they do not.
    fn adjoining(&self, decoded: &[Option<VarCells>]) -> Result<Option<(MutableBuffer, Vec<i32>)>> {
        let mut sources = Vec::with_capacity(decoded.len());
        let mut rows = 0;
        for (runs, cells) in self.runs().zip(decoded) {
            let (Some(runs), Some(cells)) = (runs, cells) else { return Ok(None) };
            let ([run], 1) = (runs.starts.as_slice(), runs.step) else { return Ok(None) };
            let Some(ends) = cells.offsets.get(run.source..run.source + runs.len + 1) else {
                return Ok(None);
            };
            if run.target != rows {
                return Ok(None);
            }
            rows += runs.len;
            sources.push((ends, cells));
        }
        if rows != self.rows {
            return Ok(None);
        }
        let bytes = |ends: &[u64]| {
            ends.first().zip(ends.last()).map_or(0..0, |(start, end)| *start as usize..*end as usize)
        };
        let size = sources.iter().map(|(ends, _)| bytes(ends).len()).fold(0, usize::saturating_add);
        i32::try_from(size).map_err(|_| self.too_long())?;
        let mut data = MutableBuffer::with_capacity(size);
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        for (ends, cells) in sources {
            let range = bytes(ends);
            // It is the same for all of them, and their sum fits.
            let shift = (data.len() as i64).wrapping_sub(range.start as i64);
            offsets.extend(ends.iter().skip(1).map(|end| (*end as i64).wrapping_add(shift) as i32));
            data.extend_from_slice(cells.data.part(range)?);
        }
        Ok(Some((data, offsets)))
    }

    /// For each row where it comes from: part + 1 (0 is unwritten) and cell.
    fn origins(&self) -> Result<Vec<(u32, u32)>> {
        let mut origins = vec![(0_u32, 0_u32); self.rows];
        for (i, runs) in self.runs().enumerate() {
            let Some(runs) = runs else { continue };
            let part = u32::try_from(i + 1).map_err(|_| Error::limit("a band has too many tiles"))?;
            for run in &runs.starts {
                let places = origins.part_mut(run.target..run.target + runs.len)?;
                for (j, place) in places.iter_mut().enumerate() {
                    let cell = u32::try_from(run.source + j * runs.step);
                    *place = (part, cell.map_err(|_| Error::limit("a tile has more than 2^32 cells"))?);
                }
            }
        }
        Ok(origins)
    }
}
