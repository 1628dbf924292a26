//! The byte map of a file.

use tesselle_core::{Extent, FileLayout, LayoutMap, Result, Role};

use crate::meta::align8;
use crate::meta::directory::{BLOB_OFFSET, Dataset};
use crate::meta::index::{Header, Index};
use crate::meta::superblock::Superblock;
use crate::open::Opened;

/// Rows listed one by one; above that, contiguous payloads of a dataset are one extent.
const LISTED: u64 = 1 << 16;

/// Every byte range of a file with its meaning.
pub(crate) fn layout(opened: &Opened) -> Result<LayoutMap> {
    let catalog = &opened.catalog;
    let mut extents =
        vec![Extent::new(0..Superblock::LEN as u64, Role::Header, "superblock: TETR, layout version 1")];
    if !catalog.datasets.is_empty() {
        front(opened, &mut extents);
        payloads(opened, opened.index()?, &mut extents);
    }
    footer(opened, &mut extents);
    let file = FileLayout { file: opened.location.name().to_owned(), size: catalog.file_len, extents };
    Ok(LayoutMap { files: vec![file.close_gaps()] })
}

fn front(opened: &Opened, extents: &mut Vec<Extent>) {
    let catalog = &opened.catalog;
    let count = catalog.datasets.len();
    extents.push(Extent::new(32..BLOB_OFFSET, Role::Metadata, format!("directory length, {count} datasets")));
    let mut at = BLOB_OFFSET;
    for dataset in &catalog.datasets {
        let end = at + dataset.record_len() as u64;
        let content = format!(
            "record of '{}': {} {:?} in chunks of {:?}",
            dataset.name,
            dataset.dtype_name(),
            dataset.shape,
            dataset.chunk_shape
        );
        extents.push(Extent::new(at..end, Role::Metadata, content).table(&*dataset.name));
        at = end;
    }
    if let Some(aligned) = align8(at).filter(|aligned| *aligned > at) {
        extents.push(Extent::new(at..aligned, Role::Padding, "padding"));
    }
    let start = catalog.superblock.chunk_index_offset;
    let rows = start + Header::LEN as u64;
    extents.push(Extent::new(start..rows, Role::Index, "chunk index header: TIDX, version 1"));
    let end = start + catalog.superblock.chunk_index_length;
    if end > rows {
        extents.push(Extent::new(
            rows..end,
            Role::Index,
            format!("chunk index: {} rows", catalog.rows.len()),
        ));
    }
}

fn payloads(opened: &Opened, index: &Index, extents: &mut Vec<Extent>) {
    let catalog = &opened.catalog;
    let named = |id: u64| usize::try_from(id).ok().and_then(|id| catalog.datasets.get(id));
    if index.len() <= LISTED {
        for row in index.iter() {
            let dataset = named(row.dataset_id);
            let chunk = row.chunk(dataset.map_or(0, Dataset::rank));
            let content = match dataset {
                Some(dataset) => format!("chunk {chunk:?} of '{}', {}", dataset.name, row.codec.name()),
                None => format!("chunk of dataset {}, which does not exist", row.dataset_id),
            };
            let extent = Extent::new(row.span(), Role::Data, content);
            extents.push(match dataset {
                Some(dataset) => extent.table(&*dataset.name).column("value"),
                None => extent,
            });
        }
        return;
    }
    let mut run: Option<(u64, std::ops::Range<u64>, u64)> = None;
    let mut close = |run: Option<(u64, std::ops::Range<u64>, u64)>| {
        let Some((id, range, chunks)) = run else { return };
        let name = named(id).map_or("", |dataset| dataset.name.as_str());
        let extent = Extent::new(range, Role::Data, format!("{chunks} chunks of '{name}'"));
        extents.push(extent.table(name).column("value"));
    };
    for row in index.iter() {
        match &mut run {
            Some((id, range, chunks)) if *id == row.dataset_id && range.end == row.payload_offset => {
                range.end = row.span().end;
                *chunks += 1;
            }
            _ => close(run.replace((row.dataset_id, row.span(), 1))),
        }
    }
    close(run);
}

fn footer(opened: &Opened, extents: &mut Vec<Extent>) {
    let catalog = &opened.catalog;
    let Some(footer) = &catalog.footer else { return };
    let spills = [
        (catalog.zone_range(), Role::Statistics, "zone maps"),
        (catalog.secondary_range(), Role::Statistics, "secondary index"),
        (
            footer.document.metadata_ref.and_then(|spill| spill.range(catalog.file_len)),
            Role::Metadata,
            "spilled metadata",
        ),
    ];
    for (range, role, content) in spills {
        if let Some(range) = range.filter(|range| !range.is_empty()) {
            extents.push(Extent::new(range, role, content));
        }
    }
    let json = footer.tail.json_range(catalog.file_len);
    let tail = json.end..catalog.file_len;
    extents.push(Extent::new(
        json,
        Role::Metadata,
        format!("footer JSON: {} history rows", footer.document.history.len()),
    ));
    extents.push(Extent::new(
        tail,
        Role::Metadata,
        format!("footer tail: THST, version {}", footer.tail.version),
    ));
}
