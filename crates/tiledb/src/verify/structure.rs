//! Structural checks: files, lists and MBRs, and the order of coordinates, which requires decoding them.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_buffer::Buffer;
use tesselle_core::storage::EntryKind;
use tesselle_core::{Context, Depth, Driver, Finding, OpenOptions, Report, Severity};

use super::finding;
use crate::Result;
use crate::container::{field_name, stored_fields};
use crate::fragment::Fragment;
use crate::group::leads_down;
use crate::meta::consolidated::ConsolidatedFooters;
use crate::meta::schema::ArraySchema;
use crate::meta::value::Bounds;
use crate::open::{Array, Loader};
use crate::read::sparse::{ColumnTiles, Decoded};
use crate::vanished::damage;
use crate::write::cells::Cells;
use crate::write::order::checked_by_any;

/// Checks the files around the fragments.
pub(super) fn directory(array: &Array, report: &mut Report) -> Result<()> {
    let directory = &array.directory;
    for path in &directory.uncommitted {
        let superseded =
            directory.vacuums.iter().any(|v| v.names.contains(path.rsplit('/').next().unwrap_or(path)));
        let message = if superseded {
            "a superseded fragment is left over"
        } else {
            "a fragment without a commit is not read"
        };
        report.add(finding(Severity::Warning, "uncommitted_fragment", message.to_owned(), path.clone()));
    }
    for name in directory.missing.iter().chain(&directory.missing_old) {
        let vacuumed = directory.vacuums.iter().any(|vacuum| vacuum.names.contains(name));
        let severity = if vacuumed { Severity::Info } else { Severity::Warning };
        let message = format!("fragment '{name}' is committed, but its folder is missing");
        let path =
            if directory.missing_old.contains(name) { name.clone() } else { format!("__fragments/{name}") };
        report.add(finding(severity, "missing_fragment", message, path));
    }
    let loader = Loader { root: &array.root, key: array.key.as_ref(), limit: array.limits.metadata_bytes };
    for path in directory.schemas.iter().filter(|path| **path != array.schema_path) {
        if let Err(error) = loader.schema(path) {
            report.error("schema", &damage(error)?);
        }
    }
    for file in &directory.consolidated_footers {
        consolidated(array, &loader, &file.path, report)?;
    }
    Ok(())
}

/// Consolidated footers are a cache that we do not use; damage to it is a warning.
fn consolidated(array: &Array, loader: &Loader<'_>, path: &str, report: &mut Report) -> Result<()> {
    let parsed = loader.payload(path).and_then(|payload| ConsolidatedFooters::parse(&payload).in_file(path));
    let footers = match parsed {
        Ok(footers) => footers,
        Err(error) => {
            let message = damage(error)?.message().to_owned();
            report.add(finding(Severity::Warning, "consolidated_footers", message, path));
            return Ok(());
        }
    };
    for fragment in &array.fragments {
        let Some(cached) = footers.footer_of(&fragment.name.name) else { continue };
        let own = usize::try_from(fragment.footer_offset).ok().and_then(|at| fragment.metadata().get(at..));
        if !own.is_some_and(|own| cached.starts_with(own) || own.starts_with(cached)) {
            let message =
                format!("the cached footer of '{}' is not that of the fragment", fragment.name.name);
            report.add(finding(Severity::Warning, "consolidated_footers", message, path));
        }
    }
    Ok(())
}

/// Checks the structure of a fragment; returns whether its tiles can be checked.
pub(super) fn fragment(array: &Array, fragment: &Fragment, report: &mut Report) -> Result<bool> {
    let before = report.error_count();
    files(array, fragment, report)?;
    counts(fragment, report)?;
    for field in stored_fields(fragment) {
        for result in [fragment.index(field).map(drop), fragment.statistics(field).map(drop)] {
            if let Err(error) = result {
                report.error(error.class_name(), &error);
            }
        }
    }
    for result in [fragment.summary().map(drop), fragment.processed_conditions().map(drop)] {
        if let Err(error) = result {
            report.error(error.class_name(), &error);
        }
    }
    if !fragment.footer.dense
        && let Err(error) = mbrs(fragment, report)
    {
        report.error(error.class_name(), &error);
    }
    Ok(report.error_count() == before)
}

/// Checks that the box and the counts of the footer fit the array.
fn counts(fragment: &Fragment, report: &mut Report) -> Result<()> {
    let footer = &fragment.footer;
    let mut add = |kind: &'static str, message: String| {
        report.add(finding(Severity::Error, kind, message, fragment.metadata_path()));
    };
    let dims = &fragment.schema.dimensions;
    for (range, dim) in footer.non_empty_domain.iter().flatten().zip(dims) {
        let outside = dim.domain.as_ref().is_some_and(|domain| !domain.covers(range));
        let reversed = range.low.compare(&range.high).is_some_and(std::cmp::Ordering::is_gt);
        // A NaN coordinate is outside every domain.
        if (outside && !dim.datatype.is_float()) || reversed {
            let message = format!(
                "the non-empty domain [{}, {}] of dimension '{}' is not inside its domain",
                range.low, range.high, dim.name
            );
            add("non_empty_domain", message);
        }
    }
    if !footer.dense {
        return Ok(());
    }
    let cells = fragment.schema.grid()?.cells_per_tile()?;
    // Fragments of the oldest versions state it differently.
    if fragment.version() >= 3 && footer.non_empty_domain.is_some() && footer.last_tile_cells != cells {
        add(
            "last_tile_cells",
            format!("a tile has {cells} cells, the footer states {}", footer.last_tile_cells),
        );
    }
    if footer.sparse_tiles != 0 {
        add("tile_count", format!("a dense fragment states {} sparse tiles", footer.sparse_tiles));
    }
    Ok(())
}

/// Checks that every data file exists and has the size stated in the footer.
fn files(array: &Array, fragment: &Fragment, report: &mut Report) -> Result<()> {
    for field in stored_fields(fragment) {
        let sizes = fragment.file_sizes(field);
        let (is_var, nullable) = fragment.shape_of(field);
        for ((ending, wanted), stated) in
            [("", true), ("_var", is_var), ("_validity", nullable)].into_iter().zip(sizes)
        {
            if !wanted || fragment.tiles == 0 {
                continue;
            }
            let path = fragment.file_of(field, ending);
            let location = array.root.join(&path);
            let found = match array.root.storage().kind(location.path())? {
                Some(EntryKind::File) => Some(location.size()?),
                _ => None,
            };
            let message = match found {
                None => format!("the file of '{}' is missing", field_name(fragment, field)),
                Some(found) if found < stated => {
                    format!("the file has {found} bytes, the footer states {stated}")
                }
                Some(found) if found > stated => {
                    let message = format!("the file has {found} bytes, but only {stated} are in use");
                    report.add(finding(Severity::Warning, "file_size", message, path));
                    continue;
                }
                Some(_) => continue,
            };
            let kind = if found.is_none() { "missing_file" } else { "file_size" };
            report.add(finding(Severity::Error, kind, message, path));
        }
    }
    Ok(())
}

/// Checks that inner MBRs of the R-tree are unions of their children, and that the non-empty domain is the union of
/// all.
fn mbrs(fragment: &Fragment, report: &mut Report) -> Result<()> {
    let dims = &fragment.schema.dimensions;
    let tree = fragment.rtree()?;
    for pair in tree.levels.windows(2) {
        let [upper, lower] = pair else { continue };
        for index in 0..upper.len() {
            let stated = upper.get(index, dims)?;
            let first = index * tree.fanout as usize;
            let mut union: Option<Vec<Bounds>> = None;
            for child in first..(first + tree.fanout as usize).min(lower.len()) {
                widen(&mut union, &lower.get(child, dims)?);
            }
            if union.as_ref() != Some(&stated) {
                let message = format!("MBR {index} of the R-tree is not the union of its children");
                report.add(finding(Severity::Error, "rtree", message, fragment.metadata_path()));
            }
        }
    }
    let mut union: Option<Vec<Bounds>> = None;
    if let Some(root) = tree.levels.first() {
        for index in 0..root.len() {
            widen(&mut union, &root.get(index, dims)?);
        }
    }
    if union != fragment.footer.non_empty_domain {
        let message = "the non-empty domain is not the union of the tiles' MBRs".to_owned();
        report.add(finding(Severity::Error, "non_empty_domain", message, fragment.metadata_path()));
    }
    Ok(())
}

fn widen(union: &mut Option<Vec<Bounds>>, mbr: &[Bounds]) {
    match union {
        None => *union = Some(mbr.to_vec()),
        Some(all) => all.iter_mut().zip(mbr).for_each(|(all, range)| all.extend(range)),
    }
}

/// Decodes all coordinates of a sparse fragment and checks order, duplicates and MBRs.
pub(super) fn coordinates(
    array: &Arc<Array>,
    fragment: &Fragment,
    driver: &Driver,
    report: &mut Report,
) -> Result<()> {
    let dims = &fragment.schema.dimensions;
    let columns = (0..dims.len()).map(|dim| ColumnTiles::dimension(array, fragment, dim));
    let columns: Vec<ColumnTiles> = match columns.collect::<Result<_>>() {
        Ok(columns) => columns,
        // Each field has already reported its damage.
        Err(_) => return Ok(()),
    };
    // The domain was checked when the cells were written; the array may have been shrunk by hand since.
    let schema = ArraySchema { current_domain: None, ..(*fragment.schema).clone() };
    let tree = fragment.rtree()?;
    let check = |tile: u64| Ok(tile_coordinates(array, fragment, &schema, &columns, &tree, tile));
    let results: Vec<Vec<Finding>> = driver.try_map(0..fragment.tiles, check)?;
    results.into_iter().flatten().for_each(|finding| report.add(finding));
    Ok(())
}

fn tile_coordinates(
    array: &Array,
    fragment: &Fragment,
    schema: &ArraySchema,
    columns: &[ColumnTiles],
    tree: &crate::meta::rtree::RTree,
    tile: u64,
) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut add = |kind: &'static str, message: String| {
        let found = finding(Severity::Error, kind, message, fragment.path.clone());
        out.push(found.piece(format!("tile {tile}")));
    };
    let cells = fragment.cells_of(tile);
    let decoded: Result<Vec<Decoded>> =
        columns.iter().map(|column| read(array, column, tile, cells)).collect();
    // Tiles that do not decode were reported field by field.
    let Ok(decoded) = decoded else { return out };
    let at = usize::try_from(tile).unwrap_or(usize::MAX);
    let stated = tree.leaves().map(|leaves| leaves.get(at, &schema.dimensions));
    if let Some(Ok(stated)) = stated {
        let found: Vec<Option<Bounds>> =
            decoded.iter().zip(&schema.dimensions).map(|(d, dim)| d.range(dim)).collect();
        if found.iter().zip(&stated).any(|(found, stated)| found.as_ref() != Some(stated)) {
            add("mbr", "the MBR of the tile does not match its cells".to_owned());
        }
    }
    let coords: Vec<Cells> = decoded.into_iter().map(cells_of).collect();
    if let Some((kind, message)) = misplaced(fragment, schema, &coords) {
        add(kind, message);
    }
    out
}

/// What is wrong with the coordinates of a tile: outside the domain, out of order, or duplicate.
pub(crate) fn misplaced(
    fragment: &Fragment,
    schema: &ArraySchema,
    coords: &[Cells],
) -> Option<(&'static str, String)> {
    match checked_by_any(schema, coords) {
        Err(error) => Some(("coordinates", error.message().to_owned())),
        Ok(Err(cell)) => {
            Some(("order", format!("cell {cell} comes before its predecessor in the order of the array")))
        }
        Ok(Ok(ordered)) => {
            let unique = !schema.allows_dups && !fragment.footer.has_timestamps;
            let cell = ordered.repeats.first().filter(|_| unique)?;
            Some(("duplicate_coordinates", format!("cell {cell} has the coordinates of its predecessor")))
        }
    }
}

/// Reads and decodes one tile of a column.
pub(crate) fn read(array: &Array, column: &ColumnTiles, tile: u64, cells: u64) -> Result<Decoded> {
    let mut ranges = Vec::new();
    column.ranges(tile, &mut ranges)?;
    let mut fetched = Vec::with_capacity(ranges.len());
    for range in &ranges {
        fetched.extend(array.root.storage().read(&range.file, std::slice::from_ref(&range.range))?);
    }
    column.decode(&column.take(&mut fetched.into_iter()), tile, cells)
}

pub(crate) fn cells_of(decoded: Decoded) -> Cells {
    match decoded {
        Decoded::Fixed { bytes, width, validity } => Cells {
            count: bytes.len().checked_div(width).unwrap_or(0),
            size: width,
            data: Buffer::from_vec(bytes),
            offsets: None,
            validity,
        },
        Decoded::Var { cells, validity } => {
            let mut offsets = cells.offsets;
            offsets.pop();
            Cells {
                count: offsets.len(),
                size: 1,
                data: Buffer::from_vec(cells.data),
                offsets: Some(offsets),
                validity,
            }
        }
    }
}

/// Checks the arrays of dimension labels inside this one.
pub(super) fn labels(array: &Array, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
    let mut seen = BTreeSet::new();
    for label in array.schema.labels.iter().filter(|label| label.relative && !label.external) {
        if !leads_down(&label.uri) || !seen.insert(&label.uri) {
            continue;
        }
        let options = OpenOptions::default().with_key(array.secret.clone()).with_limits(array.limits.clone());
        let location = array.root.join(&label.uri);
        let opened = crate::container::open_array(&location, &options).in_file(location.path());
        match opened.in_piece(|| format!("label '{}'", label.name)) {
            Ok(container) => container.verify(depth, driver, report)?,
            Err(error) => {
                let error = damage(error)?;
                report.error(error.class_name(), &error);
            }
        }
    }
    Ok(())
}
