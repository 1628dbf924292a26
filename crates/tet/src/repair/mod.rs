//! Recovery of a damaged file.
//!
//! A file that opens is verified; without findings it is copied. A broken footer is cut off, never through a payload:
//! the highest end of any payload is a lower bound for the cut. Chunks are copied as stored. A missing or undecodable
//! chunk is filled with the null sentinel of its dataset, else NaN or 0, and an attribute of the dataset lists it. A
//! dataset without any chunk left is dropped. Nothing proves a chunk correct: where zone maps and chunks disagree, the
//! chunks are kept, the maps are rebuilt, and the report and attributes list them.

mod lost;

use bytes::Bytes;
use lost::SalvagedDataset;
use tesselle_core::driver::copy;
use tesselle_core::{
    Depth, Driver, Error, ErrorKind, Location, OpenOptions, Outcome, RepairRequest, Repaired, Report, Result,
};

use crate::container::File;
use crate::meta::catalog::{Catalog, Front, RawFooter, Window};
use crate::meta::footer::Tail;
use crate::meta::index::{Header, Index, Row};
use crate::meta::limits;
use crate::meta::rows::Rows;
use crate::meta::superblock::{FLAG_FOOTER, Superblock};
use crate::verify::verify;
use crate::write::{Copying, DatasetSpec, FooterSpec, Writer, WriterOptions};

/// Writes everything recoverable from `source` to `target`.
pub(crate) fn repair(request: RepairRequest<'_>, driver: &Driver) -> Result<Repaired> {
    let RepairRequest { source, target, options } = request;
    let opened = File::open(source, options).and_then(|file| file.opened.index().map(drop).map(|()| file));
    let (file, refused) = match opened {
        Ok(file) => (file, None),
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => (salvage(source, options, &error)?, Some(error)),
    };
    let mut report = Report::new(Depth::Deep);
    verify(&file.opened, Depth::Deep, driver, &mut report)?;
    let mut repaired = Repaired::default();
    let mut kept = Vec::new();
    for id in 0..file.opened.catalog.datasets.len() {
        driver.check_canceled()?;
        match SalvagedDataset::of(&file, id, options.fill.as_deref(), driver) {
            Ok(dataset) => {
                if let Some(text) = dataset.note(&file) {
                    repaired.note(Outcome::Partial, text);
                }
                kept.push(dataset);
            }
            // A limit or a failing medium is no statement about the data, so the data must not be dropped.
            Err(error) if !matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => {
                return Err(error);
            }
            Err(error) => {
                let text = format!("dataset '{}' is lost: {}", file.opened.name(id), error.without_hint());
                repaired.note(Outcome::Partial, text);
            }
        }
    }
    let lookalike = refused.is_some() && !file.opened.catalog.superblock.has_footer();
    let is_healthy = report.ok() && repaired.outcome == Outcome::Healthy && !lookalike;
    if is_healthy && has_all_rows(&file)? {
        return copy_front(&file, target, refused.as_ref(), driver);
    }
    if is_healthy {
        repaired.note(
            Outcome::Partial,
            "rows of the index that belong to no chunk and violate a rule are dropped",
        );
    }
    if let Some(error) = refused {
        repaired.note(Outcome::Repaired, format!("the file did not open: {}", error.without_hint()));
    }
    note_disagreements(&file, &report, &mut kept, &mut repaired);
    copy_datasets(&file, &kept, repaired, target, driver)
}

/// Whether the index has every row that the file states: rows that violate a rule are dropped from a salvaged one.
fn has_all_rows(file: &File) -> Result<bool> {
    let stated = file.opened.catalog.superblock.chunk_index_length.saturating_sub(Header::LEN as u64);
    let bytes = (file.opened.index()?.iter().count() as u64).saturating_mul(Row::LEN as u64);
    Ok(file.opened.catalog.datasets.is_empty() || bytes == stated)
}

/// Notes the findings of a verification except missing or undecodable chunks, one line per kind.
fn note_disagreements(file: &File, report: &Report, kept: &mut [SalvagedDataset], repaired: &mut Repaired) {
    let of_kind = |kind: &'static str| report.errors().filter(move |finding| finding.kind == kind);
    for dataset in kept {
        let name = file.opened.name(dataset.id);
        let ending = format!(" of '{name}'");
        let places = of_kind("zone_maps_stale").filter_map(|f| f.piece.as_deref()?.strip_suffix(&ending));
        dataset.doubtful = places.map(|place| place.trim_start_matches("chunk ").to_owned()).collect();
        if let Some(first) = dataset.doubtful.first() {
            let text = format!(
                "the zone maps of dataset '{name}' were rebuilt: {} of them disagreed with the chunks, which may be \
                 damaged (the first at chunk {first})",
                dataset.doubtful.len(),
            );
            repaired.note(Outcome::Doubtful, text);
        }
    }
    let rest = [
        ("secondary_indexes_stale", Outcome::Doubtful, "the secondary index was rebuilt"),
        ("payload_offsets", Outcome::Doubtful, "chunks that shared a payload now have separate ones"),
        ("chunk_coords", Outcome::Doubtful, "of several chunks with the same coordinates, the first is kept"),
        ("footer_metadata", Outcome::Partial, "metadata that exceeds the limits of a footer is dropped"),
    ];
    for (kind, outcome, what) in rest {
        if let Some(finding) = of_kind(kind).next() {
            repaired.note(outcome, format!("{what}: {}", finding.message));
        }
    }
}

/// Opens a damaged file as far as its index allows: impossible rows are dropped, a broken footer is ignored.
fn salvage(source: &Location, options: &OpenOptions, refused: &Error) -> Result<File> {
    let window = Window::try_new(source)?;
    let front = Front::parse(&window).map_err(|error| {
        error.file(source.path()).hint("without an intact directory and index nothing can be recovered")
    })?;
    let file_len = window.size;
    let tail = Tail::parse(&window.tail, file_len).ok().flatten().filter(|_| front.superblock.has_footer());
    let footer = tail.and_then(|tail| RawFooter::read(&window, tail, &options.limits).ok());
    let json_start = tail.map_or(file_len, |tail| tail.json_range(file_len).start);
    let stored = window.get(front.rows.clone())?;
    let checked = |payload_end: u64| {
        let rows = stored.as_chunks::<{ Row::LEN }>().0;
        (0_u64..).zip(rows).filter(move |(number, row)| Row::check(row, *number, 0, payload_end).is_ok())
    };
    // A spill length that would cut into payloads is wrong itself.
    let stated = footer.as_ref().and_then(|footer| footer.payload_end(file_len).ok()).unwrap_or(json_start);
    let payload_end =
        if checked(stated).count() == checked(json_start).count() { stated } else { json_start };
    let kept: Vec<u8> = checked(payload_end).flat_map(|(_, row)| *row).collect();
    let grids = front.grids();
    let index = Index::try_new(Bytes::from(kept), front.rows.start, &grids, payload_end)?;
    let footer = footer.filter(|_| refused.class_name() != "footer_longer_than_file");
    let footer = footer.and_then(|footer| footer.finish(&window).ok()).filter(|_| payload_end == stated);
    let catalog = Catalog {
        file_len,
        superblock: front.superblock,
        datasets: front.datasets,
        grids,
        budget: front.budget,
        rows: Rows::of(index),
        payload_end,
        footer,
    };
    Ok(File::with_catalog(source, catalog, &options.limits))
}

/// Copies the file up to the end of its payloads, or all of it if it is healthy.
fn copy_front(file: &File, target: &Location, refused: Option<&Error>, driver: &Driver) -> Result<Repaired> {
    let catalog = &file.opened.catalog;
    let highest = file.opened.index()?.iter().map(|row| row.span().end).max().unwrap_or(0);
    let front = catalog.superblock.chunk_index_offset.saturating_add(catalog.superblock.chunk_index_length);
    let mut repaired = Repaired::default();
    let cut = match refused {
        None => {
            repaired.note(Outcome::Healthy, "the file is healthy and was copied");
            catalog.file_len
        }
        Some(error) if error.class_name() == "footer_missing" => {
            let text = "the footer stated by the superblock is missing: the flag is cleared, the contents of the footer are lost";
            repaired.note(Outcome::Partial, text);
            catalog.file_len
        }
        Some(error) => {
            let cut = match error.class_name() {
                // The length of such a footer is unknown.
                "unsupported_history_version" | "footer_out_of_bounds" => 0,
                _ => catalog.payload_end,
            };
            let text = format!("the footer with history and metadata is dropped: {}", error.without_hint());
            repaired.note(Outcome::Partial, text);
            cut.max(highest).max(front).max(Superblock::LEN as u64)
        }
    };
    let mut staged = target.create(true)?;
    copy(&file.opened.location, 0..cut, &mut *staged, driver)?;
    if refused.is_some() {
        let superblock = Superblock { flags: catalog.superblock.flags & !FLAG_FOOTER, ..catalog.superblock };
        staged.write_at(0, &superblock.to_bytes())?;
    }
    staged.commit()?;
    Ok(Repaired { kept_bytes: cut, dropped_bytes: catalog.file_len - cut, ..repaired })
}

/// Writes the remains of the datasets into a new file, with history and metadata if they could be read.
fn copy_datasets(
    file: &File,
    kept: &[SalvagedDataset],
    mut repaired: Repaired,
    target: &Location,
    driver: &Driver,
) -> Result<Repaired> {
    let catalog = &file.opened.catalog;
    let mut specs = Vec::with_capacity(kept.len());
    let mut kept_bytes = 0_u64;
    for dataset in kept {
        let stored = catalog.datasets.get(dataset.id).zip(file.opened.index()?.datasets.get(dataset.id));
        let (record, rows) = stored.ok_or_else(|| Error::internal("a dataset is missing"))?;
        kept_bytes = kept_bytes.saturating_add(rows.stored_bytes.saturating_sub(dataset.lost_bytes));
        specs.push(DatasetSpec {
            name: record.name.clone(),
            dtype: file.opened.grid(dataset.id)?.dtype,
            shape: record.shape.clone(),
            chunk_shape: record.chunk_shape.clone(),
            codec: rows.codec,
            level: None,
            budget: catalog.budget,
        });
    }
    let options = WriterOptions { overwrite: true, footer: footer(file, kept), ..WriterOptions::default() };
    let mut writer = Writer::start(target, &specs, specs.len(), options, driver)?;
    for (id, dataset) in kept.iter().enumerate() {
        let copying = Copying { lost: Some(&dataset.lost), fill: &dataset.fill, recompress: false };
        writer.copy_dataset(id, file, dataset.id, &copying)?;
    }
    writer.finish()?;
    if repaired.notes.is_empty() {
        repaired.note(Outcome::Repaired, "the file was rewritten");
    }
    Ok(Repaired { kept_bytes, dropped_bytes: catalog.file_len.saturating_sub(kept_bytes), ..repaired })
}

/// The footer of the result: that of the source, and marks on the changed datasets.
fn footer(file: &File, kept: &[SalvagedDataset]) -> Option<FooterSpec> {
    let catalog = &file.opened.catalog;
    let own = catalog.footer.as_ref().map(|footer| FooterSpec {
        history: Some(footer.document.history.clone())
            .filter(|history| limits::check_history(history).is_ok())
            .unwrap_or_default(),
        metadata: footer.metadata.clone().filter(|metadata| limits::check_metadata(metadata).is_ok()),
        indexes: footer.document.zone_maps_ref.is_some() && footer.tail.version >= 2,
        version: Some(footer.tail.version),
    });
    // Data that ends in the bytes of a footer needs a footer after it.
    let ends_oddly = !catalog.superblock.has_footer();
    let mut footer = own.or_else(|| ends_oddly.then(FooterSpec::default));
    for dataset in kept {
        for (key, text) in dataset.marks() {
            let marked = footer.get_or_insert_with(FooterSpec::default);
            let before = marked.metadata.clone();
            let about = marked.metadata.get_or_insert_default();
            let about = about.datasets.entry(file.opened.name(dataset.id).to_owned()).or_default();
            about.attrs.insert(key.to_owned(), text);
            // A footer has limits; the report has none.
            if marked.metadata.as_ref().is_some_and(|all| limits::check_metadata(all).is_err()) {
                marked.metadata = before;
            }
        }
    }
    footer
}
