//! Fragment metadata of versions 1 and 2 (spec §10): one generic tile with everything in it.
//!
//! ```text
//! u32 version | u64 len, non-empty domain | u64 n, MBRs | u64 n, bounding coordinates
//! | per attribute and coords: u64 n, tile offsets | per attribute: u64 n, var offsets | per attribute: u64 n, var sizes
//! | u64 last tile cells | u64 file sizes x (attributes + 1) | u64 var file sizes x attributes
//! ```

use super::footer::Footer;
use super::rtree::{Mbrs, RTree};
use super::schema::{ArrayKind, ArraySchema};
use super::wire::{numbers, numbers_of, ranges};
use crate::{Cursor, Result};

/// The lists that later versions store in separate tiles.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lists {
    /// The MBRs, without inner levels.
    pub rtree: RTree,
    /// Tile offsets of each attribute, then of the coordinates.
    pub offsets: Vec<Vec<u64>>,
    /// Offsets of variable-length tiles of each attribute.
    pub var_offsets: Vec<Vec<u64>>,
    /// Sizes of variable-length tiles of each attribute.
    pub var_sizes: Vec<Vec<u64>>,
}

/// Parses the payload; the footer gets the fields that later versions store there.
pub(crate) fn parse(payload: &[u8], schema: &ArraySchema, dense: bool) -> Result<(Footer, Lists)> {
    let mut cursor = Cursor::new(payload, 0, "fragment metadata");
    let cursor = &mut cursor;
    let version = cursor.u32_le()?;
    if !(1..=2).contains(&version) {
        return Err(cursor.corrupt(format!("fragment metadata has version {version}, expected 1 or 2")));
    }
    if dense != (schema.kind == ArrayKind::Dense) {
        return Err(cursor.corrupt("a fragment and its schema disagree on whether the array is dense"));
    }
    let dims = &schema.dimensions;
    let domain_bytes = cursor.u64_le()?;
    let mut domain = cursor.sub(domain_bytes, "non-empty domain")?;
    let non_empty_domain = if domain.is_empty() { None } else { Some(ranges(&mut domain, dims)?) };
    let count = cursor.u64_le()?;
    let leaves = Mbrs::parse(cursor, count, dims)?;
    let count = cursor.u64_le()?;
    Mbrs::parse(cursor, count, dims)?;
    let attributes = schema.attributes.len();
    let offsets: Vec<Vec<u64>> = (0..=attributes).map(|_| numbers(cursor)).collect::<Result<_>>()?;
    let var_offsets = (0..attributes).map(|_| numbers(cursor)).collect::<Result<_>>()?;
    let var_sizes = (0..attributes).map(|_| numbers(cursor)).collect::<Result<_>>()?;
    let last_tile_cells = cursor.u64_le()?;
    let file_sizes = numbers_of(cursor, attributes + 1)?;
    let var_file_sizes = numbers_of(cursor, attributes)?;
    let footer = Footer {
        version,
        schema_name: None,
        dense,
        non_empty_domain,
        sparse_tiles: if dense { 0 } else { leaves.len() as u64 },
        last_tile_cells,
        has_timestamps: false,
        has_deletes: false,
        file_sizes,
        var_file_sizes,
        validity_file_sizes: Vec::new(),
        rtree: 0,
        tile_offsets: Vec::new(),
        var_offsets: Vec::new(),
        var_sizes: Vec::new(),
        validity_offsets: Vec::new(),
        mins: Vec::new(),
        maxs: Vec::new(),
        sums: Vec::new(),
        null_counts: Vec::new(),
        summary: None,
        processed_conditions: None,
        sections: Vec::new(),
    };
    Ok((footer, Lists { rtree: RTree::flat(leaves), offsets, var_offsets, var_sizes }))
}
