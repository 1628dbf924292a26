//! Checks the consistency of the footer, without reading any record.

use tesselle_core::{Severity, hex};

use super::Findings;
use crate::meta::groups::RowGroup;
use crate::meta::header::flags;
use crate::meta::types::LogicalType;
use crate::meta::zone::compare;
use crate::open::File;
use crate::read::blob::BlobIndex;

pub(super) fn check(file: &File, out: &mut Findings) {
    groups(file, out);
    blobs(file, out);
    totals(file, out);
    header(file, out);
}

fn groups(file: &File, out: &mut Findings) {
    let footer = file.footer();
    let mut row = 0u64;
    for (g, group) in footer.groups.iter().enumerate() {
        let piece = format!("row group {g}");
        if group.first_row != row {
            out.wrong(
                "row_count_mismatch",
                format!("the row group starts at row {}, expected {row}", group.first_row),
                &piece,
            );
        }
        row = row.saturating_add(group.rows);
        for column in 0..footer.schema.fields.len() {
            chunk(file, g, group, column, out);
        }
        if let Some(chunk) = group.chunks.iter().find(|c| c.column >= footer.schema.fields.len() as u64) {
            out.wrong(
                "bad_footer",
                format!("a chunk of column {}, which is not in the schema", chunk.column),
                &piece,
            );
        }
        bounds(file, g, group, out);
    }
    if row != file.rows() {
        out.wrong(
            "no_row_groups",
            format!("the row groups have {row} rows, the file states {}", file.rows()),
            "footer",
        );
    }
}

fn chunk(file: &File, g: usize, group: &RowGroup, column: usize, out: &mut Findings) {
    let piece = format!("row group {g}, column {column}");
    let Some(chunk) = group.chunk(column) else {
        out.wrong("missing_chunk", "the column has no chunk in this row group", &piece);
        return;
    };
    if chunk.values != group.rows || chunk.nulls > chunk.values {
        let message =
            format!("{} values with {} nulls in a group of {} rows", chunk.values, chunk.nulls, group.rows);
        out.wrong("row_count_mismatch", message, &piece);
    }
    if let Err(error) = file.check_inside(chunk.offset, chunk.stored_len()) {
        out.error(&error.piece(piece.clone()));
    }
    let Some(field) = file.footer().schema.fields.get(column) else { return };
    if let Some(zone) = &chunk.zone {
        let width = field.logical.scalar_width();
        let fits = |bound: &[u8]| field.logical.has_scalars() && width.is_none_or(|w| w == bound.len());
        if !fits(&zone.min) || !fits(&zone.max) {
            out.wrong(
                "zone_map",
                format!("bounds {} and {} do not fit the type", hex(&zone.min), hex(&zone.max)),
                &piece,
            );
        } else if !zone.is_usable(field.logical) {
            out.add(Severity::Warning, "zone_map", "a bound is NaN and cannot prune", &piece);
        } else if compare(field.logical, &zone.min, &zone.max).is_gt() {
            out.wrong("zone_map", "the minimum is above the maximum", &piece);
        }
    }
    if let Some(number) = chunk.bloom {
        let known = number
            .checked_sub(1)
            .and_then(|i| usize::try_from(i).ok())
            .and_then(|i| file.footer().blooms.get(i));
        if known.is_none() {
            out.wrong("bloom", format!("bloom filter {number} is not listed"), &piece);
        }
    }
}

fn bounds(file: &File, g: usize, group: &RowGroup, out: &mut Findings) {
    let schema = &file.footer().schema;
    let Some(key) = schema.sort_key() else { return };
    let (Some(field), Some(chunk)) = (schema.fields.get(key), group.chunk(key)) else { return };
    let piece = format!("row group {g}");
    if file.header().minor > 0 && chunk.nulls < chunk.values && group.bounds.is_none() {
        out.add(Severity::Warning, "key_index", "a sorted group without key bounds is always read", &piece);
    }
    let (Some(bounds), Some(zone)) = (&group.bounds, &chunk.zone) else { return };
    let same = compare(field.logical, &bounds.min, &zone.min).is_eq()
        && compare(field.logical, &bounds.max, &zone.max).is_eq();
    if !same {
        out.wrong("key_index", "the key bounds differ from the zone map of the sort key", &piece);
    }
}

fn blobs(file: &File, out: &mut Findings) {
    let footer = file.footer();
    for (column, field) in footer.schema.fields.iter().enumerate() {
        if field.logical != LogicalType::BlobRef {
            continue;
        }
        let piece = format!("column {column}");
        let index = match BlobIndex::try_new(file, column) {
            Ok(index) => index,
            Err(error) => {
                out.error(&error.piece(piece));
                continue;
            }
        };
        let chunks = footer.groups.iter().filter_map(|g| g.chunk(column));
        let wanted = chunks.fold(0u64, |n, c| n.saturating_add(c.values.saturating_sub(c.nulls)));
        if index.total() < wanted {
            out.wrong(
                "short_values",
                format!("the runs have {} values, the rows {wanted}", index.total()),
                &piece,
            );
        } else if index.total() > wanted {
            let message = format!("the runs have {} values, the rows only {wanted}", index.total());
            out.add(Severity::Warning, "blob_count", message, &piece);
        }
        if let Some(blob) = footer.blob_column(column)
            && blob.dictionary > footer.dictionaries.len() as u64
        {
            out.wrong("missing_blob", format!("dictionary {} is not listed", blob.dictionary), &piece);
        }
    }
}

fn totals(file: &File, out: &mut Findings) {
    let footer = file.footer();
    let chunks = || footer.groups.iter().flat_map(|g| &g.chunks);
    let runs = || footer.blobs.iter().flat_map(|b| &b.runs);
    let dictionaries = footer.dictionaries.iter().fold(0u64, |n, d| n.saturating_add(d.uncompressed));
    if footer.extension.dictionaries.is_empty() {
        let sum = chunks().map(|c| c.uncompressed).chain(runs().map(|r| r.uncompressed));
        let sum = sum.fold(dictionaries, u64::saturating_add);
        if sum != footer.stats.uncompressed {
            let message = format!(
                "uncompressed bytes sum to {sum}, the statistics state {}",
                footer.stats.uncompressed
            );
            out.add(Severity::Warning, "stats", message, "footer");
        }
    }
}

fn header(file: &File, out: &mut Findings) {
    let (header, footer) = (file.header(), file.footer());
    if header.flags & !flags::KNOWN != 0 {
        let message = format!("header flags {:#06x} are unknown", header.flags & !flags::KNOWN);
        out.add(Severity::Warning, "unknown_flags", message, "header");
    }
    let expected = [
        (flags::SORTED, footer.schema.sort_key().is_some(), "sorted"),
        (flags::BLOBS, !footer.blobs.is_empty(), "blob region"),
        (flags::DICTIONARIES, !footer.dictionaries.is_empty(), "dictionary region"),
    ];
    for (flag, there, name) in expected {
        if header.has(flag) != there {
            let message = format!("the header flag '{name}' disagrees with the footer");
            out.add(Severity::Warning, "header_flags", message, "header");
        }
    }
}
