//! Verification of a file that opens. The kinds of the findings are the names of the checks.
//!
//! Errors that `open` detects, or the reading of the complete index, are not checked again: rows are inside the file and
//! have known codecs.

use std::collections::HashSet;

use tesselle_core::driver::parallel;
use tesselle_core::{Depth, Driver, Error, Finding, Report, Result, Severity};

use crate::meta::directory::Dataset;
use crate::meta::index::{Codec, Index, Row};
use crate::meta::limits;
use crate::meta::secondary::SecondaryDocument;
use crate::meta::statistics::{ChunkStatistics, DatasetStatistics, secondary_document};
use crate::meta::zone::{VERSION, ZoneDocument};
use crate::open::{Opened, decode_into};

/// Rows decoded by a verification of moderate depth.
const SAMPLE: u64 = 128;
/// Rows decoded per batch.
const BATCH: u64 = 4096;

/// Runs the checks.
pub(crate) fn verify(opened: &Opened, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
    let file = opened.location.path();
    let index = opened.index()?;
    if !dataset_ids(opened, index, report) || !tensor_bytes(opened, index, report) {
        return Ok(());
    }
    payload_places(opened, index, report);
    payload_offsets(opened, index, report);
    chunk_coords(opened, index, report);
    payload_order(opened, index, report);
    let rows = index.len();
    let decoded = match depth {
        Depth::Quick => 0,
        Depth::Pieces => rows.min(SAMPLE),
        Depth::Deep => rows,
    };
    if decoded < rows {
        let severity = if depth == Depth::Quick { Severity::Info } else { Severity::Warning };
        let message = format!("{} of {rows} chunks were not decoded", rows - decoded);
        report.add(Finding::new(severity, "chunk_decode_skipped", message).file(file));
    }
    let statistics = decode(opened, decoded, depth == Depth::Deep, driver, report)?;
    if let Some(statistics) = statistics {
        zone_maps(opened, &statistics, report);
        secondary_index(opened, &statistics, report);
    }
    footer_metadata(opened, report);
    Ok(())
}

fn finding(opened: &Opened, kind: &'static str, message: String) -> Finding {
    Finding::new(Severity::Error, kind, message).file(opened.location.path())
}

fn dataset_of(row: &Row) -> usize {
    usize::try_from(row.dataset_id).unwrap_or(usize::MAX)
}

fn dataset_ids(opened: &Opened, index: &Index, report: &mut Report) -> bool {
    let count = opened.catalog.datasets.len();
    for (number, row) in index.iter().enumerate() {
        if dataset_of(&row) >= count {
            let message =
                format!("chunk {number} refers to dataset {}, but there are {count}", row.dataset_id);
            report.add(finding(opened, "chunk_dataset_ids", message).piece(format!("chunk {number}")));
        }
    }
    report.ok()
}

fn tensor_bytes(opened: &Opened, index: &Index, report: &mut Report) -> bool {
    const KIND: &str = "dataset_tensor_bytes";
    let catalog = &opened.catalog;
    let mut sums = vec![0_u128; catalog.datasets.len()];
    for (number, row) in index.iter().enumerate() {
        let id = dataset_of(&row);
        let (Some(sum), Some(Ok(grid))) = (sums.get_mut(id), catalog.grids.get(id)) else { continue };
        *sum += u128::from(row.raw_len);
        let chunk = row.chunk(grid.rank());
        let expected = grid.chunk_bytes(chunk);
        if row.raw_len != expected {
            let message = format!("chunk {number} states {} bytes, its chunk takes {expected}", row.raw_len);
            report.add(
                finding(opened, KIND, message).piece(format!("chunk {chunk:?} of '{}'", opened.name(id))),
            );
        }
    }
    for (id, (grid, sum)) in catalog.grids.iter().zip(sums).enumerate() {
        let rows = index.datasets.get(id).map_or(0, |rows| rows.count);
        let wrong = match grid {
            Err(error) => Some(error.message().to_owned()),
            Ok(grid) if grid.chunks != rows => Some(format!("{rows} chunks, the grid has {}", grid.chunks)),
            Ok(grid) if u128::from(grid.bytes) != sum => {
                Some(format!("the chunks have {sum} bytes, the tensor {}", grid.bytes))
            }
            Ok(_) => None,
        };
        if let Some(message) = wrong {
            report.add(finding(opened, KIND, message).piece(format!("dataset '{}'", opened.name(id))));
        }
    }
    report.ok()
}

/// Checks that payloads are after the index; one before its end would be read from another structure.
fn payload_places(opened: &Opened, index: &Index, report: &mut Report) {
    let front = opened.catalog.front_end();
    for (number, row) in index.iter().enumerate() {
        if row.payload_offset < front && row.stored_len > 0 {
            let message = format!(
                "the payload of chunk {number} starts at byte {}, before the end of the index at byte {front}",
                row.payload_offset
            );
            let piece = format!("chunk {number} of '{}'", opened.name(dataset_of(&row)));
            report.add(finding(opened, "chunk_payloads", message).offset(row.payload_offset).piece(piece));
        }
    }
}

/// Two chunks have no byte in common.
fn payload_offsets(opened: &Opened, index: &Index, report: &mut Report) {
    let rows = || index.iter();
    let apart = |a: &Row, b: &Row| a.payload_offset < b.payload_offset && a.span().end <= b.payload_offset;
    if rows().zip(rows().skip(1)).all(|(a, b)| apart(&a, &b)) {
        return;
    }
    let mut spans: Vec<(u64, u64, usize)> =
        rows().enumerate().map(|(number, row)| (row.payload_offset, row.span().end, number)).collect();
    spans.sort_unstable_by_key(|(offset, _, number)| (*offset, *number));
    let mut last: Option<(u64, u64)> = None;
    for (offset, end, number) in spans {
        let message = match last {
            Some((start, _)) if start == offset => {
                Some(format!("chunk {number} shares its payload with another one"))
            }
            Some((_, end)) if offset < end => {
                Some(format!("the payload of chunk {number} starts inside that of another one"))
            }
            _ => None,
        };
        if let Some(message) = message {
            report.add(
                finding(opened, "payload_offsets", message).offset(offset).piece(format!("chunk {number}")),
            );
        }
        last = Some((offset, last.map_or(end, |(_, reached)| reached.max(end))));
    }
}

fn chunk_coords(opened: &Opened, index: &Index, report: &mut Report) {
    let catalog = &opened.catalog;
    let mut seen = HashSet::new();
    for (number, row) in index.iter().enumerate() {
        let id = dataset_of(&row);
        if index.datasets.get(id).is_none_or(|rows| rows.regular) {
            continue;
        }
        let rank = catalog.datasets.get(id).map_or(0, Dataset::rank);
        if !seen.insert((id, row.chunk(rank).to_vec())) {
            let message = format!("chunk {number} has the coordinates of another one");
            let piece = format!("chunk {:?} of '{}'", row.chunk(rank), opened.name(id));
            report.add(finding(opened, "chunk_coords", message).piece(piece));
        }
    }
}

fn payload_order(opened: &Opened, index: &Index, report: &mut Report) {
    let mut expected = None;
    let mut odd = 0_u64;
    let mut first = None;
    for (number, row) in index.iter().enumerate() {
        if expected.is_some_and(|expected| expected != row.payload_offset) {
            odd += 1;
            first.get_or_insert((number, row.payload_offset));
        }
        expected = Some(row.span().end);
    }
    if let Some((number, offset)) = first {
        let message =
            format!("{odd} payloads do not start where the one before ends, the first is chunk {number}");
        report.add(
            Finding::new(Severity::Warning, "payload_order", message)
                .file(opened.location.path())
                .offset(offset)
                .piece(format!("chunk {number}")),
        );
    }
}

/// Decodes the first `count` rows. With `deep`, and if a document is embedded, also computes its expected content.
fn decode(
    opened: &Opened,
    count: u64,
    deep: bool,
    driver: &Driver,
    report: &mut Report,
) -> Result<Option<Vec<DatasetStatistics>>> {
    let (catalog, index) = (&opened.catalog, opened.index()?);
    let embedded = deep && (catalog.zone_range().is_some() || catalog.secondary_range().is_some());
    let mut statistics: Vec<DatasetStatistics> =
        catalog.datasets.iter().map(|_| DatasetStatistics::new()).collect();
    let mut whole = true;
    driver.progress().expect(index.iter().take(count as usize).map(|row| row.stored_len).sum());
    let mut start = 0;
    while start < count {
        driver.check_canceled()?;
        let end = count.min(start + BATCH);
        let decoded: Vec<(Row, Result<Option<ChunkStatistics>>)> = driver.install(|| {
            let rows = (start..end).filter_map(|number| index.row(number));
            parallel::map_with(rows, Vec::new, |scratch, row| {
                (row, decode_row(opened, &row, embedded, scratch))
            })
        });
        for (number, (row, result)) in (start..).zip(decoded) {
            driver.progress().advance(row.stored_len);
            report.pieces += 1;
            let id = dataset_of(&row);
            match result {
                Ok(Some(chunk)) => {
                    let grid = catalog.grids.get(id).and_then(|grid| grid.as_ref().ok());
                    let linear = grid.and_then(|grid| grid.linear(row.chunk(grid.rank())));
                    if let (Some(statistics), Some(linear)) = (statistics.get_mut(id), linear) {
                        statistics.add(linear, chunk);
                    }
                }
                Ok(None) => {}
                Err(error) if error.kind() == tesselle_core::ErrorKind::Io => return Err(error),
                Err(error) if error.kind() == tesselle_core::ErrorKind::Limit => {
                    // A limit of this run is no statement about the file.
                    whole = false;
                    let message = format!("chunk {number} was not decoded: {}", error.message());
                    let finding = Finding::new(Severity::Warning, "chunk_decode_skipped", message);
                    report.add(finding.file(opened.location.path()).offset(row.payload_offset));
                }
                Err(error) => {
                    whole = false;
                    let message = format!("chunk {number}: {}", error.message());
                    let piece = format!("chunk {number} of '{}'", opened.name(id));
                    report.add(
                        finding(opened, "chunk_decode", message).offset(row.payload_offset).piece(piece),
                    );
                }
            }
        }
        start = end;
    }
    Ok(Some(statistics).filter(|_| embedded && whole))
}

fn decode_row(
    opened: &Opened,
    row: &Row,
    embedded: bool,
    scratch: &mut Vec<u8>,
) -> Result<Option<ChunkStatistics>> {
    let id = dataset_of(row);
    if row.codec == Codec::Raw && !embedded {
        // Nothing states the expected raw bytes, but each of them must be readable: a failing medium is detected here.
        let payload = opened.location.read_range(row.span())?;
        let (words, rest) = payload.as_chunks::<8>();
        let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        std::hint::black_box((sum, rest));
        return Ok(None);
    }
    if row.raw_len > row.capacity() {
        return Err(Error::corrupt(format!(
            "{} stored bytes cannot decode to {} bytes",
            row.stored_len, row.raw_len
        )));
    }
    if row.codec == Codec::Zstd && row.raw_len > opened.limits.piece_bytes {
        return Err(Error::limit(format!("the chunk decodes to {} bytes, more than the limit", row.raw_len)));
    }
    let payload = opened.location.read_range(row.span())?;
    let chunk = match row.codec {
        Codec::Raw => &payload[..],
        Codec::Zstd => {
            let size = usize::try_from(row.raw_len)
                .map_err(|_| Error::limit("the chunk exceeds the address space"))?;
            scratch.resize(size, 0);
            decode_into(row, &payload, scratch)?;
            scratch.as_slice()
        }
    };
    let Some(Ok(grid)) = opened.catalog.grids.get(id).filter(|_| embedded) else { return Ok(None) };
    let fill = opened.catalog.metadata_of(opened.name(id)).and_then(|metadata| metadata.fill(grid.dtype));
    Ok(Some(ChunkStatistics::of(grid.dtype, fill.as_deref(), chunk)))
}

fn odd_document(opened: &Opened, kind: &'static str, offset: u64, report: &mut Report) {
    let message = "the embedded document cannot be parsed and is ignored";
    report.add(
        Finding::new(Severity::Warning, kind, message)
            .file(opened.location.path())
            .offset(offset)
            .piece("footer"),
    );
}

/// Compares the embedded zone maps with the chunks. A wrong one hides rows, so it is an error.
fn zone_maps(opened: &Opened, statistics: &[DatasetStatistics], report: &mut Report) {
    let catalog = &opened.catalog;
    let Some(range) = catalog.zone_range() else { return };
    let document = opened.spill(range.clone()).ok().and_then(|bytes| ZoneDocument::parse(&bytes));
    let Some(document) = document else { return odd_document(opened, "zone_maps", range.start, report) };
    for entry in &document.chunks {
        let id = usize::try_from(entry.dataset_id).unwrap_or(usize::MAX);
        let Some(Ok(grid)) = catalog.grids.get(id) else { continue };
        let right = statistics.get(id).and_then(|s| s.zone_entry(grid, entry.dataset_id, &entry.chunk_index));
        if right.as_ref() != Some(entry) {
            let message = "the zone map differs from the chunk".to_owned();
            let piece = format!("chunk {:?} of '{}'", entry.chunk_index, opened.name(id));
            report.add(finding(opened, "zone_maps_stale", message).offset(range.start).piece(piece));
        }
    }
    if document.chunks.len() as u64 != catalog.rows.len() {
        let message = format!("{} zone maps for {} chunks", document.chunks.len(), catalog.rows.len());
        report.add(
            Finding::new(Severity::Warning, "zone_maps", message)
                .file(opened.location.path())
                .offset(range.start),
        );
    }
}

/// Compares the embedded secondary index with chunks and labels.
fn secondary_index(opened: &Opened, statistics: &[DatasetStatistics], report: &mut Report) {
    let catalog = &opened.catalog;
    let Some(range) = catalog.secondary_range() else { return };
    let parsed = opened.spill(range.clone()).ok().and_then(|bytes| {
        serde_json::from_slice::<SecondaryDocument>(&bytes)
            .ok()
            .filter(|document| document.version == VERSION)
    });
    let Some(document) = parsed else {
        return odd_document(opened, "secondary_indexes", range.start, report);
    };
    let entries = catalog.grids.iter().zip(statistics).enumerate().flat_map(|(id, (grid, statistics))| {
        let Ok(grid) = grid else { return Vec::new() };
        statistics.secondary(grid, id as u64, catalog.metadata_of(opened.name(id)))
    });
    let right = secondary_document(entries.collect());
    let right = right.map_or(Vec::new(), |document| document.indexes);
    for entry in &document.indexes {
        if *entry != crate::meta::secondary::SecondaryEntry::Unknown && !right.contains(entry) {
            let message = "an entry of the secondary index differs from the chunks".to_owned();
            report
                .add(finding(opened, "secondary_indexes_stale", message).offset(range.start).piece("footer"));
        }
    }
}

fn footer_metadata(opened: &Opened, report: &mut Report) {
    let Some(footer) = &opened.catalog.footer else { return };
    let checks = [
        footer.metadata.as_ref().map_or(Ok(()), limits::check_metadata),
        limits::check_history(&footer.document.history),
        inline_size(footer.tail.json_len),
    ];
    let offset = footer.tail.json_range(opened.catalog.file_len).start;
    for error in checks.into_iter().filter_map(Result::err) {
        report
            .add(Finding::from_error("footer_metadata", &error).file(opened.location.path()).offset(offset));
    }
}

fn inline_size(json_len: u64) -> Result<()> {
    if json_len <= limits::INLINE_FOOTER as u64 {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "the footer has {json_len} bytes, at most {} are allowed",
        limits::INLINE_FOOTER
    )))
}
