//! Statistics are recomputed for every fragment written by the original engine, and compared with the stored ones.
//!
//! The fixtures are found through `TESSELLE_FIXTURES`; without it those in `tests/data` are compared.

use std::path::Path;

use tesselle_core::{Location, OpenOptions, Secret};

use super::cells::TileCells;
use super::consolidate::{read_cells, runs_in_tile};
use super::fragment::{field_type, stored_fields};
use super::statistics::{Presence, TileStats, of_tile, summarize, unsettled};
use crate::fragment::Fragment;
use crate::meta::schema::ArrayKind;
use crate::meta::slots::Field;
use crate::open::Array;
use crate::write::name::WRITE_VERSION;

fn arrays() -> Vec<(String, Array)> {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/libtiledb-2.30.0");
    let root = std::env::var_os("TESSELLE_FIXTURES").map_or_else(own, |root| Path::new(&root).join("tiledb"));
    let mut out = Vec::new();
    for entry in std::fs::read_dir(root).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = std::fs::read(entry.path().join("expected.json")) else { continue };
        let expected: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let key = expected.pointer("/encryption/key_utf8").and_then(serde_json::Value::as_str);
        let options = OpenOptions::default().with_key(key.map(|key| Secret::new(key.as_bytes())));
        let location = Location::local(entry.path().join("array")).unwrap();
        if let Ok(array) = Array::open(&location, &options) {
            out.push((name, array));
        }
    }
    assert!(out.len() >= 15, "{} arrays", out.len());
    out
}

/// The tiles of a field with the cells that count.
fn tiles_of(
    array: &Array,
    fragment: &Fragment,
    field: Field,
) -> Vec<(TileCells, Vec<std::ops::Range<usize>>)> {
    (0..fragment.tiles)
        .map(|tile| {
            let count = match fragment.dense {
                Some(_) => fragment.schema.grid().unwrap().cells_per_tile().unwrap(),
                None => fragment.cells_of(tile),
            };
            let cells = read_cells(array, fragment, field, tile, count).unwrap();
            let real = match &fragment.dense {
                None => std::iter::once(0..count as usize).collect(),
                Some(dense) => {
                    let grid = fragment.schema.grid().unwrap();
                    let index = (0..)
                        .scan(dense.tiles.low.clone(), |index, _| {
                            let now = index.clone();
                            super::dense::advance(index, &dense.tiles, grid.tile_order);
                            Some(now)
                        })
                        .nth(tile as usize)
                        .unwrap();
                    let region = grid.tile_region(&index);
                    runs_in_tile(&grid, &region, &region.intersect(&dense.region).unwrap())
                }
            };
            (cells, real)
        })
        .collect()
}

#[test]
fn statistics_are_those_of_the_original_engine() {
    let mut compared = 0;
    let mut failures = Vec::new();
    for (name, array) in arrays() {
        for fragment in array.fragments.iter().filter(|fragment| fragment.version() == WRITE_VERSION) {
            let schema = &fragment.schema;
            let dense = schema.kind == ArrayKind::Dense;
            // Dense consolidation counts fill values too.
            let consolidated = fragment.name.start != fragment.name.end;
            let lossy = |field: Field| {
                let filters = &field_type(schema, field).unwrap().1.filters;
                filters.iter().any(|f| matches!(f, crate::filter::Filter::FloatScale { .. }))
            };
            if dense && consolidated {
                continue;
            }
            let summary = fragment.summary().unwrap().unwrap();
            for field in stored_fields(schema, false, false).into_iter().filter(|field| !lossy(*field)) {
                let (kind, _, is_dimension) = field_type(schema, field).unwrap();
                let presence = Presence::of(kind, is_dimension);
                let tiles = tiles_of(&array, fragment, field);
                // The engine adds the cells of a dense write in an order that is not stored.
                let is_open = |(cells, real): &(_, Vec<_>)| {
                    let unsettled = unsettled(cells, kind, real);
                    unsettled.sum.is_infinite() || unsettled.min_max
                };
                if dense && tiles.iter().any(is_open) {
                    continue;
                }
                let stats: Vec<TileStats> =
                    tiles.iter().map(|(cells, real)| of_tile(cells, kind, presence, real)).collect();
                let stored = fragment.statistics(field).unwrap();
                let place = format!("{name} {} {field:?}", fragment.name.name);
                let mut check = |what: &str, got: Vec<u64>, want: &[u64]| {
                    compared += 1;
                    if got != want {
                        failures.push(format!("{place}: {what} {got:x?}, stored {want:x?}"));
                    }
                };
                let sums =
                    |present: bool| if present { stats.iter().map(|s| s.sum).collect() } else { Vec::new() };
                check("sums", sums(presence.sum), &stored.sums);
                // The engine does not count nulls of strings without min and max, nor of other variable-length fields.
                let uncounted = kind.is_var() || (kind.datatype.is_string() && kind.cell_val_num == 1);
                if presence.nulls && (presence.min_max || !uncounted) {
                    check("nulls", stats.iter().map(|s| s.nulls).collect(), &stored.null_counts);
                }
                // It also mixes up the variable-length min and max of dense tiles.
                if presence.min_max && !(dense && kind.is_var()) {
                    for (tile, own) in stats.iter().enumerate() {
                        let (min, max) = if kind.is_var() {
                            (stored.mins.var_at(tile), stored.maxs.var_at(tile))
                        } else {
                            (
                                stored.mins.fixed_at(tile, kind.cell_size()),
                                stored.maxs.fixed_at(tile, kind.cell_size()),
                            )
                        };
                        let padded = |value: &[u8]| {
                            let mut value = value.to_vec();
                            if !kind.is_var() {
                                value.resize(kind.cell_size(), 0);
                            }
                            value
                        };
                        compared += 1;
                        if (Some(padded(&own.min).as_slice()), Some(padded(&own.max).as_slice()))
                            != (min, max)
                        {
                            failures.push(format!("{place}: tile {tile} {own:?}, stored {min:?} {max:?}"));
                        }
                    }
                    let own = summarize(&stats, kind, presence);
                    let slot = fragment.slots.index(field).unwrap();
                    compared += 1;
                    // The engine counts a tile of only nulls as zero for characters and strings; we do not count it.
                    let strings = kind.datatype.size() == 1 && !kind.datatype.is_integer();
                    if strings && stats.iter().any(|s| s.nulls == s.cells) {
                        continue;
                    }
                    if own != summary[slot] {
                        failures.push(format!("{place}: summary {own:?}, stored {:?}", summary[slot]));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {compared} differ:\n{}", failures.len(), failures.join("\n"));
}
