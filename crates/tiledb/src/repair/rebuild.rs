//! Rebuilding of a fragment's metadata file from its tiles: MBRs, R-tree and statistics are recomputed.

use crate::container::stored_fields;
use crate::fragment::{Fragment, TileIndex};
use crate::meta::footer::Footer;
use crate::meta::generic_tile::GenericTile;
use crate::meta::rtree::RTree;
use crate::meta::slots::Field;
use crate::meta::statistics::{FieldSummary, TileStatistics, TileValues, write_numbers, write_summary};
use crate::meta::value::Bounds;
use crate::meta::wire::put_bytes64;
use crate::open::Array;
use crate::read::sparse::ColumnTiles;
use crate::verify::{recompute, tile_of};
use crate::{Error, Result};

/// The oldest version whose metadata can be rebuilt: earlier ones have no statistics.
pub(super) const OLDEST: u32 = 12;

/// The bytes of a metadata file, in the order of writers (spec §9.1).
pub(super) fn metadata(array: &Array, fragment: &Fragment) -> Result<Vec<u8>> {
    let fields = fragment.slots.fields();
    let stored = stored_fields(fragment);
    let version = fragment.version();
    let mut file = File { array, version, bytes: Vec::new() };
    let mut footer = Footer { version, ..fragment.footer.clone() };
    if footer.dense {
        footer.rtree = file.add(&fragment.rtree()?.write())?;
    } else {
        let mbrs = mbrs(array, fragment)?;
        let tree = RTree::build(&fragment.schema.dimensions, &mbrs)?;
        footer.rtree = file.add(&tree.write())?;
        footer.non_empty_domain = domain(&mbrs);
    }
    let tiles = usize::try_from(fragment.tiles).map_err(|_| Error::limit("a fragment has too many tiles"))?;
    // Lists of slots without files are zeros.
    let zeros = vec![0_u64; tiles];
    let list = |numbers: &[u64]| write_numbers(if numbers.is_empty() { &zeros } else { numbers });
    let mut indexes = Vec::with_capacity(fields.len());
    for field in &fields {
        indexes.push(if stored.contains(field) {
            (*fragment.index(*field)?).clone()
        } else {
            TileIndex::default()
        });
    }
    footer.tile_offsets = indexes.iter().map(|i| file.add(&list(&i.offsets))).collect::<Result<_>>()?;
    footer.var_offsets = indexes.iter().map(|i| file.add(&list(&i.var_offsets))).collect::<Result<_>>()?;
    footer.var_sizes = indexes.iter().map(|i| file.add(&list(&i.var_sizes))).collect::<Result<_>>()?;
    footer.validity_offsets =
        indexes.iter().map(|i| file.add(&list(&i.validity_offsets))).collect::<Result<_>>()?;
    let mut statistics = Vec::with_capacity(fields.len());
    for field in &fields {
        statistics.push(if stored.contains(field) && !matches!(field, Field::Coords) {
            recompute(array, fragment, *field)?
        } else {
            (TileStatistics::default(), FieldSummary::default())
        });
    }
    let write = |values: &TileValues| values.write();
    footer.mins = statistics.iter().map(|(s, _)| file.add(&write(&s.mins))).collect::<Result<_>>()?;
    footer.maxs = statistics.iter().map(|(s, _)| file.add(&write(&s.maxs))).collect::<Result<_>>()?;
    footer.sums = statistics.iter().map(|(s, _)| file.add(&write_numbers(&s.sums))).collect::<Result<_>>()?;
    footer.null_counts =
        statistics.iter().map(|(s, _)| file.add(&write_numbers(&s.null_counts))).collect::<Result<_>>()?;
    let summary: Vec<FieldSummary> = statistics.into_iter().map(|(_, summary)| summary).collect();
    footer.summary = Some(file.add(&write_summary(&summary))?);
    if version >= 15 {
        let conditions = fragment.processed_conditions()?;
        let mut payload = (conditions.len() as u64).to_le_bytes().to_vec();
        for condition in &conditions {
            put_bytes64(&mut payload, condition.as_bytes());
        }
        let offset = file.add(&payload)?;
        footer.processed_conditions = (version >= 16).then_some(offset);
    }
    // Sections point into the old file.
    footer.sections.clear();
    file.bytes.extend_from_slice(&footer.write(&fragment.schema.dimensions)?);
    Ok(file.bytes)
}

struct File<'a> {
    array: &'a Array,
    version: u32,
    bytes: Vec<u8>,
}

impl File<'_> {
    /// Appends a generic tile and gives its offset.
    fn add(&mut self, payload: &[u8]) -> Result<u64> {
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(&GenericTile::write(payload, self.version, self.array.key.as_ref())?);
        Ok(offset)
    }
}

/// The MBR of each tile, from its coordinates.
fn mbrs(array: &Array, fragment: &Fragment) -> Result<Vec<Vec<Bounds>>> {
    let dims = &fragment.schema.dimensions;
    let columns = (0..dims.len()).map(|dim| ColumnTiles::dimension(array, fragment, dim));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let mut out = Vec::new();
    for tile in 0..fragment.tiles {
        let mut mbr = Vec::with_capacity(dims.len());
        for (column, dim) in columns.iter().zip(dims) {
            let decoded = tile_of(array, column, tile, fragment.cells_of(tile))?;
            mbr.push(decoded.range(dim).ok_or_else(|| Error::corrupt("a tile has no cells"))?);
        }
        out.push(mbr);
    }
    Ok(out)
}

fn domain(mbrs: &[Vec<Bounds>]) -> Option<Vec<Bounds>> {
    let (first, rest) = mbrs.split_first()?;
    let mut union = first.clone();
    for mbr in rest {
        union.iter_mut().zip(mbr).for_each(|(all, range)| all.extend(range));
    }
    Some(union)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tesselle_core::{Location, OpenOptions};

    use super::*;

    #[test]
    fn rebuilt_mbrs_are_those_of_the_original_engine() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/libtiledb-2.30.0");
        for case in
            ["str_beyond_ascii", "hilbert_beyond_ascii", "consolidated_beyond_ascii", "hilbert_str_i64"]
        {
            let location = Location::local(data.join(case).join("array")).unwrap();
            let array = Array::open(&location, &OpenOptions::default()).unwrap();
            for fragment in &array.fragments {
                let mbrs = mbrs(&array, fragment).unwrap();
                let tree = RTree::build(&fragment.schema.dimensions, &mbrs).unwrap();
                assert_eq!(tree, *fragment.rtree().unwrap(), "{case}");
                assert_eq!(domain(&mbrs), fragment.footer.non_empty_domain, "{case}");
            }
        }
    }
}
