//! Planning of sparse reads: tile selection and grouping. No I/O.
//!
//! Where cells of several fragments, or several versions in one fragment, can share coordinates, tiles that may contain
//! equal coordinates go into one task, which keeps the newest. Tiles that no other fragment overlaps are read
//! independently.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use tesselle_core::driver::parallel;
use tesselle_core::{Action, At, ColumnBounds, Plan, Predicate, Scalar, Scan, Task, Verdict};

use super::cells::{ColumnTiles, order_keys};
use super::task::SparseTask;
use crate::fragment::Fragment;
use crate::meta::datatype::Datatype;
use crate::meta::slots::Field;
use crate::meta::value::{Bounds, write_scalar};
use crate::open::{Array, overlap};
use crate::read::bounds::tile_bounds;
use crate::read::dense::field_of;
use crate::read::projection::Projection;
use crate::read::schema::{Column, Source};
use crate::{Error, Result};

/// Cells per task: their numbers are about a huge page.
const TASK_CELLS: u64 = 1 << 18;
/// Cells per task that have to be compared with one another.
const DISPUTED_CELLS: u64 = 1 << 16;
/// Decoded bytes per task.
const TASK_BYTES: u64 = 16 << 20;
/// Number of tasks' worth of overlapping tiles above which their space is split.
const SLAB_TASKS: u64 = 8;

/// A field that is read before rows are selected.
pub(crate) struct KeyField {
    pub(crate) name: String,
    pub(crate) datatype: Datatype,
    pub(crate) tiles: ColumnTiles,
    /// Whether the schema of the fragment lacks the field.
    pub(crate) is_absent: bool,
}

/// The fields of one fragment that a scan reads.
pub(crate) struct FragmentFields {
    pub(crate) fragment: Arc<Fragment>,
    /// Per column of the projection.
    pub(crate) columns: Vec<ColumnTiles>,
    /// Fields needed by the predicate, deduplication and delete conditions.
    pub(crate) keys: Vec<KeyField>,
    pub(crate) timestamps: Option<ColumnTiles>,
    pub(crate) delete_timestamps: Option<ColumnTiles>,
    /// Delete conditions to evaluate, by position in the array's list.
    pub(crate) deletes: Vec<usize>,
}

/// State shared by all tasks of a sparse read.
pub(crate) struct SparseScan {
    pub(crate) array: Arc<Array>,
    pub(crate) projection: Projection,
    /// By fragment position; only the fragments in use.
    fragments: Vec<Option<FragmentFields>>,
}

impl SparseScan {
    /// Keeps the tiles that can contain a matching row by what conditions have learned since the scan was planned.
    pub(super) fn narrow(&self, tiles: &mut Vec<TileRef>) -> Result<()> {
        let Some(learned) = self.projection.predicate.as_ref().and_then(Predicate::learned) else {
            return Ok(());
        };
        let mut kept = Vec::with_capacity(tiles.len());
        for tile in tiles.drain(..) {
            let fragment = self.array.fragments.get(tile.fragment);
            let fragment = fragment.ok_or_else(|| Error::internal("there is no such fragment"))?;
            let tree = fragment.rtree()?;
            let at = usize::try_from(tile.tile).unwrap_or(usize::MAX);
            if prune_tile(fragment, &self.projection, tree.leaves(), at, &learned, &self.array)? {
                kept.push(tile);
            }
        }
        *tiles = kept;
        Ok(())
    }
}

impl SparseScan {
    /// The fields of the fragment at this position, if it is in use.
    pub(super) fn fields(&self, position: usize) -> Option<&FragmentFields> {
        self.fragments.get(position)?.as_ref()
    }
}

/// A tile of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TileRef {
    pub(crate) fragment: usize,
    pub(crate) tile: u64,
    pub(crate) cells: u64,
}

/// A value on one dimension that splits space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cut {
    Key(u64),
    String(Vec<u8>),
}

/// A slice of space along one dimension: from `low`, up to but excluding `high`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slab {
    pub(crate) dim: usize,
    pub(crate) low: Option<Cut>,
    pub(crate) high: Option<Cut>,
}

/// Plans a sparse read.
pub(crate) fn plan(array: &Arc<Array>, scan: &Scan) -> Result<Plan> {
    if scan.selection.is_some() {
        return Err(Error::invalid("a sparse array has no grid, so it cannot be sliced")
            .suggest("use {} with the dimensions, as in \"x\" BETWEEN 0 AND 9", [Action::Filter]));
    }
    let projection = Projection::try_new(array, scan)?;
    let all: u64 = array.fragments.iter().map(|fragment| fragment.tiles).fold(0, u64::saturating_add);
    let contested = contested(array);
    let mut alone = Vec::new();
    let mut disputed = Vec::new();
    let found = parallel::try_map(array.fragments.iter().zip(&contested), |(fragment, contested)| {
        tiles_of(array, fragment, &projection, *contested)
    })?;
    for (position, (fragment, tiles)) in array.fragments.iter().zip(found).enumerate() {
        let is_contested = *contested.at(position)?;
        for tile in tiles {
            let tile = tile as u64;
            let entry = TileRef { fragment: position, tile, cells: fragment.cells_of(tile) };
            if is_contested { disputed.push(entry) } else { alone.push(entry) }
        }
    }
    let read = alone.len() + disputed.len();
    let mut used: Vec<usize> = alone.iter().chain(&disputed).map(|tile| tile.fragment).collect();
    used.sort_unstable();
    used.dedup();
    let fields = parallel::try_map(used, |position| {
        let fields = fields_of(array, position, &projection, *contested.at(position)?)?;
        Ok::<_, Error>((position, fields))
    })?;
    let mut fragments: Vec<Option<FragmentFields>> = Vec::new();
    fragments.resize_with(array.fragments.len(), || None);
    for (position, fields) in fields {
        *fragments.at_mut(position)? = Some(fields);
    }
    let scanned = Arc::new(SparseScan { array: Arc::clone(array), projection, fragments });
    let cells_of_task = |most| scan.batch_rows.map_or(most, |rows| rows.max(1) as u64);
    let mut tasks: Vec<Box<dyn Task>> = Vec::new();
    let exact = scan.predicate.is_none() && array.deletes.is_empty();
    let mut rows = 0_u64;
    for tiles in grouped(&scanned, &alone, cells_of_task(TASK_CELLS)) {
        if exact && scan.limit.is_some_and(|limit| rows >= limit) {
            break;
        }
        rows = rows.saturating_add(tiles.iter().map(|tile| tile.cells).sum());
        tasks.push(Box::new(SparseTask::alone(Arc::clone(&scanned), tiles)));
    }
    for (tiles, slab) in disputed_groups(array, disputed, cells_of_task(DISPUTED_CELLS))? {
        tasks.push(Box::new(SparseTask::disputed(Arc::clone(&scanned), tiles, slab)));
    }
    Ok(Plan { tasks, pieces: all, pruned: all.saturating_sub(read as u64) })
}

/// For each fragment, whether another fragment, or another version in the same one, may contain a cell with the same
/// coordinates.
fn contested(array: &Array) -> Vec<bool> {
    let fragments = &array.fragments;
    if array.schema.allows_dups {
        return vec![false; fragments.len()];
    }
    let mut out: Vec<bool> = fragments.iter().map(|fragment| fragment.footer.has_timestamps).collect();
    for (i, a) in fragments.iter().enumerate() {
        if out.iter().all(|contested| *contested) {
            break;
        }
        for (j, b) in fragments.iter().enumerate().skip(i + 1) {
            let decided = out.get(i) == Some(&true) && out.get(j) == Some(&true);
            if !decided && overlap(a, b) {
                for at in [i, j] {
                    if let Some(slot) = out.get_mut(at) {
                        *slot = true;
                    }
                }
            }
        }
    }
    out
}

/// The tiles of a fragment that can contain a matching row.
fn tiles_of(
    array: &Array,
    fragment: &Fragment,
    projection: &Projection,
    contested: bool,
) -> Result<Vec<usize>> {
    if fragment.tiles == 0 {
        return Ok(Vec::new());
    }
    let dims = &array.schema.dimensions;
    let Some(predicate) = &projection.predicate else {
        fragment.rtree()?;
        return Ok((0..usize::try_from(fragment.tiles).unwrap_or(usize::MAX)).collect());
    };
    let tree = fragment.rtree()?;
    let mut found = tree.search(dims, &|mbr| by_box(array, predicate, mbr, &|_| None) != Verdict::Never)?;
    // A tile whose cells may shadow older ones must be read even if its values cannot match.
    let tests_attributes =
        projection.tested().iter().any(|column| matches!(column.source, Source::Attribute(_)));
    if contested || !tests_attributes {
        return Ok(found);
    }
    let leaves = tree.leaves();
    let mut failed = None;
    found.retain(|tile| match prune_tile(fragment, projection, leaves, *tile, predicate, array) {
        Ok(keep) => keep,
        Err(error) => {
            failed.get_or_insert(error);
            true
        }
    });
    failed.map_or(Ok(found), Err)
}

/// The verdict on the cells of a box, by the bounds of its dimensions and of attributes.
fn by_box(
    array: &Array,
    predicate: &Predicate,
    mbr: &[Bounds],
    attribute: &dyn Fn(&str) -> Option<ColumnBounds>,
) -> Verdict {
    predicate.verdict(&|name| match array.schema.dimension(name) {
        Some((index, _)) => mbr.get(index).and_then(|range| range_bounds(array, name, range)),
        None => attribute(name),
    })
}

/// Whether a tile is kept, by its MBR and its statistics together.
fn prune_tile(
    fragment: &Fragment,
    projection: &Projection,
    leaves: Option<&crate::meta::rtree::Mbrs>,
    tile: usize,
    predicate: &Predicate,
    array: &Array,
) -> Result<bool> {
    let Some(leaves) = leaves else { return Ok(true) };
    let mbr = leaves.get(tile, &array.schema.dimensions)?;
    let mut bounds: HashMap<&str, ColumnBounds> = HashMap::new();
    for column in projection.tested() {
        if let Source::Attribute(_) = column.source
            && let Some(found) = tile_bounds(fragment, column, tile as u64)?
        {
            bounds.insert(&column.name, found);
        }
    }
    Ok(by_box(array, predicate, &mbr, &|name| bounds.get(name).cloned()) != Verdict::Never)
}

/// A range of a dimension as bounds of its column; strings compare by unsigned bytes in both. `None` if the column does
/// not show the stored values.
fn range_bounds(array: &Array, name: &str, range: &Bounds) -> Option<ColumnBounds> {
    let column = array.columns.iter().find(|column| column.name == name)?;
    if column.field.is_nullable() {
        return None;
    }
    Some(ColumnBounds {
        min: Some(range.low.clone()),
        max: Some(range.high.clone()),
        nulls: Some(0),
        rows: None,
    })
}

fn fields_of(
    array: &Array,
    position: usize,
    projection: &Projection,
    contested: bool,
) -> Result<FragmentFields> {
    let fragment =
        array.fragments.get(position).ok_or_else(|| Error::internal("there is no such fragment"))?;
    let columns: Vec<ColumnTiles> = projection
        .columns
        .iter()
        .map(|column| column_tiles(array, fragment, column))
        .collect::<Result<_>>()?;
    let processed = if array.deletes.is_empty() { Vec::new() } else { fragment.processed_conditions()? };
    let has_timestamps = fragment.footer.has_timestamps;
    let applies = |delete: &crate::open::Delete| {
        let late_enough = has_timestamps || delete.timestamp >= fragment.name.start;
        late_enough && !processed.iter().any(|path| same_commit(path, &delete.path))
    };
    let deletes: Vec<usize> =
        array.deletes.iter().enumerate().filter(|(_, delete)| applies(delete)).map(|(i, _)| i).collect();
    let mut names: Vec<&str> = projection.tested().iter().map(|column| column.name.as_str()).collect();
    if contested {
        names.extend(array.schema.dimensions.iter().map(|dim| dim.name.as_str()));
    }
    for index in &deletes {
        array.deletes.at(*index)?.survives.fields(&mut names);
    }
    let mut keys: Vec<KeyField> = Vec::new();
    for name in names {
        if keys.iter().any(|key| key.name == name) {
            continue;
        }
        let known = projection.columns.iter().position(|column| column.name == name);
        let (datatype, tiles) = if let Some((column, tiles)) =
            known.and_then(|i| Some((projection.columns.get(i)?, columns.get(i)?)))
        {
            (column.datatype, tiles.clone())
        } else {
            let column = array.column(name)?;
            (column.datatype, column_tiles(array, fragment, column)?)
        };
        let is_absent = fragment.lacks(name);
        keys.push(KeyField { name: name.to_owned(), datatype, tiles, is_absent });
    }
    let special = |field: Field| {
        let has = fragment.slots.index(field).is_some();
        let tiles = || crate::read::tile::FieldTiles::try_new(array, fragment, field);
        has.then(|| tiles().map(|tiles| ColumnTiles::Field(Arc::new(tiles)))).transpose()
    };
    let partly_visible = !fragment.name.is_within(&array.range);
    let needs_times = has_timestamps && (contested || partly_visible || !deletes.is_empty());
    Ok(FragmentFields {
        fragment: Arc::clone(fragment),
        columns,
        keys,
        timestamps: if needs_times { special(Field::Timestamps)? } else { None },
        delete_timestamps: special(Field::DeleteTimestamps)?,
        deletes,
    })
}

/// Fragments refer to conditions by a path relative to the array, of which only the last component is reliable.
fn same_commit(a: &str, b: &str) -> bool {
    a.rsplit('/').next() == b.rsplit('/').next()
}

fn column_tiles(array: &Array, fragment: &Fragment, column: &Column) -> Result<ColumnTiles> {
    match column.source {
        Source::Dimension(dim) => ColumnTiles::dimension(array, fragment, dim),
        Source::Attribute(_) => Ok(match field_of(array, fragment, column)? {
            Some(field) => ColumnTiles::Field(Arc::new(field)),
            None => ColumnTiles::Fill {
                value: column.fill.clone(),
                valid: column.nullable.then_some(column.fill_valid),
                is_var: column.is_var(),
            },
        }),
    }
}

/// Consecutive tiles in groups of a suitable size.
fn grouped(scan: &SparseScan, tiles: &[TileRef], task_cells: u64) -> Vec<Vec<TileRef>> {
    let mut out: Vec<Vec<TileRef>> = Vec::new();
    let (mut cells, mut bytes) = (0_u64, 0_u64);
    for tile in tiles {
        let fields = scan.fields(tile.fragment);
        let tile_bytes = fields.map_or(0, |fields| {
            fields
                .columns
                .iter()
                .map(|column| column.decoded_bytes(tile.tile, tile.cells))
                .fold(0, u64::saturating_add)
        });
        let full =
            cells.saturating_add(tile.cells) > task_cells || bytes.saturating_add(tile_bytes) > TASK_BYTES;
        match out.last_mut() {
            Some(group) if !full => group.push(*tile),
            _ => {
                out.push(vec![*tile]);
                (cells, bytes) = (0, 0);
            }
        }
        cells = cells.saturating_add(tile.cells);
        bytes = bytes.saturating_add(tile_bytes);
    }
    out
}

/// A tile with its MBR.
struct Boxed {
    tile: TileRef,
    mbr: Vec<Bounds>,
}

/// Groups of tiles that may contain equal coordinates, each with the slab of space it covers.
fn disputed_groups(
    array: &Array,
    tiles: Vec<TileRef>,
    task_cells: u64,
) -> Result<Vec<(Vec<TileRef>, Option<Slab>)>> {
    let slab_cells = task_cells.saturating_mul(SLAB_TASKS);
    if tiles.is_empty() {
        return Ok(Vec::new());
    }
    let dims = &array.schema.dimensions;
    let mut boxed = Vec::with_capacity(tiles.len());
    for tile in tiles {
        let fragment =
            array.fragments.get(tile.fragment).ok_or_else(|| Error::internal("there is no such fragment"))?;
        let tree = fragment.rtree()?;
        let leaves = tree.leaves().ok_or_else(|| Error::corrupt("a sparse fragment has no MBRs"))?;
        let at = usize::try_from(tile.tile).unwrap_or(usize::MAX);
        boxed.push(Boxed { tile, mbr: leaves.get(at, dims)? });
    }
    // The dimension that separates the tiles best.
    let mut best: Option<(usize, Vec<Vec<usize>>)> = None;
    for dim in 0..dims.len() {
        let groups = components(&boxed, dim)?;
        if best.as_ref().is_none_or(|(_, known)| groups.len() > known.len()) {
            best = Some((dim, groups));
        }
    }
    let Some((dim, groups)) = best else {
        return Ok(vec![(boxed.iter().map(|b| b.tile).collect(), None)]);
    };
    let mut out: Vec<(Vec<TileRef>, Option<Slab>)> = Vec::new();
    let mut open_cells = u64::MAX;
    for group in groups {
        let members: Vec<TileRef> = group.iter().map(|i| Ok(boxed.at(*i)?.tile)).collect::<Result<_>>()?;
        let cells: u64 = members.iter().map(|tile| tile.cells).fold(0, u64::saturating_add);
        if cells > slab_cells {
            out.extend(slabs(array, &boxed, &group, dim, slab_cells)?);
            open_cells = u64::MAX;
            continue;
        }
        // Small groups share a task.
        match out.last_mut() {
            Some((open, None)) if open_cells.saturating_add(cells) <= task_cells => {
                open.extend(members);
                open_cells = open_cells.saturating_add(cells);
            }
            _ => {
                out.push((members, None));
                open_cells = cells;
            }
        }
    }
    Ok(out)
}

/// Groups whose ranges along `dim` do not touch.
fn components(boxed: &[Boxed], dim: usize) -> Result<Vec<Vec<usize>>> {
    let low = |i: &usize| boxed.get(*i).and_then(|b| b.mbr.get(dim)).map(|range| &range.low);
    let mut order: Vec<usize> = (0..boxed.len()).collect();
    order.sort_by(|a, b| low(a).zip(low(b)).and_then(|(a, b)| a.compare(b)).unwrap_or(Ordering::Equal));
    let mut out: Vec<Vec<usize>> = Vec::new();
    let mut reach: Option<&Scalar> = None;
    for i in order {
        let range = boxed.at(i)?.mbr.at(dim)?;
        let apart = reach.is_none_or(|reach| range.low.compare(reach) == Some(Ordering::Greater));
        match out.last_mut() {
            Some(group) if !apart => group.push(i),
            _ => out.push(vec![i]),
        }
        if reach.is_none_or(|reach| range.high.compare(reach) == Some(Ordering::Greater)) {
            reach = Some(&range.high);
        }
    }
    Ok(out)
}

/// Splits the space of one large group; a tile belongs to every slab that it intersects.
fn slabs(
    array: &Array,
    boxed: &[Boxed],
    group: &[usize],
    dim: usize,
    slab_cells: u64,
) -> Result<Vec<(Vec<TileRef>, Option<Slab>)>> {
    let datatype = array.schema.dimensions.get(dim).map(|dim| dim.datatype);
    let datatype = datatype.ok_or_else(|| Error::internal("there is no such dimension"))?;
    let member = |i: &usize| -> Result<(&Boxed, &Bounds)> {
        let member = boxed.at(*i)?;
        Ok((member, member.mbr.at(dim)?))
    };
    let members: Vec<(&Boxed, &Bounds)> = group.iter().map(member).collect::<Result<_>>()?;
    let cuts = cuts(&members, slab_cells / 2);
    if cuts.is_empty() {
        return Ok(vec![(members.iter().map(|(member, _)| member.tile).collect(), None)]);
    }
    let cut_of = |value: &Scalar| -> Result<Cut> {
        let mut bytes = Vec::new();
        write_scalar(value, datatype, &mut bytes)?;
        if datatype.is_byte_string() {
            return Ok(Cut::String(bytes));
        }
        let keys = order_keys(datatype.physical(), &bytes);
        keys.first().copied().map(Cut::Key).ok_or_else(|| Error::internal("a cut has no value"))
    };
    let mut out = Vec::new();
    for i in 0..=cuts.len() {
        let low = i.checked_sub(1).and_then(|i| cuts.get(i)).copied();
        let high = cuts.get(i).copied();
        let reaches = |range: &Bounds| {
            low.is_none_or(|low| range.high.compare(low) != Some(Ordering::Less))
                && high.is_none_or(|high| range.low.compare(high) == Some(Ordering::Less))
        };
        let tiles =
            members.iter().filter(|(_, range)| reaches(range)).map(|(member, _)| member.tile).collect();
        let slab = Slab { dim, low: low.map(&cut_of).transpose()?, high: high.map(&cut_of).transpose()? };
        out.push((tiles, Some(slab)));
    }
    Ok(out)
}

/// Where to cut the space of tiles, given with their ranges and sorted by lower ends: at lower ends that are at least `apart`
/// cells apart. A tile that reaches across a cut is read on both sides, so there is no cut where such tiles have more than
/// half as many cells: among tiles that all span the whole space, cuts would only multiply the work.
fn cuts<'a>(members: &[(&Boxed, &'a Bounds)], apart: u64) -> Vec<&'a Scalar> {
    let mut by_end: Vec<&(&Boxed, &Bounds)> = members.iter().collect();
    by_end.sort_by(|a, b| a.1.high.compare(&b.1.high).unwrap_or(Ordering::Equal));
    let mut by_end = by_end.into_iter().peekable();
    let (mut cuts, mut last): (Vec<&Scalar>, _) = (Vec::new(), members.first().map(|first| &first.1.low));
    // The cells of tiles that begin before this one, of those that also end before it, and those before the last cut.
    let (mut begun, mut ended, mut before) = (0_u64, 0_u64, 0_u64);
    for (member, range) in members {
        while let Some((other, _)) =
            by_end.next_if(|(_, other)| other.high.compare(&range.low) == Some(Ordering::Less))
        {
            ended = ended.saturating_add(other.tile.cells);
        }
        let (own, across) = (begun.saturating_sub(before), begun.saturating_sub(ended));
        let rises = last.is_some_and(|last| range.low.compare(last) == Some(Ordering::Greater));
        if own >= apart && across <= own / 2 && rises {
            cuts.push(&range.low);
            (last, before) = (Some(&range.low), begun);
        }
        begun = begun.saturating_add(member.tile.cells);
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(ranges: &[(i64, i64)]) -> Vec<Boxed> {
        let mbr = |(low, high): &(i64, i64)| vec![Bounds { low: (*low).into(), high: (*high).into() }];
        let tile = TileRef { fragment: 0, tile: 0, cells: 10 };
        ranges.iter().map(|range| Boxed { tile, mbr: mbr(range) }).collect()
    }

    fn cut(ranges: &[(i64, i64)], apart: u64) -> Vec<Scalar> {
        let boxed = boxed(ranges);
        let members: Vec<(&Boxed, &Bounds)> = boxed.iter().map(|member| (member, &member.mbr[0])).collect();
        cuts(&members, apart).into_iter().cloned().collect()
    }

    #[test]
    fn space_is_cut_where_few_tiles_reach_across() {
        // Two fragments of stripes, shifted by half a stripe.
        let stripes: Vec<(i64, i64)> = (0..20).map(|i| (i * 5, i * 5 + 9)).collect();
        assert_eq!(cut(&stripes, 40), [20, 40, 60, 80].map(|at: i64| Scalar::from(at)));
        // Each covers nearly everything: no cut separates them.
        let whole: Vec<(i64, i64)> = (0..20).map(|i| (i, 1000 - i)).collect();
        assert_eq!(cut(&whole, 40), []);
        assert_eq!(cut(&[(0, 9); 20], 40), []);
    }
}
