//! Fragment and tile metadata as JSON.

use serde_json::{Map, Value as Json, json};
use tesselle_core::{Context, Location, OpenOptions, Scalar};

use crate::container::{field_name, stored_fields};
use crate::describe::ranges_json;
use crate::directory::OLD_SCHEMA;
use crate::fragment::Fragment;
use crate::meta::datatype::{Datatype, Physical};
use crate::meta::dimension::VAR;
use crate::meta::rtree::Mbrs;
use crate::meta::slots::Field;
use crate::meta::statistics::{FieldSummary, TileStatistics, has_min_max, has_sum};
use crate::meta::value::{parse_scalar, string_or_bytes};
use crate::open::Array;
use crate::{Error, Result};

/// A fragment that reads use.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FragmentFacts {
    /// The name of its folder.
    pub name: String,
    /// The version of the format it is written in.
    pub version: u32,
    /// The first and the last time of its writes, milliseconds since the epoch.
    pub timestamps: (u64, u64),
    /// Its cells; of a dense one those of its tiles, padding included.
    pub cells: u64,
    /// Its tiles.
    pub tiles: u64,
    /// The bytes of its data files.
    pub bytes: u64,
    /// All that its footer states.
    pub footer: Json,
}

/// The fragments of the array at `location` that reads use, with all that their footers state.
pub fn fragments(location: &Location, options: &OpenOptions) -> Result<Vec<FragmentFacts>> {
    open_array(location, options)?.fragments.iter().map(|fragment| facts(fragment)).collect()
}

/// The same as [`fragments`]; `rtree` of each footer also has the MBRs of every level, root first.
pub fn fragments_with_mbrs(location: &Location, options: &OpenOptions) -> Result<Vec<FragmentFacts>> {
    let with_mbrs = |fragment: &Fragment| {
        let mut facts = facts(fragment)?;
        facts.footer["rtree"]["mbrs"] = mbrs(fragment)?;
        Ok(facts)
    };
    open_array(location, options)?.fragments.iter().map(|fragment| with_mbrs(fragment)).collect()
}

/// Opens the array at `location`, and nothing else.
fn open_array(location: &Location, options: &OpenOptions) -> Result<Array> {
    if !location.exists()? {
        return Err(Error::not_found(format!("'{location}' does not exist")));
    }
    if !location.is_dir()? {
        return Err(Error::invalid(format!("'{location}' is not a TileDB array")));
    }
    if crate::is_group(location)? {
        return Err(
            Error::invalid(format!("'{location}' is a group, not an array")).hint("name one of its members")
        );
    }
    Array::open(location, options).in_file(location.path())
}

/// The MBRs of the R-tree by level; no level for a dense fragment.
fn mbrs(fragment: &Fragment) -> Result<Json> {
    if fragment.footer.dense {
        return Ok(json!([]));
    }
    let dims = &fragment.schema.dimensions;
    let tree = fragment.rtree()?;
    let level = |level: &Mbrs| {
        let mbrs = (0..level.len()).map(|i| Ok(ranges_json(Some(&level.get(i, dims)?))));
        mbrs.collect::<Result<Vec<Json>>>().map(Json::Array)
    };
    tree.levels.iter().map(level).collect::<Result<Vec<Json>>>().map(Json::Array)
}

fn facts(fragment: &Fragment) -> Result<FragmentFacts> {
    Ok(FragmentFacts {
        name: fragment.name.name.clone(),
        version: fragment.version(),
        timestamps: (fragment.name.start, fragment.name.end),
        cells: cells(fragment)?,
        tiles: fragment.tiles,
        bytes: stored_fields(fragment).into_iter().flat_map(|field| fragment.file_sizes(field)).sum(),
        footer: footer_json(fragment)?,
    })
}

fn footer_json(fragment: &Fragment) -> Result<Json> {
    let footer = &fragment.footer;
    let tree = fragment.rtree()?;
    let levels: Vec<usize> =
        if footer.dense { Vec::new() } else { tree.levels.iter().map(Mbrs::len).collect() };
    let mut out = json!({
        "name": fragment.name.name,
        "version": fragment.version(),
        "timestamps": [fragment.name.start, fragment.name.end],
        "dense": footer.dense,
        "cells": cells(fragment)?,
        "tiles": fragment.tiles,
        "last_tile_cells": footer.last_tile_cells,
        "has_timestamps": footer.has_timestamps,
        "has_delete_meta": footer.has_deletes,
        "schema": footer.schema_name.as_deref().unwrap_or(OLD_SCHEMA),
        "non_empty_domain": ranges_json(footer.non_empty_domain.as_deref()),
        "rtree": { "fanout": tree.fanout, "levels": levels },
    });
    let mut sizes = Map::new();
    for field in stored_fields(fragment) {
        let size: u64 = fragment.file_sizes(field).iter().sum();
        sizes.insert(field_name(fragment, field), size.into());
    }
    let [mut mins, mut maxs, mut sums, mut nulls] = [Map::new(), Map::new(), Map::new(), Map::new()];
    if let Some(summary) = fragment.summary()? {
        for field in stored_fields(fragment) {
            let slot = fragment.slots.index(field).and_then(|slot| summary.get(slot));
            let Some((stated, kind)) = slot.zip(Kind::of(fragment, field)) else { continue };
            let FieldSummary { min, max, sum, null_count } = stated;
            let name = field_name(fragment, field);
            if kind.min_max {
                mins.insert(name.clone(), kind.value(min)?);
                maxs.insert(name.clone(), kind.value(max)?);
            }
            if kind.sum {
                sums.insert(name.clone(), kind.sum_json(*sum));
            }
            if kind.nullable {
                nulls.insert(name, (*null_count).into());
            }
        }
    }
    for (key, map) in
        [("file_sizes", sizes), ("min", mins), ("max", maxs), ("sum", sums), ("null_count", nulls)]
    {
        out[key] = Json::Object(map);
    }
    Ok(out)
}

/// Cells of a fragment; for a dense one those of its tiles, padding included.
pub(crate) fn cells(fragment: &Fragment) -> Result<u64> {
    if !fragment.footer.dense {
        return Ok(fragment.cells());
    }
    Ok(fragment.schema.grid()?.cells_per_tile()?.saturating_mul(fragment.tiles))
}

/// The type of a field's values, and the statistics they have.
struct Kind {
    datatype: Datatype,
    cell_val_num: u32,
    nullable: bool,
    min_max: bool,
    sum: bool,
}

impl Kind {
    /// `None` for special columns, which have no statistics.
    fn of(fragment: &Fragment, field: Field) -> Option<Self> {
        match field {
            Field::Attribute(i) => {
                let a = fragment.schema.attributes.get(i)?;
                Some(Self {
                    datatype: a.datatype,
                    cell_val_num: a.cell_val_num,
                    nullable: a.nullable,
                    min_max: has_min_max(a.datatype, a.cell_val_num),
                    sum: has_sum(a.datatype, a.cell_val_num),
                })
            }
            Field::Dimension(i) => {
                let dim = fragment.schema.dimensions.get(i)?;
                Some(Self {
                    datatype: dim.datatype,
                    cell_val_num: dim.cell_val_num,
                    nullable: false,
                    min_max: false,
                    sum: has_sum(dim.datatype, dim.cell_val_num),
                })
            }
            _ => None,
        }
    }

    /// One cell; null where there is none.
    fn value(&self, bytes: &[u8]) -> Result<Json> {
        if bytes.is_empty() && self.cell_val_num != VAR {
            return Ok(Json::Null);
        }
        cell_json(self.datatype, self.cell_val_num, bytes)
    }

    fn sum_json(&self, sum: u64) -> Json {
        match self.datatype.physical() {
            Physical::F32 | Physical::F64 => Scalar::Float(f64::from_bits(sum)).to_json(),
            Physical::U8 | Physical::U16 | Physical::U32 | Physical::U64 => sum.into(),
            _ => sum.cast_signed().into(),
        }
    }
}

/// A cell as stored: a string as a string, several values as a list.
pub(crate) fn cell_json(datatype: Datatype, cell_val_num: u32, bytes: &[u8]) -> Result<Json> {
    if datatype.is_byte_string() || datatype.is_bytes() {
        return Ok(string_or_bytes(bytes).to_json());
    }
    let value = |bytes: &[u8]| {
        let value = parse_scalar(datatype, bytes)?;
        Ok(match value {
            Scalar::Int(number) if datatype == Datatype::Bool => Json::from(number != 0),
            value => value.to_json(),
        })
    };
    if cell_val_num == 1 {
        return value(bytes);
    }
    bytes.chunks_exact(datatype.size()).map(value).collect::<Result<Vec<_>>>().map(Json::Array)
}

/// The tiles of one field, at most `limit` of them.
pub(crate) fn tiles(array: &Array, fragment: &Fragment, field: Field, limit: u64) -> Result<Vec<Json>> {
    let count = fragment.tiles.min(limit);
    let index = fragment.index(field)?;
    let statistics = fragment.statistics(field)?;
    let [size, var_size, validity_size] = fragment.file_sizes(field);
    let (is_var, nullable) = fragment.shape_of(field);
    let name = field_name(fragment, field);
    let kind = Kind::of(fragment, field);
    let tree = if fragment.footer.dense { None } else { Some(fragment.rtree()?) };
    let grid_cells =
        if fragment.footer.dense { Some(fragment.schema.grid()?.cells_per_tile()?) } else { None };
    let chunks = chunk_counts(array, fragment, field, count)?;
    let mut out = Vec::new();
    for (tile, chunks) in (0..count).zip(chunks) {
        let range = Fragment::tile_range(&index.offsets, tile, size)?;
        let at = usize::try_from(tile).map_err(|_| Error::limit("a fragment has too many tiles"))?;
        let mut bytes = range.end - range.start;
        for (wanted, starts, size) in
            [(is_var, &index.var_offsets, var_size), (nullable, &index.validity_offsets, validity_size)]
        {
            if wanted {
                let range = Fragment::tile_range(starts, tile, size)?;
                bytes = bytes.saturating_add(range.end - range.start);
            }
        }
        let mbr = match tree.as_ref().and_then(|tree| tree.leaves()) {
            Some(leaves) => ranges_json(Some(&leaves.get(at, &fragment.schema.dimensions)?)),
            None => Json::Null,
        };
        let [min, max, sum, nulls] = stated(kind.as_ref(), &statistics, at)?;
        out.push(json!({
            "fragment": fragment.name.name,
            "column": name,
            "tile": tile,
            "file": fragment.file_of(field, ""),
            "offset": range.start,
            "stored_bytes": bytes,
            "cells": grid_cells.unwrap_or_else(|| fragment.cells_of(tile)),
            "chunks": chunks,
            "mbr": mbr,
            "min": min,
            "max": max,
            "sum": sum,
            "nulls": nulls,
        }));
    }
    Ok(out)
}

/// Min, max, sum and null count of a tile, null where absent.
fn stated(kind: Option<&Kind>, statistics: &TileStatistics, tile: usize) -> Result<[Json; 4]> {
    let mut out = [Json::Null, Json::Null, Json::Null, Json::Null];
    let Some(kind) = kind else { return Ok(out) };
    let [min, max, sum, nulls] = &mut out;
    if kind.min_max {
        for (slot, values) in [(min, &statistics.mins), (max, &statistics.maxs)] {
            let value = if kind.cell_val_num == VAR {
                values.var_at(tile)
            } else {
                values.fixed_at(tile, kind.datatype.size().saturating_mul(kind.cell_val_num as usize))
            };
            if let Some(value) = value {
                *slot = kind.value(value)?;
            }
        }
    }
    if let Some(value) = statistics.sums.get(tile).filter(|_| kind.sum) {
        *sum = kind.sum_json(*value);
    }
    if let Some(value) = statistics.null_counts.get(tile).filter(|_| kind.nullable) {
        *nulls = (*value).into();
    }
    Ok(out)
}

/// The chunk counts of the first `count` tiles of a field's values; each count precedes its chunks.
fn chunk_counts(array: &Array, fragment: &Fragment, field: Field, count: u64) -> Result<Vec<u64>> {
    let index = fragment.index(field)?;
    let [size, var_size, _] = fragment.file_sizes(field);
    let (is_var, _) = fragment.shape_of(field);
    let (starts, size, ending) =
        if is_var { (&index.var_offsets, var_size, "_var") } else { (&index.offsets, size, "") };
    let path = fragment.file_of(field, ending);
    let file = array.storage_path(&path);
    let mut ranges = Vec::new();
    for tile in 0..count {
        let range = Fragment::tile_range(starts, tile, size)?;
        ranges.push(range.start..range.end.min(range.start.saturating_add(8)));
    }
    let heads = array.root.storage().read(&file, &ranges).in_file(&path)?;
    let number = |head: bytes::Bytes| {
        let bytes = <[u8; 8]>::try_from(head.as_ref())
            .map_err(|_| Error::corrupt("a tile has no chunk count").class("truncated").file(path.clone()))?;
        Ok(u64::from_le_bytes(bytes))
    };
    heads.into_iter().map(number).collect()
}
