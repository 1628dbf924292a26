//! Repair: rewrites the intact row groups, those whose pages and blobs are all readable, and rebuilds all
//! indexes. A file without findings is copied.
//!
//! The schema exists only in the footer. A single flipped bit of it is corrected; a file without a footer
//! (truncated, never finished) cannot be read as rows any more, and its intact records are recovered
//! unchanged, one row each.

mod flip;
mod locate;
mod records;

use arrow_buffer::BooleanBuffer;
use tesselle_core::{
    Context, Depth, Driver, Error, ErrorKind, Location, Outcome, RepairRequest, Repaired, Report, Result,
    Sink, Step, Task, driver,
};

use crate::meta::header::flags as header_flags;
use crate::meta::inverted::{Inverted, Run};
use crate::meta::schema::flags;
use crate::open::File;
use crate::read::plan::live_rows;
use crate::read::schema::to_arrow;
use crate::read::task::{GroupTask, Wanted};
use crate::search::{Reading, verify_as};
use crate::write::options::{Profile, WriterOptions};
use crate::write::writer::{InvertedRuns, Writer};

/// Writes what can be recovered from `source` to `target`.
pub(crate) fn repair(request: RepairRequest<'_>, driver: &Driver) -> Result<Repaired> {
    let RepairRequest { source, target, options } = request;
    // Strings are copied as bytes: a repair does not check UTF-8.
    let options = options.clone().with_text_as_binary(true);
    let (file, notes) = match locate::locate(source, &options)? {
        locate::FooterSearch::File(file, notes) => (file, notes),
        locate::FooterSearch::Lost(error) => {
            return records::salvage(source, target, &options, driver, &error);
        }
    };
    let mut repaired = Repaired::default();
    let mut report = Report::new(Depth::Deep);
    crate::verify::verify(&file, Depth::Deep, driver, &mut report)?;
    if notes.is_empty() && report.ok() {
        return copy(source, target, driver);
    }
    for (outcome, message) in notes {
        repaired.note(outcome, message);
    }
    let whole = whole_groups(&file, driver, &mut repaired)?;
    let lost: u64 = whole.iter().filter(|(_, ok)| !ok).map(|(g, _)| group_bytes(&file, *g)).sum();
    let kept: Vec<usize> = whole.iter().filter(|(_, ok)| *ok).map(|(g, _)| *g).collect();
    let rows = if kept.len() == whole.len() { Some(group_rows(&file)) } else { None };
    let index = whole_index(&file, rows, driver, &mut repaired)?;
    let errors = report.errors();
    if let (Some(first), true) = (errors.clone().next(), kept.len() == whole.len()) {
        let place = first.piece.as_deref().unwrap_or("file");
        let message = format!("indexes and statistics were rebuilt: {} ({place})", first.message);
        repaired.note(Outcome::Repaired, message);
    }
    let sorted = file.footer().schema.sort_key().is_some();
    let live = if index.is_some() { None } else { live_documents(&file, &mut repaired) };
    let rows = Kept { groups: kept, live };
    match write(&file, target, &rows, index, sorted, driver) {
        Err(error) if sorted && error.kind() == ErrorKind::Invalid => {
            repaired.note(Outcome::Doubtful, format!("dropped the sort key: {}", error.message()));
            write(&file, target, &rows, index, false, driver)?;
        }
        other => other?,
    }
    let size = source.size()?;
    repaired.dropped_bytes = (lost + size.saturating_sub(file.size())).min(size);
    repaired.kept_bytes = size - repaired.dropped_bytes;
    Ok(repaired)
}

/// Copies an intact file.
fn copy(source: &Location, target: &Location, driver: &Driver) -> Result<Repaired> {
    let size = source.size()?;
    let mut staged = target.create(true)?;
    driver::copy(source, 0..size, &mut *staged, driver)?;
    staged.commit()?;
    let mut repaired = Repaired { kept_bytes: size, ..Repaired::default() };
    repaired.note(Outcome::Healthy, "the file is healthy and was copied");
    Ok(repaired)
}

fn group_bytes(file: &File, g: usize) -> u64 {
    file.footer().groups.get(g).map_or(0, |group| group.bytes.min(file.size()))
}

/// Reads every row group once and determines which of them are intact.
fn whole_groups(file: &File, driver: &Driver, repaired: &mut Repaired) -> Result<Vec<(usize, bool)>> {
    let mut out = Vec::new();
    let groups = 0..file.footer().groups.len();
    driver.progress().expect(groups.clone().map(|g| group_bytes(file, g)).fold(0, u64::saturating_add));
    for g in groups {
        driver.check_canceled()?;
        let read = for_each_batch(file, g, None, |_| Ok(()));
        driver.progress().advance(group_bytes(file, g));
        if let Err(error) = &read {
            if error.kind() == ErrorKind::Io {
                return Err(error.clone()).in_file(file.path());
            }
            let rows = file.footer().groups.get(g).map_or(0, |group| group.rows);
            let message = format!("dropped row group {g} with {rows} rows: {}", error.without_hint());
            repaired.note(Outcome::Partial, message);
        }
        out.push((g, read.is_ok()));
    }
    Ok(out)
}

/// Decodes all columns of a row group, a batch at a time; of its rows only those in `live` (`None`: all).
pub(crate) fn for_each_batch(
    file: &File,
    g: usize,
    live: Option<BooleanBuffer>,
    take: impl FnMut(&arrow_array::RecordBatch) -> Result<()>,
) -> Result<()> {
    let all = (0..file.footer().schema.fields.len()).collect();
    for_each_batch_of(file, g, all, live, take)
}

/// As [`for_each_batch`], for these columns.
pub(crate) fn for_each_batch_of(
    file: &File,
    g: usize,
    projection: Vec<usize>,
    live: Option<BooleanBuffer>,
    mut take: impl FnMut(&arrow_array::RecordBatch) -> Result<()>,
) -> Result<()> {
    let rows = file.footer().groups.get(g).map_or(0, |group| group.rows);
    let wanted = Wanted { projection, ..Wanted::default() };
    let mut task = GroupTask::new(file.clone(), g, 0..rows, wanted, live);
    let mut fetched = Vec::new();
    loop {
        match task.step(std::mem::take(&mut fetched))? {
            Step::Need(ranges) => {
                let ranges: Vec<_> = ranges.into_iter().map(|r| r.range).collect();
                fetched = file.location().read(&ranges)?;
            }
            Step::Sizes(_) => return Err(Error::internal("a row group asks for the sizes of files")),
            Step::Batch(batch) => take(&batch)?,
            Step::Done => return Ok(()),
        }
    }
}

/// The rows of all row groups, which may be others than the footer states.
fn group_rows(file: &File) -> u64 {
    file.footer().groups.iter().fold(0, |rows: u64, group| rows.saturating_add(group.rows))
}

/// The inverted index, and its positions: those that can be kept, which is if all documents are kept and the runs are
/// intact. `rows` are those of all row groups, if all of them are kept.
fn whole_index(
    file: &File,
    rows: Option<u64>,
    driver: &Driver,
    repaired: &mut Repaired,
) -> Result<Option<(Inverted, Option<Run>)>> {
    let Some(inverted) = file.footer().inverted else { return Ok(None) };
    let positions = file.footer().positions;
    let mut why = "documents are missing".to_owned();
    if rows == Some(inverted.documents) {
        let whole = [(Reading::Whole, positions), (Reading::WithoutPositions, None)];
        for (reading, kept) in whole.into_iter().skip(usize::from(positions.is_none())) {
            let mut report = Report::new(Depth::Deep);
            verify_as(file, Depth::Deep, reading, driver, &mut report)?;
            if report.ok() {
                if kept != positions {
                    repaired.note(Outcome::Partial, format!("dropped the positions of words: {why}"));
                }
                return Ok(Some((inverted, kept)));
            }
            why = report.findings().first().map_or(why, |finding| finding.message.clone());
        }
    }
    repaired.note(Outcome::Partial, format!("dropped the search index: {why}; rebuild it"));
    Ok(None)
}

/// The rows to write.
struct Kept {
    groups: Vec<usize>,
    /// `None`: all rows of the groups.
    live: Option<BooleanBuffer>,
}

/// The documents that were not deleted. Without the index the result could not mark deleted ones, so they are
/// not written.
fn live_documents(file: &File, repaired: &mut Repaired) -> Option<BooleanBuffer> {
    match file.live() {
        Ok(live) => live,
        Err(error) => {
            let message = format!(
                "deleted documents are kept, because the list of deleted documents is unreadable: {}",
                error.without_hint()
            );
            repaired.note(Outcome::Doubtful, message);
            None
        }
    }
}

/// The stored runs of an inverted index.
pub(crate) fn read_runs(file: &File, inverted: &Inverted, positions: Option<Run>) -> Result<InvertedRuns> {
    let read = |run: Run| file.index_record(run.offset, run.len).map(|bytes| bytes.to_vec());
    Ok(InvertedRuns {
        terms: read(inverted.terms)?.into(),
        postings: read(inverted.postings)?.into(),
        skips: read(inverted.skips)?.into(),
        positions: positions.map(read).transpose()?.unwrap_or_default().into(),
        live: if inverted.live.len == 0 { Vec::new().into() } else { read(inverted.live)?.into() },
        term_count: inverted.term_count,
        documents: inverted.documents,
        block_tree: file.header().has(header_flags::BLOCK_TREE),
    })
}

fn write(
    file: &File,
    target: &Location,
    rows: &Kept,
    index: Option<(Inverted, Option<Run>)>,
    sorted: bool,
    driver: &Driver,
) -> Result<()> {
    let (header, footer) = (file.header(), file.footer());
    let mut schema = footer.schema.clone();
    if !sorted {
        schema.fields.iter_mut().for_each(|field| field.flags &= !flags::SORT_KEY);
    }
    let string = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let page_rows = footer.groups.first().and_then(|g| g.chunks.first()).filter(|c| c.pages > 1);
    let page_rows = page_rows.map(|c| c.values.div_ceil(c.pages)).and_then(|n| usize::try_from(n).ok());
    let defaults = WriterOptions::default();
    let options = WriterOptions {
        row_group_rows: usize::MAX,
        row_group_bytes: u64::MAX,
        page_rows: page_rows.unwrap_or(defaults.page_rows).max(1),
        profile: if footer.extension.features == 0 { Profile::Plain } else { Profile::Extended },
        metadata: footer.key_value.iter().map(|(k, v)| (string(k), string(v))).collect(),
        page_size_hint: header.page_size_hint,
        uuid: header.uuid,
        created_ms: header.created_ms,
        creator_id: header.creator_id,
        ..defaults
    };
    let arrow = to_arrow(&schema, &[], true);
    let minor = u16::from(header.minor != 0);
    let mut writer = Writer::with_schema(target, schema, &arrow, options, true, driver)?.minor_version(minor);
    if let Some((inverted, positions)) = index {
        writer.attach_inverted(read_runs(file, &inverted, positions)?);
    }
    for g in &rows.groups {
        let live =
            file.footer().groups.get(*g).map(|group| live_rows(rows.live.as_ref(), group)).transpose()?;
        for_each_batch(file, *g, live.flatten(), |batch| writer.write(batch))?;
        writer.end_group()?;
    }
    Box::new(writer).finish().map(drop)
}
