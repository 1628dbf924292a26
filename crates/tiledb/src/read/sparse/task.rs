//! One group of sparse tiles: selects the rows, then decodes the remaining columns.

use std::sync::Arc;

use arrow_array::ArrayRef;
use bytes::Bytes;
use tesselle_core::driver::parallel;
use tesselle_core::{At, ByteRange, Cost, Step, Task, Within};

use super::assemble::assemble;
use super::cells::Decoded;
use super::dedup::{Candidate, newest};
use super::plan::{Cut, FragmentFields, KeyField, Slab, SparseScan, TileRef};
use super::survive::{Tested, evaluate};
use crate::read::tile::StoredTile;
use crate::{Error, Result};

enum State {
    Start,
    Keys,
    Output(Vec<Chosen>),
    Done,
}

/// A tile with its state so far.
pub(super) struct Chosen {
    pub(super) tile: TileRef,
    /// Decoded key fields, in the order of the fragment's list.
    pub(super) keys: Vec<Decoded>,
    /// The selected rows; `None` is all.
    pub(super) picks: Option<Vec<u32>>,
}

impl Chosen {
    pub(super) fn rows(&self) -> usize {
        self.picks.as_ref().map_or(self.tile.cells as usize, Vec::len)
    }

    /// Keeps some of the selected rows, by their position among them.
    fn keep(&mut self, rows: &mut dyn Iterator<Item = u32>) -> Result<()> {
        let picks: Vec<u32> = match &self.picks {
            Some(before) => rows.map(|row| before.at(row as usize).copied()).collect::<Result<_>>()?,
            None => rows.collect(),
        };
        self.picks = (picks.len() as u64 != self.tile.cells).then_some(picks);
        Ok(())
    }
}

pub(crate) struct SparseTask {
    scan: Arc<SparseScan>,
    tiles: Vec<TileRef>,
    /// Whether other tiles may have newer cells of the same coordinates.
    contested: bool,
    /// Whether cells of several tiles, or several versions of one, may share coordinates.
    disputed: bool,
    slab: Option<Slab>,
    state: State,
}

impl SparseTask {
    /// A task over tiles that no other fragment overlaps.
    pub(super) fn alone(scan: Arc<SparseScan>, tiles: Vec<TileRef>) -> Self {
        Self { scan, tiles, contested: false, disputed: false, slab: None, state: State::Start }
    }

    /// A task over tiles that may share coordinates; it returns the cells in `slab`.
    pub(super) fn disputed(scan: Arc<SparseScan>, tiles: Vec<TileRef>, slab: Option<Slab>) -> Self {
        let first = tiles.first().map(|tile| tile.fragment);
        let versions = |tile: &TileRef| {
            scan.fields(tile.fragment).is_some_and(|fields| fields.fragment.footer.has_timestamps)
        };
        let disputed = tiles.iter().any(|tile| Some(tile.fragment) != first || versions(tile));
        Self { scan, tiles, contested: true, disputed, slab, state: State::Start }
    }

    fn fields(&self, tile: TileRef) -> Result<&FragmentFields> {
        self.scan.fields(tile.fragment).ok_or_else(|| Error::internal("a tile belongs to no fragment"))
    }

    /// The ranges to read before rows can be selected.
    fn key_ranges(&self) -> Result<Vec<ByteRange>> {
        let mut out = Vec::new();
        for tile in &self.tiles {
            let fields = self.fields(*tile)?;
            let keys = fields.keys.iter().map(|key| &key.tiles);
            for tiles in keys.chain(&fields.timestamps).chain(&fields.delete_timestamps) {
                tiles.ranges(tile.tile, &mut out)?;
            }
        }
        Ok(out)
    }

    /// Decodes the key fields and selects rows by time, slab, coordinates, age and delete conditions.
    fn choose(&self, fetched: Vec<Bytes>) -> Result<Vec<Chosen>> {
        let mut fetched = fetched.into_iter();
        let mut stored = Vec::with_capacity(self.tiles.len());
        for tile in &self.tiles {
            let fields = self.fields(*tile)?;
            let mut take = |tiles: &super::ColumnTiles| tiles.take(&mut fetched);
            let keys: Vec<StoredTile> = fields.keys.iter().map(|key| take(&key.tiles)).collect();
            let times = fields.timestamps.as_ref().map(&mut take);
            stored.push((*tile, keys, times, fields.delete_timestamps.as_ref().map(&mut take)));
        }
        let decoded = parallel::try_map(stored, |(tile, keys, times, deletions)| {
            let fields = self.fields(tile)?;
            let keys = fields.keys.iter().zip(&keys);
            let keys = keys.map(|(key, stored)| key.tiles.decode(stored, tile.tile, tile.cells));
            let mut chosen = Chosen { tile, keys: keys.collect::<Result<_>>()?, picks: None };
            let numbers = |tiles: &Option<super::ColumnTiles>, stored: Option<StoredTile>| {
                let decode = |(tiles, stored): (&super::ColumnTiles, StoredTile)| {
                    Ok::<_, Error>(tiles.decode(&stored, tile.tile, tile.cells)?.numbers())
                };
                tiles.as_ref().zip(stored).map(decode).transpose()
            };
            let times = numbers(&fields.timestamps, times)?;
            let deletions = numbers(&fields.delete_timestamps, deletions)?;
            self.by_time(&mut chosen, times.as_deref());
            self.by_slab(&mut chosen)?;
            self.by_coordinates(&mut chosen)?;
            Ok::<_, Error>((chosen, times, deletions))
        })?;
        let (mut chosen, mut times) = (Vec::with_capacity(decoded.len()), Vec::with_capacity(decoded.len()));
        let mut deletions = Vec::with_capacity(decoded.len());
        for (tile, written, deleted) in decoded {
            chosen.push(tile);
            times.push(written);
            deletions.push(deleted);
        }
        if self.disputed {
            self.by_age(&mut chosen, &times)?;
        }
        for ((tile, times), deletions) in chosen.iter_mut().zip(&times).zip(&deletions) {
            self.by_deletion(tile, times.as_deref(), deletions.as_deref())?;
        }
        Ok(chosen)
    }

    /// Applies the part of the predicate that needs nothing but the coordinates.
    fn by_coordinates(&self, tile: &mut Chosen) -> Result<()> {
        let projection = &self.scan.projection;
        let Some(columns) = projection.early().filter(|_| tile.rows() > 0) else { return Ok(()) };
        let column = |at: &usize| {
            let column = projection.columns.at(*at)?;
            assemble(&self.scan, *at, column, std::slice::from_ref(tile), &mut std::iter::empty())
        };
        let arrays: Vec<ArrayRef> = columns.iter().map(column).collect::<Result<_>>()?;
        if let Some(passing) = projection.passing_early(&arrays, tile.rows())? {
            tile.keep(&mut passing.into_iter())?;
        }
        Ok(())
    }

    /// Drops cells written outside the time range of the read.
    fn by_time(&self, tile: &mut Chosen, times: Option<&[u64]>) {
        let range = &self.scan.array.range;
        if let Some(times) = times.filter(|times| times.iter().any(|time| !range.contains(time))) {
            retain(tile, |cell| range.contains(&times.value(cell)));
        }
    }

    fn by_slab(&self, tile: &mut Chosen) -> Result<()> {
        let Some(slab) = &self.slab else { return Ok(()) };
        let dims = &self.scan.array.schema.dimensions;
        let dim = dims.get(slab.dim).ok_or_else(|| Error::internal("there is no such dimension"))?;
        let keys = &self.fields(tile.tile)?.keys;
        let at = keys.iter().position(|key| key.name == dim.name);
        let decoded = at.and_then(|at| tile.keys.get(at));
        let decoded = decoded.ok_or_else(|| Error::internal("a slab's dimension was not read"))?;
        let inside: Vec<bool> = if let Some(keys) = decoded.order_keys(dim.datatype) {
            let bound = |cut: &Option<Cut>| match cut {
                Some(Cut::Key(key)) => Some(*key),
                _ => None,
            };
            let (low, high) = (bound(&slab.low), bound(&slab.high));
            keys.iter()
                .map(|key| low.is_none_or(|low| *key >= low) && high.is_none_or(|high| *key < high))
                .collect()
        } else {
            let bound = |cut: &Option<Cut>| match cut {
                Some(Cut::String(text)) => Some(text.clone()),
                _ => None,
            };
            let (low, high) = (bound(&slab.low), bound(&slab.high));
            let text = |cell: usize| decoded.var_cell(cell);
            let cells = 0..tile.tile.cells as usize;
            cells
                .map(|cell| {
                    low.as_ref().is_none_or(|low| text(cell) >= low.as_slice())
                        && high.as_ref().is_none_or(|high| text(cell) < high.as_slice())
                })
                .collect()
        };
        retain(tile, |cell| inside.value(cell));
        Ok(())
    }

    fn by_age(&self, chosen: &mut [Chosen], times: &[Option<Vec<u64>>]) -> Result<()> {
        let dims = &self.scan.array.schema.dimensions;
        let mut candidates = Vec::with_capacity(chosen.len());
        for (tile, times) in chosen.iter().zip(times) {
            let fields = self.fields(tile.tile)?;
            let column = |name: &str| {
                let at = fields.keys.iter().position(|key| key.name == name)?;
                tile.keys.get(at)
            };
            let columns: Option<Vec<&Decoded>> = dims.iter().map(|dim| column(&dim.name)).collect();
            candidates.push(Candidate {
                dims: columns.ok_or_else(|| Error::internal("coordinates were not read"))?,
                picks: tile.picks.clone().unwrap_or_else(|| (0..tile.tile.cells as u32).collect()),
                timestamps: times.as_deref(),
                age: fields.fragment.name.start,
                fragment: tile.tile.fragment,
            });
        }
        let winners = newest(dims, &candidates)?;
        drop(candidates);
        for (tile, picks) in chosen.iter_mut().zip(winners) {
            tile.picks = (picks.len() as u64 != tile.tile.cells).then_some(picks);
        }
        Ok(())
    }

    /// Drops cells that a consolidated fragment marks as deleted, or that a condition deletes.
    fn by_deletion(&self, tile: &mut Chosen, times: Option<&[u64]>, deletions: Option<&[u64]>) -> Result<()> {
        if let Some(deletions) = deletions {
            let end = *self.scan.array.range.end();
            // A live cell is marked with the maximum value, even if the read has no end time.
            let alive = |time: u64| time == u64::MAX || time > end;
            retain(tile, |cell| alive(deletions.value(cell)));
        }
        let fields = self.fields(tile.tile)?;
        let cells = tile.tile.cells as usize;
        for index in &fields.deletes {
            let delete = self.scan.array.deletes.at(*index)?;
            let survives = {
                let field = |name: &str| {
                    let at = fields.keys.iter().position(|key| key.name == name)?;
                    let KeyField { datatype, is_absent, .. } = *fields.keys.get(at)?;
                    Some(Tested { datatype, cells: tile.keys.get(at)?, is_absent })
                };
                evaluate(&delete.survives, cells, &field)?
            };
            let newer = |cell: usize| times.is_some_and(|times| times.value(cell) > delete.timestamp);
            retain(tile, |cell| newer(cell) || survives.value(cell));
        }
        Ok(())
    }

    /// The ranges of the columns that are not decoded yet, for tiles with rows.
    fn output_ranges(&self, chosen: &[Chosen]) -> Result<Vec<ByteRange>> {
        let mut out = Vec::new();
        for (at, column) in self.scan.projection.columns.iter().enumerate() {
            for tile in chosen.iter().filter(|tile| tile.rows() > 0) {
                let fields = self.fields(tile.tile)?;
                if fields.keys.iter().all(|key| key.name != column.name)
                    && let Some(tiles) = fields.columns.get(at)
                {
                    tiles.ranges(tile.tile.tile, &mut out)?;
                }
            }
        }
        Ok(out)
    }

    /// Applies the predicate to the chosen rows.
    fn by_predicate(&self, chosen: &mut [Chosen]) -> Result<()> {
        let projection = &self.scan.projection;
        if projection.is_decided_early() {
            return Ok(());
        }
        let rows = chosen.iter().map(Chosen::rows).sum();
        let tested = projection.tested().iter().enumerate();
        let arrays: Vec<ArrayRef> = tested
            .map(|(at, column)| assemble(&self.scan, at, column, chosen, &mut std::iter::empty()))
            .collect::<Result<_>>()?;
        let Some(passing) = projection.passing(&arrays, rows)? else { return Ok(()) };
        let mut passing = passing.into_iter().peekable();
        let mut base = 0_usize;
        for tile in chosen.iter_mut() {
            let end = base + tile.rows();
            let own = std::iter::from_fn(|| passing.next_if(|row| (*row as usize) < end));
            tile.keep(&mut own.map(|row| row - base as u32))?;
            base = end;
        }
        Ok(())
    }

    fn output(&self, chosen: &[Chosen], fetched: Vec<Bytes>) -> Result<Step> {
        let mut fetched = fetched.into_iter();
        let projection = &self.scan.projection;
        let columns = projection.columns.iter().enumerate();
        let arrays: Vec<ArrayRef> = columns
            .map(|(at, column)| assemble(&self.scan, at, column, chosen, &mut fetched))
            .collect::<Result<_>>()?;
        let rows = chosen.iter().map(Chosen::rows).sum();
        projection.batch(&arrays, rows).map(Step::Batch)
    }

    fn then_output(&mut self, chosen: Vec<Chosen>) -> Result<Step> {
        if chosen.iter().all(|tile| tile.rows() == 0) {
            return Ok(Step::Done);
        }
        let ranges = self.output_ranges(&chosen)?;
        self.state = State::Output(chosen);
        Ok(Step::Need(ranges))
    }
}

/// Keeps the chosen rows that pass.
fn retain(tile: &mut Chosen, keep: impl Fn(usize) -> bool) {
    let picks = match tile.picks.take() {
        Some(mut picks) => {
            picks.retain(|cell| keep(*cell as usize));
            picks
        }
        None => (0..tile.tile.cells as u32).filter(|cell| keep(*cell as usize)).collect(),
    };
    tile.picks = (picks.len() as u64 != tile.tile.cells).then_some(picks);
}

impl Task for SparseTask {
    fn largest_piece(&self) -> u64 {
        let sizes = self.tiles.iter().filter_map(|tile| {
            let fields = self.scan.fields(tile.fragment)?;
            let keys = fields.keys.iter().map(|key| &key.tiles);
            keys.chain(&fields.columns).map(|tiles| tiles.decoded_bytes(tile.tile, tile.cells)).max()
        });
        sizes.max().unwrap_or(0)
    }

    fn cost(&self) -> Cost {
        let (mut bytes_in, mut decoded) = (0_u64, 0_u64);
        for tile in &self.tiles {
            let Some(fields) = self.scan.fields(tile.fragment) else { continue };
            let keys = fields.keys.iter().map(|key| &key.tiles);
            for tiles in
                keys.chain(&fields.columns).chain(&fields.timestamps).chain(&fields.delete_timestamps)
            {
                bytes_in = bytes_in.saturating_add(tiles.stored_bytes(tile.tile));
                decoded = decoded.saturating_add(tiles.decoded_bytes(tile.tile, tile.cells));
            }
        }
        Cost {
            pieces: self.tiles.len() as u64,
            bytes_in,
            memory: bytes_in.saturating_add(decoded.saturating_mul(2)),
            rows: self.tiles.iter().fold(0, |cells: u64, tile| cells.saturating_add(tile.cells)),
        }
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Start => {
                // A tile whose cells may hide older ones is read even if its own cannot match.
                if !self.contested {
                    self.scan.narrow(&mut self.tiles)?;
                    if self.tiles.is_empty() {
                        return Ok(Step::Done);
                    }
                }
                if let Some(tile) = self.tiles.iter().find(|tile| tile.cells > u64::from(u32::MAX)) {
                    return Err(Error::limit(format!("tile {} has {} cells", tile.tile, tile.cells)));
                }
                let ranges = self.key_ranges()?;
                let plain = ranges.is_empty() && self.scan.projection.predicate.is_none() && !self.disputed;
                if plain
                    && self.slab.is_none()
                    && self.tiles.iter().all(|tile| self.fields(*tile).is_ok_and(|f| f.deletes.is_empty()))
                {
                    let whole = |tile: &TileRef| Chosen { tile: *tile, keys: Vec::new(), picks: None };
                    let chosen = self.tiles.iter().map(whole).collect();
                    return self.then_output(chosen);
                }
                self.state = State::Keys;
                Ok(Step::Need(ranges))
            }
            State::Keys => {
                let mut chosen = self.choose(fetched)?;
                self.by_predicate(&mut chosen)?;
                self.then_output(chosen)
            }
            State::Output(chosen) => self.output(&chosen, fetched),
            State::Done => Ok(Step::Done),
        }
    }
}
