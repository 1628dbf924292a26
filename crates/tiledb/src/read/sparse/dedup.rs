//! Deduplication: the newest of the cells with equal coordinates, which are equal bytes (spec §12).

use std::cmp::Ordering;

use tesselle_core::Within;
use tesselle_core::driver::parallel;

use super::cells::Decoded;
use crate::meta::dimension::Dimension;
use crate::{Error, Result};

/// The coordinates and ages of one tile's cells.
pub(crate) struct Candidate<'a> {
    /// One decoded column per dimension.
    pub(crate) dims: Vec<&'a Decoded>,
    /// The cells that take part.
    pub(crate) picks: Vec<u32>,
    /// The timestamp of each cell of the tile; without them all share `age`.
    pub(crate) timestamps: Option<&'a [u64]>,
    pub(crate) age: u64,
    /// The order of its fragment.
    pub(crate) fragment: usize,
}

/// One cell among the candidates: its tile, and its position among the picks of that.
#[derive(Clone, Copy)]
struct Cell {
    tile: u32,
    pick: u32,
}

impl Candidate<'_> {
    fn cell(&self, pick: u32) -> u32 {
        self.picks.value(pick as usize)
    }
}

/// Keeps the newest of the cells with equal coordinates; the picks of each tile stay in order.
pub(crate) fn newest(dims: &[Dimension], tiles: &[Candidate<'_>]) -> Result<Vec<Vec<u32>>> {
    let mut cells = Vec::new();
    for (tile, candidate) in tiles.iter().enumerate() {
        let tile = u32::try_from(tile).map_err(|_| Error::limit("too many tiles overlap"))?;
        cells.extend((0..candidate.picks.len() as u32).map(|pick| Cell { tile, pick }));
    }
    // Fixed-size dimensions compare by integer keys, computed once per cell.
    let keys: Vec<Vec<Option<Vec<u64>>>> = parallel::map(tiles, |tile| {
        let dims = tile.dims.iter().zip(dims);
        dims.map(|(decoded, dim)| decoded.identity_keys_of(dim.datatype, &tile.picks)).collect()
    });
    let key = |cell: Cell, dim: usize| -> u64 {
        let tile = keys.get(cell.tile as usize).and_then(|dims| dims.get(dim)?.as_ref());
        tile.map_or(&[][..], Vec::as_slice).value(cell.pick as usize)
    };
    let text = |cell: Cell, dim: usize| -> &[u8] {
        let tile = tiles.get(cell.tile as usize);
        let decoded = tile.and_then(|tile| Some((tile.dims.get(dim)?, tile.cell(cell.pick))));
        decoded.map_or(&[][..], |(decoded, cell)| decoded.var_cell(cell as usize))
    };
    let winners = if dims.len() <= 2 && dims.iter().all(|dim| !dim.is_var()) {
        let packed = |cell: Cell| {
            let second = if dims.len() == 2 { key(cell, 1) } else { 0 };
            u128::from(key(cell, 0)) << 64 | u128::from(second)
        };
        let mut entries: Vec<(u128, Cell)> = cells.iter().map(|cell| (packed(*cell), *cell)).collect();
        // Fragments are sorted already, so this merges runs.
        entries.sort_by_key(|entry| entry.0);
        winners(&entries, |a, b| a.0 == b.0, |entry| entry.1, tiles)
    } else {
        let compare = |a: Cell, b: Cell| {
            dims.iter().enumerate().fold(Ordering::Equal, |order, (dim, dimension)| {
                order.then_with(|| {
                    if dimension.is_var() {
                        text(a, dim).cmp(text(b, dim))
                    } else {
                        key(a, dim).cmp(&key(b, dim))
                    }
                })
            })
        };
        cells.sort_by(|a, b| compare(*a, *b));
        winners(&cells, |a, b| compare(*a, *b).is_eq(), |cell| *cell, tiles)
    };
    let mut out = vec![Vec::new(); tiles.len()];
    for cell in winners {
        if let (Some(picks), Some(tile)) = (out.get_mut(cell.tile as usize), tiles.get(cell.tile as usize)) {
            picks.push(tile.cell(cell.pick));
        }
    }
    for picks in &mut out {
        picks.sort_unstable();
    }
    Ok(out)
}

/// The newest of each group of equal entries.
fn winners<E>(
    sorted: &[E],
    equal: impl Fn(&E, &E) -> bool,
    cell: impl Fn(&E) -> Cell,
    tiles: &[Candidate<'_>],
) -> Vec<Cell> {
    let age = |cell: Cell| {
        let tile = tiles.get(cell.tile as usize);
        tile.map(|tile| {
            let own = tile.timestamps.and_then(|times| times.get(tile.cell(cell.pick) as usize).copied());
            (own.unwrap_or(tile.age), tile.fragment)
        })
    };
    sorted
        .chunk_by(equal)
        .filter_map(|group| {
            let mut best = cell(group.first()?);
            for entry in group.iter().skip(1) {
                let challenger = cell(entry);
                // Versions of a cell in one fragment are stored newest first, so the earlier one wins a tie.
                if age(challenger) > age(best) {
                    best = challenger;
                }
            }
            Some(best)
        })
        .collect()
}
