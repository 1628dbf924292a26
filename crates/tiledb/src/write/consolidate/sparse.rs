//! Consolidation of sparse fragments: all versions of every cell in global order, each with its timestamp (spec §12.1).

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use tesselle_core::{At, Within};

use super::source;
use crate::fragment::Fragment;
use crate::meta::dimension::Dimension;
use crate::meta::schema::ArraySchema;
use crate::meta::slots::Field;
use crate::open::Array;
use crate::read::sparse::survive::{Tested, evaluate};
use crate::read::sparse::{ColumnTiles, Decoded};
use crate::write::array::ArrayWriter;
use crate::write::cells::{Cells, TileCells};
use crate::write::fragment::{FinishedFragment, FragmentEnd, FragmentPlan, FragmentWriter, TileSet};
use crate::write::name::WRITE_VERSION;
use crate::write::order::GlobalOrder;
use crate::{Error, Result};

/// Tiles that are filtered at once.
const GROUP: usize = 16;
/// The delete timestamp of a live cell, and the index of no condition.
const NEVER: u64 = u64::MAX;
/// From this version on, readers can use a part of a fragment whose cells have timestamps.
const HAS_TIMESTAMPS: u32 = 15;
/// From this version on, fragments list the delete conditions applied to their cells.
const HAS_CONDITIONS: u32 = 16;

/// A fragment that is read from front to back.
struct Source<'a> {
    fragment: &'a Fragment,
    /// Attributes of the newest schema, then dimensions.
    columns: Vec<ColumnTiles>,
    timestamps: Option<ColumnTiles>,
    deletes: Option<(ColumnTiles, ColumnTiles)>,
    processed: Vec<String>,
    next: u64,
}

/// A decoded tile of a source.
struct Tile {
    columns: Vec<Cells>,
    order: GlobalOrder,
    timestamps: Vec<u64>,
    delete_timestamps: Vec<u64>,
    conditions: Vec<u64>,
}

/// The next cell of a source.
struct Head {
    tile: Arc<Tile>,
    row: usize,
    /// The end of the sorted run that contains the cell.
    end: usize,
    /// Whether the next tile of the source follows.
    goes_on: bool,
    source: usize,
}

impl Head {
    /// A tile of a source that is in order.
    fn of_stream(tile: Arc<Tile>, source: usize) -> Self {
        Self { row: 0, end: tile.timestamps.len(), tile, goes_on: true, source }
    }

    /// The sorted runs of a tile.
    fn of_runs(tile: &Arc<Tile>, source: usize) -> Vec<Self> {
        let mut out = Vec::new();
        let (mut row, count) = (0, tile.timestamps.len());
        for end in 1..=count {
            if end == count || tile.order.compare_across(end - 1, &tile.order, end).is_gt() {
                out.push(Self { tile: Arc::clone(tile), row, end, goes_on: false, source });
                row = end;
            }
        }
        out
    }

    fn timestamp(&self) -> u64 {
        self.tile.timestamps.value(self.row)
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap returns its maximum: the first cell in order, the newest among equals.
        let place = self.tile.order.compare_across(self.row, &other.tile.order, other.row);
        place
            .reverse()
            .then_with(|| self.timestamp().cmp(&other.timestamp()))
            .then_with(|| self.source.cmp(&other.source))
            .then_with(|| other.row.cmp(&self.row))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl ArrayWriter {
    pub(super) fn merge_sparse(
        &self,
        array: &Array,
        chosen: &[Arc<Fragment>],
        timestamps: (u64, u64),
        purge: bool,
    ) -> Result<Option<(FinishedFragment, u64)>> {
        let sources: Vec<Source<'_>> = chosen
            .iter()
            .map(|fragment| Source::open(array, &self.schema, fragment))
            .collect::<Result<_>>()?;
        let mut conditions: Vec<String> = array
            .deletes
            .iter()
            .filter(|delete| delete.timestamp >= timestamps.0)
            .map(|delete| delete.path.clone())
            .collect();
        for path in sources.iter().flat_map(|source| &source.processed) {
            if !conditions.iter().any(|known| file_name(known) == file_name(path)) {
                conditions.push(path.clone());
            }
        }
        let version = self.merged_version(chosen, &conditions);
        // Without cell timestamps only the newest version of each cell can be kept.
        let with_timestamps = version >= HAS_TIMESTAMPS;
        let with_deletes = !conditions.is_empty() && !purge;
        let plan = FragmentPlan { version, with_timestamps, with_deletes, ..self.plan(timestamps) };
        self.merge_cells(array, sources, plan, &conditions, purge)
    }

    /// The cells of one fragment with their own times and deletions.
    pub(super) fn rewrite_sparse(
        &self,
        array: &Array,
        fragment: &Fragment,
    ) -> Result<Option<(FinishedFragment, u64)>> {
        let source = Source::open(array, &self.schema, fragment)?;
        let conditions = source.processed.clone();
        let plan = FragmentPlan {
            with_timestamps: fragment.footer.has_timestamps,
            with_deletes: fragment.footer.has_deletes || !conditions.is_empty(),
            ..self.plan((fragment.name.start, fragment.name.end))
        };
        self.merge_cells(array, vec![source], plan, &conditions, false)
    }

    /// Merges the cells of `sources` in global order; of their deletions those by `conditions` are known.
    fn merge_cells(
        &self,
        array: &Array,
        mut sources: Vec<Source<'_>>,
        plan: FragmentPlan,
        conditions: &[String],
        purge: bool,
    ) -> Result<Option<(FinishedFragment, u64)>> {
        let FragmentPlan { with_timestamps, with_deletes, .. } = plan;
        let mut output = Output {
            array: self,
            writer: FragmentWriter::create(plan)?,
            with_timestamps,
            with_deletes,
            capacity: usize::try_from(self.schema.capacity).unwrap_or(usize::MAX),
            picks: Vec::new(),
            tiles: Vec::new(),
            end: FragmentEnd {
                processed_conditions: if purge { Vec::new() } else { conditions.to_vec() },
                ..FragmentEnd::default()
            },
            cells: 0,
        };
        let mut heap = BinaryHeap::new();
        for (number, source) in sources.iter_mut().enumerate() {
            let in_order = source.is_in_order(array, &self.schema)?;
            while let Some(tile) = source.next_tile(array, &self.schema, conditions)? {
                if in_order {
                    heap.push(Head::of_stream(tile, number));
                    break;
                }
                heap.extend(Head::of_runs(&tile, number));
            }
        }
        // The cell whose older versions must not reappear: it was purged, or it is kept without its history.
        let mut hides: Option<(Arc<Tile>, usize)> = None;
        while let Some(mut head) = heap.peek_mut() {
            let (tile, row) = (Arc::clone(&head.tile), head.row);
            let deleted = *tile.delete_timestamps.at(row)? != NEVER;
            let shadowed = |(gone, at): &(Arc<Tile>, usize)| gone.order.same_across(*at, &tile.order, row);
            let hidden = !self.schema.allows_dups && hides.as_ref().is_some_and(shadowed);
            let purged = purge && deleted;
            // The head advances to its next cell and is pushed onto the heap again.
            if row + 1 < head.end {
                head.row += 1;
            } else if !head.goes_on {
                PeekMut::pop(head);
            } else {
                let source = sources.get_mut(head.source);
                let source = source.ok_or_else(|| Error::internal("a source is missing"))?;
                match source.next_tile(array, &self.schema, conditions)? {
                    Some(next) => *head = Head::of_stream(next, head.source),
                    None => drop(PeekMut::pop(head)),
                }
            }
            if purged || !with_timestamps {
                hides = Some((Arc::clone(&tile), row));
            }
            if !purged && !hidden {
                output.push(tile, row)?;
            }
        }
        output.finish()
    }
}

impl ArrayWriter {
    /// The version of a merged fragment: that of the array, unless a source has features of a newer version.
    fn merged_version(&self, chosen: &[Arc<Fragment>], conditions: &[String]) -> u32 {
        let needed = if !conditions.is_empty() {
            HAS_CONDITIONS
        } else if chosen.iter().any(|fragment| fragment.footer.has_timestamps) {
            HAS_TIMESTAMPS
        } else {
            0
        };
        if self.version() >= needed { self.version() } else { WRITE_VERSION }
    }
}

/// Fragments refer to conditions by paths of which only the last component is reliable.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl<'a> Source<'a> {
    fn open(array: &Array, schema: &ArraySchema, fragment: &'a Fragment) -> Result<Self> {
        let attributes = schema.attributes.iter().map(|wanted| source::attribute(array, fragment, wanted));
        let dimensions = (0..schema.dimensions.len()).map(|dim| ColumnTiles::dimension(array, fragment, dim));
        let columns = attributes.chain(dimensions).collect::<Result<_>>()?;
        let special = |field: Field| source::field(array, fragment, field);
        let timestamps = fragment.footer.has_timestamps.then(|| special(Field::Timestamps)).transpose()?;
        let deletes = if fragment.footer.has_deletes {
            Some((special(Field::DeleteTimestamps)?, special(Field::DeleteCondition)?))
        } else {
            None
        };
        let processed = fragment.processed_conditions()?;
        Ok(Self { fragment, columns, timestamps, deletes, processed, next: 0 })
    }

    /// Whether the cells are in the order that we write. Non-ASCII strings may not be: engines merge them in a
    /// different order than they sort them, and versions of a cell must be adjacent.
    fn is_in_order(&self, array: &Array, schema: &ArraySchema) -> Result<bool> {
        if !schema.dimensions.iter().any(Dimension::is_var) {
            return Ok(true);
        }
        let dims = self.columns.part(schema.attributes.len()..)?;
        let mut before: Option<(GlobalOrder, usize)> = None;
        for tile in 0..self.fragment.tiles {
            let cells = self.fragment.cells_of(tile);
            let count = usize::try_from(cells).map_err(|_| Error::limit("a tile has too many cells"))?;
            if count == 0 {
                continue;
            }
            let cells_of = |tiles: &ColumnTiles| {
                source::read(array, tiles, tile, cells).map(|decoded| source::cells_of(decoded, count, 1))
            };
            let order =
                GlobalOrder::comparable(schema, &dims.iter().map(cells_of).collect::<Result<Vec<_>>>()?);
            let joins = before.as_ref().is_none_or(|(last, at)| last.compare_across(*at, &order, 0).is_le());
            if !joins || (1..count).any(|row| order.compare_across(row - 1, &order, row).is_gt()) {
                return Ok(false);
            }
            before = Some((order, count - 1));
        }
        Ok(true)
    }

    /// The next non-empty tile, with all deletes applied.
    fn next_tile(
        &mut self,
        array: &Array,
        schema: &ArraySchema,
        conditions: &[String],
    ) -> Result<Option<Arc<Tile>>> {
        while self.next < self.fragment.tiles {
            let tile = self.next;
            self.next += 1;
            let cells = self.fragment.cells_of(tile);
            if cells > 0 {
                return self.tile(array, schema, conditions, tile, cells).map(|tile| Some(Arc::new(tile)));
            }
        }
        Ok(None)
    }

    fn tile(
        &self,
        array: &Array,
        schema: &ArraySchema,
        conditions: &[String],
        tile: u64,
        cells: u64,
    ) -> Result<Tile> {
        let count = usize::try_from(cells).map_err(|_| Error::limit("a tile has too many cells"))?;
        let read = |tiles: &ColumnTiles| source::read(array, tiles, tile, cells);
        let decoded: Vec<Decoded> = self.columns.iter().map(read).collect::<Result<_>>()?;
        let timestamps = match &self.timestamps {
            Some(tiles) => read(tiles)?.numbers(),
            None => vec![self.fragment.name.start; count],
        };
        let (mut delete_timestamps, mut numbers) = (vec![NEVER; count], vec![NEVER; count]);
        if let Some((times, indexes)) = &self.deletes {
            delete_timestamps = read(times)?.numbers();
            // Conditions are renumbered.
            let renumber = |index: u64| -> u64 {
                let old = usize::try_from(index).ok().and_then(|index| self.processed.get(index));
                let new = old
                    .and_then(|old| conditions.iter().position(|known| file_name(known) == file_name(old)));
                new.map_or(NEVER, |new| new as u64)
            };
            numbers = read(indexes)?.numbers().into_iter().map(renumber).collect();
        }
        for delete in &array.deletes {
            let same = |known: &String| file_name(known) == file_name(&delete.path);
            if self.processed.iter().any(same) {
                continue;
            }
            let Some(number) = conditions.iter().position(same) else { continue };
            let field = |name: &str| tested(self.fragment, schema, &decoded, name);
            let survives = evaluate(&delete.survives, count, &field)?;
            for (cell, survives) in survives.into_iter().enumerate() {
                let (time, slot) = (delete_timestamps.at_mut(cell)?, numbers.at_mut(cell)?);
                if !survives && delete.timestamp >= *timestamps.at(cell)? && *time == NEVER {
                    (*time, *slot) = (delete.timestamp, number as u64);
                }
            }
        }
        let sizes =
            schema.attributes.iter().map(|a| a.datatype.size()).chain(schema.dimensions.iter().map(|_| 1));
        let columns: Vec<Cells> = decoded
            .into_iter()
            .zip(sizes)
            .map(|(decoded, size)| source::cells_of(decoded, count, size))
            .collect();
        let coords = columns.part(schema.attributes.len()..)?;
        let order = GlobalOrder::comparable(schema, coords);
        Ok(Tile { order, columns, timestamps, delete_timestamps, conditions: numbers })
    }
}

fn tested<'a>(
    fragment: &Fragment,
    schema: &ArraySchema,
    decoded: &'a [Decoded],
    name: &str,
) -> Option<Tested<'a>> {
    let (at, datatype) = if let Some((at, attribute)) = schema.attribute(name) {
        (at, attribute.datatype)
    } else {
        let (at, dimension) = schema.dimension(name)?;
        (schema.attributes.len() + at, dimension.datatype)
    };
    Some(Tested { datatype, cells: decoded.get(at)?, is_absent: fragment.lacks(name) })
}

/// Gathers picked cells into tiles.
struct Output<'a> {
    array: &'a ArrayWriter,
    writer: FragmentWriter,
    with_timestamps: bool,
    with_deletes: bool,
    capacity: usize,
    picks: Vec<(Arc<Tile>, usize)>,
    tiles: Vec<TileSet>,
    end: FragmentEnd,
    cells: u64,
}

impl Output<'_> {
    fn push(&mut self, tile: Arc<Tile>, row: usize) -> Result<()> {
        self.picks.push((tile, row));
        self.cells += 1;
        if self.picks.len() == self.capacity { self.cut() } else { Ok(()) }
    }

    fn cut(&mut self) -> Result<()> {
        let picks = std::mem::take(&mut self.picks);
        let stored = self.array.schema.attributes.len() + self.array.schema.dimensions.len();
        let mut fields: Vec<TileCells> =
            (0..stored).map(|field| gather(&picks, field)).collect::<Result<_>>()?;
        let special = |pick: fn(&Tile) -> &Vec<u64>| {
            let number = |(tile, row): &(Arc<Tile>, usize)| pick(tile).value(*row);
            let data = picks.iter().flat_map(|picked| number(picked).to_le_bytes()).collect();
            TileCells { data, offsets: None, validity: None }
        };
        if self.with_timestamps {
            fields.push(special(|tile| &tile.timestamps));
        }
        if self.with_deletes {
            fields.extend([special(|tile| &tile.delete_timestamps), special(|tile| &tile.conditions)]);
        }
        let set = TileSet { fields, real: std::iter::once(0..picks.len()).collect() };
        self.end.last_tile_cells = picks.len() as u64;
        self.tiles.push(set);
        if self.tiles.len() < GROUP {
            return Ok(());
        }
        self.array.check_canceled()?;
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.append(&std::mem::take(&mut self.tiles))
    }

    /// Completes the fragment; `None` if it would be empty.
    fn finish(mut self) -> Result<Option<(FinishedFragment, u64)>> {
        if self.cells == 0 {
            return Ok(None);
        }
        if !self.picks.is_empty() {
            self.cut()?;
        }
        self.flush()?;
        Ok(Some((self.writer.finish(&self.end)?, self.cells)))
    }
}

fn gather(picks: &[(Arc<Tile>, usize)], field: usize) -> Result<TileCells> {
    let Some((first, _)) = picks.first() else { return Ok(TileCells::default()) };
    let first = first.columns.at(field)?;
    let mut out = TileCells {
        data: Vec::with_capacity(picks.len() * first.size),
        offsets: first.offsets.as_ref().map(|_| Vec::with_capacity(picks.len())),
        validity: first.validity.as_ref().map(|_| Vec::with_capacity(picks.len())),
    };
    for (tile, row) in picks {
        let cells = tile.columns.at(field)?;
        if let Some(offsets) = &mut out.offsets {
            offsets.push(out.data.len() as u64);
        }
        out.data.extend_from_slice(cells.cell(*row));
        if let (Some(all), Some(own)) = (&mut out.validity, &cells.validity) {
            all.push(own.value(*row));
        }
    }
    Ok(out)
}
