//! Saving what a damaged file still holds.
//!
//! A file that opens is verified; where that finds nothing, it is copied. A broken footer is cut off, never through a
//! payload: the highest end of any payload is a lower bound for the cut. Datasets with a tile that is missing or does not
//! decode are left out, all others are copied as they are stored. Nothing proves a tile right: where zone maps and tiles
//! disagree, the tiles are kept, the maps are made anew, and the report says so.

use bytes::Bytes;
use tesselle_core::driver::parallel;
use tesselle_core::storage::Staged;
use tesselle_core::{
    Depth, Driver, Error, ErrorKind, Finding, Location, OpenOptions, Outcome, Repaired, Report, Result,
    Severity,
};

use crate::meta::catalog::{Catalog, Front, RawFooter, Window};
use crate::meta::footer::Tail;
use crate::meta::index::{Index, Row};
use crate::meta::limits;
use crate::meta::superblock::{FLAG_FOOTER, Superblock};
use crate::read::{File, decode_into};
use crate::verify::verify;
use crate::write::{DatasetSpec, FooterSpec, Writer, WriterOptions};

/// Bytes copied at once.
const COPY: u64 = 8 << 20;

/// Writes what can be saved of `source` to `target`.
pub(crate) fn repair(
    source: &Location,
    target: &Location,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<Repaired> {
    let (file, refused) = match File::open(source, options) {
        Ok(file) => (file, None),
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => (salvage(source, options, &error)?, Some(error)),
    };
    let mut report = Report::new(Depth::Deep);
    verify(&file.opened, Depth::Deep, driver, &mut report)?;
    let mut repaired = Repaired::default();
    let mut whole = Vec::new();
    for id in 0..file.opened.catalog.datasets.len() {
        driver.check_canceled()?;
        match check_dataset(&file, id, driver) {
            Ok(()) => whole.push(id),
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            Err(error) => {
                let text =
                    format!("dataset '{}' is left out: {}", file.opened.name(id), error.without_hint());
                repaired.note(Outcome::Partial, text);
            }
        }
    }
    let lookalike = refused.is_some() && !file.opened.catalog.superblock.has_footer();
    if report.ok() && repaired.outcome == Outcome::Healthy && !lookalike {
        return copy_front(&file, target, refused.as_ref());
    }
    if let Some(error) = refused {
        repaired.note(Outcome::Mended, format!("the file was refused: {}", error.without_hint()));
    }
    note_disagreements(&file, &report, &mut repaired);
    copy_datasets(&file, &whole, repaired, target, driver)
}

/// What a verification found besides tiles that are missing or do not decode, a line for each kind of it.
fn note_disagreements(file: &File, report: &Report, repaired: &mut Repaired) {
    let of_kind = |kind: &'static str| {
        let is_meant = move |finding: &&Finding| finding.severity == Severity::Error && finding.kind == kind;
        report.findings().iter().filter(is_meant)
    };
    for name in (0..file.opened.catalog.datasets.len()).map(|id| file.opened.name(id)) {
        let ending = format!(" of '{name}'");
        let stale =
            of_kind("zone_maps_stale").filter(|f| f.piece.as_ref().is_some_and(|p| p.ends_with(&ending)));
        if let (Some(first), count) = (stale.clone().next(), stale.count()) {
            let text = format!(
                "the zone maps of dataset '{name}' were made anew: {count} of them disagreed with the tiles, which \
                 may be damaged (the first at {})",
                first.piece.as_deref().unwrap_or_default().trim_end_matches(&ending)
            );
            repaired.note(Outcome::Doubtful, text);
        }
    }
    let rest = [
        ("secondary_indexes_stale", Outcome::Doubtful, "the secondary index was made anew"),
        ("payload_offsets", Outcome::Doubtful, "tiles that shared a payload have one each now"),
        ("chunk_coords", Outcome::Doubtful, "of tiles at one place the first is kept"),
        ("footer_metadata", Outcome::Partial, "what does not fit into a footer is left out"),
    ];
    for (kind, outcome, what) in rest {
        if let Some(finding) = of_kind(kind).next() {
            repaired.note(outcome, format!("{what}: {}", finding.message));
        }
    }
}

/// Opens a file that is refused, as far as its index goes: rows that cannot be are dropped, a broken footer is none.
fn salvage(source: &Location, options: &OpenOptions, refused: &Error) -> Result<File> {
    let window = Window::new(source)?;
    let front = Front::parse(&window).map_err(|error| {
        error.file(source.path()).hint("without an intact directory and index nothing can be saved")
    })?;
    let file_len = window.size;
    let tail = Tail::parse(&window.tail, file_len).ok().flatten().filter(|_| front.superblock.has_footer());
    let footer = tail.and_then(|tail| RawFooter::read(&window, tail, &options.limits).ok());
    let json_start = tail.map_or(file_len, |tail| tail.json_range(file_len).start);
    let checked = |payload_end: u64| {
        let rows = front.rows.as_chunks::<{ Row::LEN }>().0;
        (0_u64..).zip(rows).filter(move |(number, row)| Row::check(row, *number, 0, payload_end).is_ok())
    };
    // A spill length that would cut into payloads is wrong itself.
    let stated = footer.as_ref().and_then(|footer| footer.payload_end(file_len).ok()).unwrap_or(json_start);
    let payload_end =
        if checked(stated).count() == checked(json_start).count() { stated } else { json_start };
    let kept: Vec<u8> = checked(payload_end).flat_map(|(_, row)| *row).collect();
    let grids = front.grids();
    let index = Index::new(Bytes::from(kept), front.rows_offset(), &grids, payload_end)?;
    let footer = footer.filter(|_| refused.class_name() != "footer_longer_than_file");
    let footer = footer.and_then(|footer| footer.finish(&window).ok()).filter(|_| payload_end == stated);
    let catalog = Catalog {
        file_len,
        superblock: front.superblock,
        datasets: front.datasets,
        grids,
        budget: front.budget,
        index,
        payload_end,
        footer,
    };
    Ok(File::with_catalog(source, catalog, &options.limits))
}

/// Looks at every tile of a dataset.
fn check_dataset(file: &File, id: usize, driver: &Driver) -> Result<()> {
    let opened = &file.opened;
    let grid = opened.grid(id)?;
    let checked = driver.install(|| {
        parallel::try_map_with(0..grid.tiles, Vec::new, |scratch, linear| {
            driver.check_canceled()?;
            let tile = grid.tile_at(linear);
            let row = opened.tile_row(id, grid, &tile)?;
            if row.codec == crate::Codec::Raw {
                return Ok(());
            }
            let payload = opened.location.read_range(row.span())?;
            scratch.resize(row.raw_len as usize, 0);
            decode_into(&row, &payload, scratch)
        })
    });
    checked.map(drop)
}

/// Copies the file up to the end of its payloads, or all of it when it is healthy.
fn copy_front(file: &File, target: &Location, refused: Option<&Error>) -> Result<Repaired> {
    let catalog = &file.opened.catalog;
    let highest = catalog.index.iter().map(|row| row.span().end).max().unwrap_or(0);
    let front = catalog.superblock.chunk_index_offset.saturating_add(catalog.superblock.chunk_index_length);
    let mut repaired = Repaired::default();
    let cut = match refused {
        None => {
            repaired.note(Outcome::Healthy, "the file is healthy and was copied");
            catalog.file_len
        }
        Some(error) if error.class_name() == "footer_missing" => {
            let text =
                "a footer was promised but missing: the flag is cleared, what it may have held is lost";
            repaired.note(Outcome::Partial, text);
            catalog.file_len
        }
        Some(error) => {
            let cut = match error.class_name() {
                // The length of such a footer is not known.
                "unsupported_history_version" | "footer_out_of_bounds" => 0,
                _ => catalog.payload_end,
            };
            let text = format!("the footer with history and metadata is left out: {}", error.without_hint());
            repaired.note(Outcome::Partial, text);
            cut.max(highest).max(front).max(Superblock::LEN as u64)
        }
    };
    let mut staged = target.create(true)?;
    copy_range(&file.opened.location, cut, &mut *staged)?;
    if refused.is_some() {
        let superblock = Superblock { flags: catalog.superblock.flags & !FLAG_FOOTER, ..catalog.superblock };
        staged.write_at(0, &superblock.to_bytes())?;
    }
    staged.commit()?;
    Ok(Repaired { kept_bytes: cut, dropped_bytes: catalog.file_len - cut, ..repaired })
}

fn copy_range(source: &Location, end: u64, staged: &mut dyn Staged) -> Result<()> {
    let mut at = 0;
    while at < end {
        let next = end.min(at + COPY);
        staged.write(&source.read_range(at..next)?)?;
        at = next;
    }
    Ok(())
}

/// Writes the whole datasets into a new file, with history and metadata where they could be read.
fn copy_datasets(
    file: &File,
    whole: &[usize],
    mut repaired: Repaired,
    target: &Location,
    driver: &Driver,
) -> Result<Repaired> {
    let catalog = &file.opened.catalog;
    let mut specs = Vec::with_capacity(whole.len());
    let mut kept_bytes = 0_u64;
    for id in whole {
        let (Some(dataset), Some(rows)) = (catalog.datasets.get(*id), catalog.index.datasets.get(*id)) else {
            continue;
        };
        let grid = file.opened.grid(*id)?;
        kept_bytes = kept_bytes.saturating_add(rows.stored_bytes);
        specs.push(DatasetSpec {
            name: dataset.name.clone(),
            dtype: grid.dtype,
            shape: dataset.shape.clone(),
            chunk_shape: dataset.chunk_shape.clone(),
            codec: rows.codec,
            level: None,
            budget: catalog.budget,
        });
    }
    // Data that ends in the bytes of a footer needs one behind it.
    let ends_oddly = !catalog.superblock.has_footer();
    let kept = catalog.footer.as_ref().map(|footer| FooterSpec {
        history: Some(footer.document.history.clone())
            .filter(|history| limits::check_history(history).is_ok())
            .unwrap_or_default(),
        metadata: footer.metadata.clone().filter(|metadata| limits::check_metadata(metadata).is_ok()),
        indexes: footer.document.zone_maps_ref.is_some() && footer.tail.version >= 2,
    });
    let footer = kept.or_else(|| ends_oddly.then(FooterSpec::default));
    let options = WriterOptions { overwrite: true, footer, ..WriterOptions::default() };
    let mut writer = Writer::start(target, &specs, specs.len(), options, driver)?;
    for (id, source) in whole.iter().enumerate() {
        writer.copy_dataset(id, file, *source)?;
    }
    writer.finish()?;
    if repaired.notes.is_empty() {
        repaired.note(Outcome::Mended, "the file was written anew");
    }
    Ok(Repaired { kept_bytes, dropped_bytes: catalog.file_len.saturating_sub(kept_bytes), ..repaired })
}
