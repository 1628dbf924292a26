//! Consolidation of dense fragments: tile by tile, the newest cell of each position.

use std::ops::Range as Span;
use std::sync::Arc;

use tesselle_core::{At, Within};

use super::source;
use crate::domain::written_box;
use crate::fragment::Fragment;
use crate::meta::attribute::Attribute;
use crate::meta::layout::Layout;
use crate::open::Array;
use crate::order::grid::{CellBox, Grid};
use crate::read::sparse::{ColumnTiles, Decoded};
use crate::write::array::ArrayWriter;
use crate::write::cells::TileCells;
use crate::write::dense::advance;
use crate::write::fragment::{FinishedFragment, FragmentEnd, FragmentWriter, TileSet};
use crate::{Error, Result};

/// Tiles that are merged at once.
const GROUP: usize = 16;

/// The box of several fragments.
fn union(fragments: &[Arc<Fragment>]) -> Option<CellBox> {
    written_box(fragments.iter().map(AsRef::as_ref))
}

/// Fails if the new fragment would hide cells. It contains fill values where the chosen fragments leave gaps in their
/// common box, which must not hide cells of an older fragment that is not consolidated.
pub(super) fn refuse_hiding(array: &Array, chosen: &[Arc<Fragment>]) -> Result<()> {
    let (Some(all), Some(first)) = (union(chosen), chosen.first()) else { return Ok(()) };
    let older = array.fragments.iter().take_while(|fragment| fragment.name < first.name);
    let hidden = older
        .filter_map(|old| Some((old, old.dense.as_ref()?)))
        .find(|(_, d)| d.region.intersect(&all).is_some());
    let between =
        array.fragments.iter().filter(|f| f.name > first.name && !chosen.iter().any(|c| c.name == f.name));
    let last = chosen.last().map(|fragment| &fragment.name);
    if let Some((old, _)) = hidden {
        return Err(Error::invalid(format!(
            "fragment '{}' is older and overlaps the selected fragments",
            old.name.name
        ))
        .hint("include it in the consolidation"));
    }
    if let Some(other) = between.into_iter().find(|fragment| Some(&fragment.name) < last) {
        return Err(Error::invalid(format!(
            "fragment '{}' is between the selected fragments",
            other.name.name
        )));
    }
    Ok(())
}

/// The attributes of a fragment as the newest schema has them.
struct Source<'a> {
    fragment: &'a Fragment,
    columns: Vec<ColumnTiles>,
}

impl ArrayWriter {
    pub(super) fn merge_dense(
        &self,
        array: &Array,
        chosen: &[Arc<Fragment>],
        timestamps: (u64, u64),
    ) -> Result<(FinishedFragment, u64)> {
        let grid = self.schema.grid()?;
        let region = union(chosen).ok_or_else(|| Error::invalid("the fragments have no cells"))?;
        let sources: Vec<Source<'_>> = chosen
            .iter()
            .map(|fragment| {
                let attributes = self.schema.attributes.iter();
                let columns = attributes
                    .map(|wanted| source::attribute(array, fragment, wanted))
                    .collect::<Result<_>>();
                Ok(Source { fragment, columns: columns? })
            })
            .collect::<Result<_>>()?;
        let cells =
            usize::try_from(grid.cells_per_tile()?).map_err(|_| Error::limit("a tile has too many cells"))?;
        let mut writer = FragmentWriter::create(self.plan(timestamps))?;
        // A tile is in memory as read from its sources, as merged and as filtered.
        let widest = self.schema.attributes.iter().map(|attribute| attribute.cell_size().unwrap_or(16)).sum();
        let at_once =
            self.affordable((sources.len() + 2).saturating_mul(cells).saturating_mul(widest), GROUP);
        let span = grid.tiles_of(&region);
        let mut index = span.low.clone();
        let mut more = true;
        while more {
            let mut group = Vec::new();
            while more && group.len() < at_once {
                group.push(index.clone());
                more = advance(&mut index, &span, grid.tile_order);
            }
            self.check_canceled()?;
            let merge = |index: &Vec<u64>| self.merge_tile(array, &grid, &region, &sources, index, cells);
            writer.append_made(&group, merge)?;
        }
        let fragment = writer.finish(&FragmentEnd {
            domain: Some(grid.ranges_of(&region)),
            last_tile_cells: cells as u64,
            ..FragmentEnd::default()
        })?;
        Ok((fragment, region.cells().unwrap_or(u64::MAX)))
    }

    fn merge_tile(
        &self,
        array: &Array,
        grid: &Grid,
        region: &CellBox,
        sources: &[Source<'_>],
        index: &[u64],
        cells: usize,
    ) -> Result<TileSet> {
        let tile = grid.tile_region(index);
        // For each cell, the index of its source; the last source is the newest. A single one keeps its padding, which
        // its filters hold.
        let mut owners: Vec<Option<usize>> = vec![(sources.len() == 1).then_some(0); cells];
        for (number, source) in sources.iter().enumerate() {
            let part = source.fragment.dense.as_ref().and_then(|dense| dense.region.intersect(&tile));
            for run in part.map(|part| runs_in_tile(grid, &tile, &part)).unwrap_or_default() {
                owners.part_mut(run)?.fill(Some(number));
            }
        }
        let mut fields = Vec::with_capacity(self.schema.attributes.len());
        for (i, attribute) in self.schema.attributes.iter().enumerate() {
            let decoded: Vec<Option<Decoded>> = sources
                .iter()
                .enumerate()
                .map(|(number, source)| {
                    if !owners.contains(&Some(number)) {
                        return Ok(None);
                    }
                    let number = source.fragment.dense_tile(grid, index);
                    let (Some(number), Some(column)) = (number, source.columns.get(i)) else {
                        return Ok(None);
                    };
                    source::read(array, column, number, cells as u64).map(Some)
                })
                .collect::<Result<_>>()?;
            fields.push(pick(attribute, &owners, &decoded));
        }
        let real = region.intersect(&tile).map(|part| runs_in_tile(grid, &tile, &part)).unwrap_or_default();
        Ok(TileSet { fields, real })
    }
}

/// Takes each cell from its source, or the fill value if it was not written.
fn pick(attribute: &Attribute, owners: &[Option<usize>], decoded: &[Option<Decoded>]) -> TileCells {
    let owner = |owner: &Option<usize>| owner.and_then(|number| decoded.get(number)?.as_ref());
    let validity = attribute.nullable.then(|| {
        let valid = |(cell, from): (usize, &Option<usize>)| match owner(from) {
            Some(decoded) => decoded.validity().map_or(1, |validity| validity.value(cell)),
            None => u8::from(attribute.fill_valid),
        };
        owners.iter().enumerate().map(valid).collect()
    });
    let cell = |cell: usize, from: &Option<usize>| match owner(from) {
        Some(Decoded::Fixed { bytes, width, .. }) => bytes.within(cell * width..(cell + 1) * width),
        Some(Decoded::Var { cells, .. }) => cells.get(cell),
        None => &attribute.fill,
    };
    let mut tile = TileCells { data: Vec::new(), offsets: attribute.is_var().then(Vec::new), validity };
    for (number, from) in owners.iter().enumerate() {
        if let Some(offsets) = &mut tile.offsets {
            offsets.push(tile.data.len() as u64);
        }
        tile.data.extend_from_slice(cell(number, from));
    }
    tile
}

/// The cells of a box within a tile, as runs in the tile's order.
pub(in crate::write) fn runs_in_tile(grid: &Grid, tile: &CellBox, part: &CellBox) -> Vec<Span<usize>> {
    let dims = grid.axes.len();
    let col = grid.cell_order == Layout::ColMajor;
    let inner = if col { 0 } else { dims.saturating_sub(1) };
    let mut steps = vec![1_u64; dims];
    let mut step = 1;
    for i in 0..dims {
        let axis = if col { i } else { dims - 1 - i };
        if let Some(slot) = steps.get_mut(axis) {
            *slot = step;
        }
        step *= tile.len(axis);
    }
    let mut runs: Vec<Span<usize>> = Vec::new();
    let mut at = part.low.clone();
    loop {
        let places = at.iter().zip(&tile.low).zip(&steps);
        let start = places.map(|((at, low), step)| (at - low) * step).sum::<u64>() as usize;
        let end = start + part.len(inner) as usize;
        match runs.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => runs.push(start..end),
        }
        let mut wrapped = true;
        for i in 1..dims {
            let axis = if col { i } else { dims - 1 - i };
            if let (Some(at), Some(low), Some(high)) =
                (at.get_mut(axis), part.low.get(axis), part.high.get(axis))
            {
                if *at < *high {
                    *at += 1;
                    wrapped = false;
                    break;
                }
                *at = *low;
            }
        }
        if wrapped {
            return runs;
        }
    }
}
