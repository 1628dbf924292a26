//! Which tiles of which fragments make up a region of a dense attribute. No I/O.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::array::{Place, fill};
use tesselle_core::{ByteRange, ColumnBounds, Region};

use crate::Result;
use crate::fragment::Fragment;
use crate::meta::slots::Field;
use crate::open::Array;
use crate::order::grid::{CellBox, Grid, Runs};
use crate::read::bounds::tile_bounds;
use crate::read::copy::{copy_runs, fill_runs};
use crate::read::schema::{Column, Source};
use crate::read::tile::{FieldTiles, PlainCells, StoredTile};

/// An attribute of a dense array with its tiles in every fragment.
pub(super) struct DenseAttribute {
    pub(super) array: Arc<Array>,
    pub(super) grid: Arc<Grid>,
    pub(super) cells_per_tile: u64,
    pub(super) column: Column,
    /// The tiles by the position of their fragment; `None` where the fragment lacks the attribute.
    fields: HashMap<usize, Option<FieldTiles>>,
}

/// A tile that contributes to a region.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// The fragment, by position.
    pub(super) fragment: usize,
    /// The tile's number in it.
    pub(super) tile: u64,
    /// The tile's place on the grid.
    pub(super) index: Vec<u64>,
    /// The cells it contributes.
    pub(super) region: CellBox,
}

/// The tiles of one region, oldest first.
#[derive(Debug, Clone)]
pub(super) struct Composition {
    pub(super) parts: Vec<Part>,
    /// Whether they leave no cell unwritten.
    pub(super) covered: bool,
}

/// The tiles of an attribute in a fragment; `None` where reads show the fill value.
pub(crate) fn field_of(array: &Array, fragment: &Fragment, column: &Column) -> Result<Option<FieldTiles>> {
    let Source::Attribute(_) = column.source else { return Ok(None) };
    let Some(index) = fragment.attribute(&column.name, column.cell_type())? else { return Ok(None) };
    FieldTiles::try_new(array, fragment, Field::Attribute(index)).map(Some)
}

impl DenseAttribute {
    /// An attribute, with its tiles in the fragments that meet `bounds`.
    pub(super) fn try_new(
        array: &Arc<Array>,
        grid: &Arc<Grid>,
        column: &Column,
        bounds: Option<&CellBox>,
    ) -> Result<Self> {
        let mut fields = HashMap::new();
        for (position, fragment) in array.fragments.iter().enumerate() {
            let met = fragment.dense.as_ref().zip(bounds);
            if met.is_some_and(|(dense, bounds)| dense.region.intersect(bounds).is_some()) {
                fields.insert(position, field_of(array, fragment, column)?);
            }
        }
        Ok(Self {
            array: Arc::clone(array),
            grid: Arc::clone(grid),
            cells_per_tile: grid.cells_per_tile()?,
            column: column.clone(),
            fields,
        })
    }

    /// The tiles of the attribute in the fragment of a part; `None` where it lacks the attribute.
    pub(super) fn field(&self, part: &Part) -> Option<&FieldTiles> {
        self.fields.get(&part.fragment)?.as_ref()
    }

    /// The tiles of all fragments that have the attribute.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&Fragment, &FieldTiles)> {
        let fields = self.fields.iter();
        fields.filter_map(|(at, field)| Some((&**self.array.fragments.get(*at)?, field.as_ref()?)))
    }

    /// The tiles that make up `piece`.
    pub(super) fn compose(&self, piece: &Region) -> Composition {
        let none = Composition { parts: Vec::new(), covered: false };
        let Some(bounds) = Grid::bounds_of(piece) else { return Composition { covered: true, ..none } };
        let mut fragments: Vec<(usize, &Fragment, &CellBox)> = Vec::new();
        let tiles = self.grid.tiles_of(&bounds);
        // Only tiles that some fragment holds are visited: a domain can be far larger than what was written.
        let mut visited: Option<CellBox> = None;
        for (position, fragment) in self.array.fragments.iter().enumerate() {
            let Some(dense) = fragment.dense.as_ref().filter(|_| self.fields.contains_key(&position)) else {
                continue;
            };
            let meets = dense.region.intersect(&bounds).is_some();
            let Some(held) = dense.tiles.intersect(&tiles).filter(|_| meets) else { continue };
            fragments.push((position, fragment, &dense.region));
            match &mut visited {
                None => visited = Some(held),
                Some(all) => all.include(&held),
            }
        }
        let Some(visited) = visited else { return none };
        let mut covered = visited == tiles;
        let mut parts = Vec::new();
        let mut index = visited.low.clone();
        loop {
            covered &= self.compose_tile(&index, piece, &bounds, &fragments, &mut parts);
            if !advance(&mut index, &visited) {
                return Composition { parts, covered };
            }
        }
    }

    /// Adds the parts of one tile, oldest first; returns whether they cover it.
    fn compose_tile(
        &self,
        index: &[u64],
        piece: &Region,
        bounds: &CellBox,
        fragments: &[(usize, &Fragment, &CellBox)],
        parts: &mut Vec<Part>,
    ) -> bool {
        let Some(wanted) = self.grid.tile_region(index).intersect(bounds) else { return true };
        // With steps, whole tiles may lie between selected positions.
        let hits = piece.spans.iter().zip(wanted.low.iter().zip(&wanted.high));
        if hits.into_iter().any(|(span, (low, high))| span.within(*low, high.saturating_add(1)).is_none()) {
            return true;
        }
        let first = parts.len();
        let mut covered = false;
        for (position, fragment, region) in fragments.iter().rev() {
            let Some(part) = region.intersect(&wanted) else { continue };
            let tile = fragment.dense_tile(&self.grid, index);
            debug_assert!(tile.is_some(), "a fragment lacks a tile of its region");
            let Some(tile) = tile else { continue };
            covered = part == wanted;
            parts.push(Part { fragment: *position, tile, index: index.to_vec(), region: part });
            if covered {
                break;
            }
        }
        if let Some(new) = parts.get_mut(first..) {
            new.reverse();
        }
        covered
    }

    /// The ranges of the tiles of a composition, which [`DenseAttribute::stored`] takes.
    pub(super) fn ranges(&self, composition: &Composition) -> Result<Vec<ByteRange>> {
        let mut ranges = Vec::with_capacity(composition.parts.len());
        for part in &composition.parts {
            if let Some(field) = self.field(part) {
                field.ranges(part.tile, &mut ranges)?;
            }
        }
        Ok(ranges)
    }

    /// The stored tile of each part; `None` where its fragment lacks the attribute.
    pub(super) fn stored(&self, composition: &Composition, fetched: &[Bytes]) -> Vec<Option<StoredTile>> {
        let mut fetched = fetched.iter().cloned();
        let parts = composition.parts.iter();
        parts.map(|part| self.field(part).map(|field| field.take(&mut fetched))).collect()
    }

    /// Puts the fixed cells of `piece` into `dst`, row-major: later fragments overwrite earlier ones box by box.
    pub(super) fn fixed(
        &self,
        piece: &Region,
        composition: &Composition,
        stored: &[Option<StoredTile>],
        dst: &mut [u8],
    ) -> Result<()> {
        let blank = &self.column.fill;
        if !composition.covered {
            fill(dst, blank);
        }
        let mut scratch = Vec::new();
        for (part, stored) in composition.parts.iter().zip(stored) {
            let Some(runs) = self.grid.runs(&part.index, &part.region, piece) else { continue };
            let (Some(field), Some(tile)) = (self.field(part), stored) else {
                fill_runs(&runs, blank, dst);
                continue;
            };
            let width = field.cell_size();
            let len = field.fixed_len(tile, self.cells_per_tile);
            let len = len.map_err(|error| field.place(&error, part.tile, 0))?;
            if let ([run], 1) = (runs.starts.as_slice(), runs.step)
                && let Some(place) = dst.get_mut(run.target * width..(run.target + runs.len) * width)
            {
                field.decode_run(tile, part.tile, run.source..run.source + runs.len, len, place)?;
                continue;
            }
            scratch.resize(len, 0);
            field.decode_part(tile, part.tile, touched(&runs), &mut scratch)?;
            copy_runs(&runs, &scratch, dst, width)?;
        }
        Ok(())
    }

    /// The cells of `piece`, if one tile has them all and they can be fetched alone.
    pub(super) fn plain(&self, piece: &Region, composition: &Composition) -> Result<Option<PlainPiece>> {
        let ([part], true) = (composition.parts.as_slice(), composition.covered) else { return Ok(None) };
        let runs = self.grid.runs(&part.index, &part.region, piece);
        let (Some(field), Some(mut runs)) = (self.field(part), runs) else { return Ok(None) };
        let touched = touched(&runs);
        runs.starts.iter_mut().for_each(|run| run.source -= touched.start);
        let cells = field.plain(part.tile, touched, self.cells_per_tile)?;
        Ok(cells.map(|cells| PlainPiece { cells, runs, width: field.cell_size() }))
    }

    /// The bounds of the attribute over a region that whole, undisputed tiles make up.
    pub(super) fn bounds(&self, piece: &Region) -> Option<ColumnBounds> {
        let composition = self.compose(piece);
        let mut seen = HashSet::new();
        let disputed = !composition.parts.iter().all(|part| seen.insert(&part.index));
        if !composition.covered || disputed {
            return None;
        }
        let mut all: Option<ColumnBounds> = None;
        for part in &composition.parts {
            let fragment = self.array.fragments.get(part.fragment).filter(|_| self.field(part).is_some())?;
            // Statistics that cannot be read are none; reading rows reports why.
            let tile = tile_bounds(fragment, &self.column, part.tile).ok().flatten()?;
            all = Some(match all {
                None => tile,
                Some(all) => ColumnBounds {
                    min: all.min.zip(tile.min).map(|(a, b)| a.min(b)),
                    max: all.max.zip(tile.max).map(|(a, b)| a.max(b)),
                    nulls: all.nulls.zip(tile.nulls).map(|(a, b)| a.saturating_add(b)),
                    rows: None,
                },
            });
        }
        // Null counts cover whole tiles, of which the region may take a part; only their absence is sure.
        all.map(|all| ColumnBounds { nulls: all.nulls.filter(|n| *n == 0), ..all })
    }
}

/// The cells of a region inside one tile that is stored without filters.
pub(super) struct PlainPiece {
    cells: PlainCells,
    /// From the cells to the region.
    runs: Runs,
    width: usize,
}

impl PlainPiece {
    /// The range to fetch.
    pub(super) fn range(&self) -> &ByteRange {
        self.cells.range()
    }

    /// The region, row-major; `None` if the tile is cut into other chunks than its size suggests.
    pub(super) fn take(&self, fetched: &Bytes) -> Result<Option<Place>> {
        let Some(cells) = self.cells.take(fetched) else { return Ok(None) };
        let Runs { len, step, starts } = &self.runs;
        if starts.len() == 1 && *step == 1 {
            return Ok(Some(Place::HeldParts(cells)));
        }
        let mut region = vec![0; starts.len() * len * self.width];
        copy_runs(&self.runs, &cells.concat(), &mut region, self.width)?;
        Ok(Some(Place::Held(region.into())))
    }
}

/// The cells of a tile that runs touch.
fn touched(runs: &Runs) -> std::ops::Range<usize> {
    let first = runs.starts.iter().map(|run| run.source).min().unwrap_or(0);
    let last = runs.starts.iter().map(|run| run.source).max().unwrap_or(0);
    first..last + (runs.len.saturating_sub(1)) * runs.step + 1
}

/// The next grid position of a box, the last axis fastest; `false` at the end.
fn advance(index: &mut [u64], within: &CellBox) -> bool {
    for (axis, position) in index.iter_mut().enumerate().rev() {
        let (Some(low), Some(high)) = (within.low.get(axis), within.high.get(axis)) else { return false };
        if *position < *high {
            *position += 1;
            return true;
        }
        *position = *low;
    }
    false
}
