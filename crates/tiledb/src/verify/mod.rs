//! Verification of an array at three depths: structure, checksums, every tile decoded with its statistics recomputed.
//!
//! Damage is an error. Known defects of the original engine, and data that readers ignore (fragments without a commit,
//! stale caches), are warnings.

mod field;
mod structure;

use std::ops::Range;
use std::sync::Arc;

use tesselle_core::{Depth, Driver, Finding, Report, Severity};

use crate::container::stored_fields;
use crate::filter::Filter;
use crate::fragment::Fragment;
use crate::meta::slots::Field;
use crate::open::Array;
use crate::{Error, Result};

/// Tiles checked by one task.
const TILES_AT_ONCE: u64 = 16;

/// Checks the fragments that a read would use, and the files around them.
pub(crate) fn verify(array: &Arc<Array>, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
    structure::directory(array, report)?;
    for fragment in &array.fragments {
        driver.check_canceled()?;
        let intact = structure::fragment(array, fragment, report)?;
        if depth > Depth::Quick && intact {
            tiles(array, fragment, depth, driver, report)?;
        }
    }
    structure::labels(array, depth, driver, report)
}

/// Checks one fragment completely.
pub(crate) fn verify_fragment(array: &Arc<Array>, fragment: &Fragment, driver: &Driver) -> Result<Report> {
    let mut report = Report::new(Depth::Deep);
    if structure::fragment(array, fragment, &mut report)? {
        tiles(array, fragment, Depth::Deep, driver, &mut report)?;
    }
    Ok(report)
}

/// Decodes the tiles of a fragment, in parallel.
fn tiles(
    array: &Arc<Array>,
    fragment: &Fragment,
    depth: Depth,
    driver: &Driver,
    report: &mut Report,
) -> Result<()> {
    let mut checkers = Vec::new();
    for field in stored_fields(fragment) {
        match Checker::try_new(array, fragment, field) {
            Ok(checker) => checkers.push(checker),
            Err(error) => report.error(error.class_name(), &error),
        }
    }
    let mut work = Vec::new();
    for (at, checker) in checkers.iter().enumerate() {
        let every = depth == Depth::Deep || has_checksum(array, fragment, checker.field);
        let mut start = 0;
        while start < fragment.tiles {
            let end = start.saturating_add(TILES_AT_ONCE).min(fragment.tiles);
            // Without a checksum, a sample is checked: the first and the last tile of each field.
            if every {
                work.push((at, start..end));
            } else if start == 0 {
                work.push((at, 0..1));
                if fragment.tiles > 1 {
                    work.push((at, fragment.tiles - 1..fragment.tiles));
                }
                break;
            }
            start = end;
        }
    }
    let deep = depth == Depth::Deep;
    let bytes = |at: usize, tiles: &Range<u64>| {
        let stored = checkers.get(at).map_or(0, |checker| stored_bytes(fragment, checker.field));
        stored / fragment.tiles.max(1) * (tiles.end - tiles.start)
    };
    driver.progress().expect(work.iter().map(|(at, tiles)| bytes(*at, tiles)).fold(0, u64::saturating_add));
    let checked: Vec<(usize, Vec<field::TileOutcome>)> = driver.try_map(work, |(at, tiles)| {
        let checker = checkers.get(at).ok_or_else(|| Error::internal("there is no such field"))?;
        let outcomes = tiles.clone().map(|tile| checker.check(tile, deep)).collect::<Result<Vec<_>>>()?;
        driver.progress().advance(bytes(at, &tiles));
        Ok((at, outcomes))
    })?;
    let mut by_field: Vec<Vec<field::TileOutcome>> = checkers.iter().map(|_| Vec::new()).collect();
    for (at, outcomes) in checked {
        report.pieces += outcomes.len() as u64;
        if let Some(slot) = by_field.get_mut(at) {
            slot.extend(outcomes);
        }
    }
    for (checker, outcomes) in checkers.iter().zip(&mut by_field) {
        for outcome in outcomes.iter_mut() {
            outcome.findings.drain(..).for_each(|finding| report.add(finding));
        }
        if deep {
            checker.check_summary(outcomes, report);
        }
    }
    if deep && !fragment.footer.dense {
        structure::coordinates(array, fragment, driver, report)?;
    }
    Ok(())
}

pub(crate) use field::{Checker, recompute, tile_cells};
pub(crate) use structure::{cells_of, misplaced, read as tile_of};

/// The bytes of the files of a field.
fn stored_bytes(fragment: &Fragment, field: Field) -> u64 {
    let footer = &fragment.footer;
    let sizes = [&footer.file_sizes, &footer.var_file_sizes, &footer.validity_file_sizes];
    let slot = fragment.slots.index(field);
    sizes.iter().filter_map(|sizes| sizes.get(slot?)).fold(0, |sum, size| sum.saturating_add(*size))
}

/// Whether the tiles of a field are self-verifying: by a digest in their pipeline or by encryption.
fn has_checksum(array: &Array, fragment: &Fragment, field: Field) -> bool {
    let schema = &fragment.schema;
    let filters = match field {
        Field::Attribute(i) => schema.attributes.get(i).map(|attribute| &attribute.filters),
        Field::Dimension(i) => {
            schema.dimensions.get(i).map(|dim| &dim.filters).filter(|filters| !filters.is_empty())
        }
        _ => None,
    };
    let filters = filters.unwrap_or(&schema.coords_filters);
    array.key.is_some() || filters.filters.iter().any(|filter| matches!(filter, Filter::Checksum(_)))
}

/// A finding at a file of the array.
fn finding(severity: Severity, kind: &'static str, message: String, file: impl Into<String>) -> Finding {
    Finding::new(severity, kind, message).file(file)
}
