//! The byte map of an array: every file that belongs to it, every tile in it.

use tesselle_core::storage::EntryKind;
use tesselle_core::{Extent, FileLayout, LayoutMap, Role};

use crate::Result;
use crate::container::{field_name, stored_fields};
use crate::fragment::Fragment;
use crate::meta::slots::Field;
use crate::open::Array;

/// Maps all files of the array; files that nothing refers to appear as gaps.
pub(crate) fn layout(array: &Array) -> Result<LayoutMap> {
    let mut files = Vec::new();
    list(array, "", &mut files, array.limits.depth)?;
    let mut out = Vec::new();
    for (path, size) in files {
        let extents = extents_of(array, &path, size)?;
        out.push(FileLayout { file: path, size, extents }.close_gaps());
    }
    out.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(LayoutMap { files: out })
}

/// All files below `folder`, with their sizes.
fn list(array: &Array, folder: &str, out: &mut Vec<(String, u64)>, depth: usize) -> Result<()> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    let location = if folder.is_empty() { array.root.clone() } else { array.root.join(folder) };
    for entry in location.list()? {
        let path = if folder.is_empty() { entry.name.clone() } else { format!("{folder}/{}", entry.name) };
        match entry.kind {
            EntryKind::File => {
                let size = array.root.join(&path).size()?;
                out.push((path, size));
            }
            EntryKind::Folder => list(array, &path, out, depth)?,
            EntryKind::Other => {}
        }
    }
    Ok(())
}

fn extents_of(array: &Array, path: &str, size: u64) -> Result<Vec<Extent>> {
    let whole = |role: Role, content: &str| vec![Extent::new(0..size, role, content)];
    let fragment = array
        .fragments
        .iter()
        .find(|fragment| path.strip_prefix(fragment.path.as_str()).is_some_and(|rest| rest.starts_with('/')));
    if let Some(fragment) = fragment {
        return if path == fragment.metadata_path() {
            metadata_extents(fragment, size)
        } else {
            data_extents(fragment, path)
        };
    }
    let directory = &array.directory;
    let suffix = path.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    Ok(if directory.schemas.iter().any(|schema| schema == path) {
        let current = if path == array.schema_path {
            "array schema, current (generic tile)"
        } else {
            "array schema (generic tile)"
        };
        whole(Role::Metadata, current)
    } else if directory.enumerations.iter().any(|file| file == path) {
        whole(Role::Metadata, "enumeration (generic tile)")
    } else if directory.metadata.iter().any(|file| file.path == path) {
        whole(Role::Metadata, "array metadata (generic tile)")
    } else if path.starts_with("__labels/") {
        whole(Role::Data, "dimension label array")
    } else {
        match suffix {
            "wrt" | "ok" => whole(Role::Metadata, "commit marker"),
            "del" => whole(Role::Metadata, "delete condition (generic tile)"),
            "con" => whole(Role::Metadata, "consolidated commits"),
            "ign" => whole(Role::Metadata, "ignored commits"),
            "vac" => whole(Role::Metadata, "superseded files"),
            "meta" => whole(Role::Index, "consolidated fragment footers (generic tile)"),
            _ if path == "__lock.tdb" => whole(Role::Header, "lock file"),
            _ => Vec::new(),
        }
    })
}

/// The generic tiles of a metadata file, then its footer.
fn metadata_extents(fragment: &Fragment, size: u64) -> Result<Vec<Extent>> {
    let footer = &fragment.footer;
    if footer.version < 3 {
        return Ok(vec![Extent::new(0..size, Role::Index, "fragment metadata (generic tile)")]);
    }
    let fields = fragment.slots.fields();
    let lists = [
        (&footer.tile_offsets, "tile offsets", Role::Index),
        (&footer.var_offsets, "offsets of variable-length tiles", Role::Index),
        (&footer.var_sizes, "sizes of variable-length tiles", Role::Index),
        (&footer.validity_offsets, "offsets of validity tiles", Role::Index),
        (&footer.mins, "minimum values", Role::Statistics),
        (&footer.maxs, "maximum values", Role::Statistics),
        (&footer.sums, "sums", Role::Statistics),
        (&footer.null_counts, "null counts", Role::Statistics),
    ];
    let mut starts: Vec<(u64, Role, String, Option<String>)> =
        vec![(footer.rtree, Role::Index, "R-tree".to_owned(), None)];
    for (places, what, role) in lists {
        for (slot, offset) in places.iter().enumerate() {
            let name = fields.get(slot).map(|field| field_name(fragment, *field));
            starts.push((*offset, role, format!("{what} of '{}'", name.as_deref().unwrap_or("")), name));
        }
    }
    starts
        .extend(footer.summary.map(|offset| (offset, Role::Statistics, "fragment summary".to_owned(), None)));
    let conditions = footer.processed_conditions;
    starts.extend(conditions.map(|offset| (offset, Role::Metadata, "processed conditions".to_owned(), None)));
    let mut extents = Vec::with_capacity(starts.len() + 1);
    for (offset, role, content, column) in starts {
        let tile = fragment.generic_tile(offset)?;
        let mut extent = Extent::new(offset..offset.saturating_add(tile.stored_size), role, content);
        extent.column = column;
        extents.push(extent);
    }
    extents.push(Extent::new(fragment.footer_offset..size, Role::Metadata, "fragment footer"));
    Ok(extents)
}

/// The tiles of a data file.
fn data_extents(fragment: &Fragment, path: &str) -> Result<Vec<Extent>> {
    for field in stored_fields(fragment) {
        let [size, var_size, validity_size] = fragment.file_sizes(field);
        let (is_var, nullable) = fragment.shape_of(field);
        let fixed = if is_var { "offsets of tile" } else { "tile" };
        for (ending, wanted, what, file_size) in [
            ("", true, fixed, size),
            ("_var", is_var, "values of tile", var_size),
            ("_validity", nullable, "validity of tile", validity_size),
        ] {
            if wanted && path == fragment.file_of(field, ending) {
                return tile_extents(fragment, field, ending, what, file_size);
            }
        }
    }
    Ok(Vec::new())
}

fn tile_extents(
    fragment: &Fragment,
    field: Field,
    ending: &str,
    what: &str,
    size: u64,
) -> Result<Vec<Extent>> {
    let index = fragment.index(field)?;
    let starts = match ending {
        "" => &index.offsets,
        "_var" => &index.var_offsets,
        _ => &index.validity_offsets,
    };
    let name = field_name(fragment, field);
    (0..fragment.tiles)
        .map(|tile| {
            let range = Fragment::tile_range(starts, tile, size)?;
            Ok(Extent::new(range, Role::Data, format!("{what} {tile} of '{name}'")).column(name.clone()))
        })
        .collect()
}
