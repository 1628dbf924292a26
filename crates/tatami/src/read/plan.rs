//! From a scan to tasks: selects the row groups and rows that can match.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::BooleanBuffer;
use bytes::Bytes;
use tesselle_core::{Action, Error, Plan, Predicate, Result, Scalar, Scan, Task, Verdict};

use super::prune::{Evidence, Facts, equalities, verdict};
use super::task::{GroupTask, Wanted, tests};
use crate::meta::bloom::Bloom;
use crate::meta::groups::{Chunk, RowGroup};
use crate::meta::page_index;
use crate::meta::record::{RECORD_LEN, Record};
use crate::meta::zone::from_scalar;
use crate::open::File;
use crate::table::is_exact;

/// Plans a scan of one file.
pub(crate) fn plan(file: &File, scan: &Scan) -> Result<Plan> {
    if scan.selection.is_some() {
        return Err(Error::invalid("this table has no grid to slice")
            .suggest("use {} to select rows", [Action::Filter]));
    }
    let schema = file.schema();
    let projection = scan.column_indices(&schema)?;
    let tested = scan.predicate.iter().flat_map(|predicate| predicate.columns());
    let filter = Scan::all().columns(tested).column_indices(&schema)?;
    // A predicate over blobs or lists prunes, but its rows are filtered by the driver.
    let exact = scan.predicate.as_ref().filter(|p| is_exact(file, p));
    let filter = if exact.is_some() { filter } else { Vec::new() };
    let index = |name: &str| Ok(schema.index_of(name)?);
    let tests = match exact.filter(|_| !filter.is_empty()) {
        Some(predicate) => tests(predicate, index, &file.footer().schema.fields)?,
        None => Vec::new(),
    };
    let learning = scan.predicate.as_ref().filter(|predicate| predicate.has_custom());
    let wanted = Wanted {
        projection,
        filter,
        tests: tests.into(),
        learning: learning.cloned().map(Arc::new),
        batch_rows: scan.batch_rows,
    };
    let live = file.live()?;
    let mut plan = Plan::empty();
    let mut left = scan.limit.unwrap_or(u64::MAX);
    let survivors = survivors(file, scan.predicate.as_ref());
    for (group, entry) in file.footer().groups.iter().enumerate() {
        let pieces = wanted.pieces(entry);
        plan.pieces = plan.pieces.saturating_add(pieces);
        let Some(survivor) = survivors.get(&group).filter(|_| left > 0) else {
            plan.pruned = plan.pruned.saturating_add(pieces);
            continue;
        };
        if entry.rows == 0 {
            continue;
        }
        let live = live_rows(live.as_ref(), entry)?;
        if live.as_ref().is_some_and(|live| live.count_set_bits() == 0) {
            plan.pruned = plan.pruned.saturating_add(pieces);
            continue;
        }
        plan.pruned = plan.pruned.saturating_add(survivor.pruned_pages);
        if survivor.verdict == Verdict::Always {
            left = left.saturating_sub(live.as_ref().map_or(entry.rows, |live| live.count_set_bits() as u64));
        }
        let mut wanted = wanted.clone();
        if survivor.verdict == Verdict::Always {
            wanted.tests = Arc::default();
            wanted.filter.clear();
        }
        let task: Box<dyn Task> =
            Box::new(GroupTask::new(file.clone(), group, survivor.rows.clone(), wanted, live));
        plan.tasks.push(task);
    }
    Ok(plan)
}

/// The live rows of a group; `None` if all are.
pub(crate) fn live_rows(live: Option<&BooleanBuffer>, entry: &RowGroup) -> Result<Option<BooleanBuffer>> {
    let Some(live) = live else { return Ok(None) };
    let first = usize::try_from(entry.first_row).ok();
    let end = entry.first_row.checked_add(entry.rows).and_then(|end| usize::try_from(end).ok());
    let Some((first, end)) = first.zip(end).filter(|(_, end)| *end <= live.len()) else {
        return Err(Error::corrupt(format!(
            "a row group ends at row {}, the segment has {} documents",
            entry.first_row.saturating_add(entry.rows),
            live.len()
        ))
        .class("row_count_mismatch"));
    };
    let rows = live.slice(first, end - first);
    Ok((rows.count_set_bits() < rows.len()).then_some(rows))
}

/// The remaining part of a row group.
struct Survivor {
    verdict: Verdict,
    rows: Range<u64>,
    pruned_pages: u64,
}

/// The row groups that can have matching rows, by zone map, bloom filter and page index, in order of cost.
fn survivors(file: &File, predicate: Option<&Predicate>) -> HashMap<usize, Survivor> {
    let groups = file.footer().groups.iter().enumerate();
    let whole = |entry: &RowGroup, verdict| Survivor { verdict, rows: 0..entry.rows, pruned_pages: 0 };
    let Some(predicate) = predicate else {
        return groups.map(|(g, entry)| (g, whole(entry, Verdict::Always))).collect();
    };
    let mut left: HashMap<usize, Survivor> = HashMap::new();
    for (g, entry) in groups {
        let evidence = GroupEvidence { file, entry, blooms: None };
        match verdict(predicate, &evidence) {
            Verdict::Never => {}
            verdict => {
                left.insert(g, whole(entry, verdict));
            }
        }
    }
    let blooms = fetch_blooms(file, predicate, &left);
    if !blooms.is_empty() {
        left.retain(|g, _| {
            let Some(entry) = file.footer().groups.get(*g) else { return false };
            let evidence = GroupEvidence { file, entry, blooms: Some(&blooms) };
            verdict(predicate, &evidence) != Verdict::Never
        });
    }
    narrow_by_page_index(file, predicate, &mut left);
    left
}

/// Whether a row group can have a matching row by what the conditions of `predicate` have learned since the scan was planned.
pub(super) fn may_match(file: &File, entry: &RowGroup, predicate: &Predicate) -> bool {
    let evidence = GroupEvidence { file, entry, blooms: None };
    predicate.learned().is_none_or(|learned| verdict(&learned, &evidence) != Verdict::Never)
}

/// The footer and the fetched filters of one row group, for pruning.
struct GroupEvidence<'a> {
    file: &'a File,
    entry: &'a RowGroup,
    blooms: Option<&'a HashMap<u64, Bytes>>,
}

impl GroupEvidence<'_> {
    fn chunk(&self, column: &str) -> Option<(usize, &Chunk)> {
        let index = self.file.schema().index_of(column).ok()?;
        Some((index, self.entry.chunk(index)?))
    }
}

impl Evidence for GroupEvidence<'_> {
    fn facts(&self, column: &str) -> Option<Facts<'_>> {
        let (index, chunk) = self.chunk(column)?;
        let logical = self.file.footer().schema.fields.get(index)?.logical;
        Some(Facts { logical, zone: chunk.zone.as_ref(), nulls: Some(chunk.nulls), rows: Some(chunk.values) })
    }

    fn may_contain(&self, column: &str, value: &Scalar) -> bool {
        let probe = || {
            let (index, chunk) = self.chunk(column)?;
            let logical = self.file.footer().schema.fields.get(index)?.logical;
            let bytes = self.blooms?.get(&chunk.bloom?)?;
            let bloom = Bloom::parse(bytes, 0).ok()?;
            // A value that no row of this type can equal is absent, but the comparison may still be defined
            // for it (0.1 with a float): only exact scalars are looked up.
            let scalar = from_scalar(logical, value)?;
            Some(bloom.may_contain_value(logical, &scalar))
        };
        probe().unwrap_or(true)
    }
}

/// Fetches the filters that could refute an equality, all in one request. An unreadable one prunes nothing.
fn fetch_blooms(file: &File, predicate: &Predicate, left: &HashMap<usize, Survivor>) -> HashMap<u64, Bytes> {
    let schema = file.schema();
    let columns: Vec<usize> =
        equalities(predicate).into_iter().filter_map(|(c, _)| schema.index_of(c).ok()).collect();
    let mut groups: Vec<usize> = left.keys().copied().collect();
    groups.sort_unstable();
    let mut wanted: Vec<u64> = Vec::new();
    for group in groups.into_iter().filter_map(|g| file.footer().groups.get(g)) {
        wanted.extend(columns.iter().filter_map(|column| group.chunk(*column)?.bloom));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let ranges: Vec<(u64, Range<u64>)> = wanted
        .into_iter()
        .filter_map(|number| {
            let entry = file.footer().blooms.get(usize::try_from(number.checked_sub(1)?).ok()?)?;
            if entry.kind != 0 {
                return None;
            }
            let end = file.check_inside(entry.offset, entry.len.checked_add(RECORD_LEN)?).ok()?;
            Some((number, entry.offset..end))
        })
        .collect();
    if ranges.is_empty() {
        return HashMap::new();
    }
    let plain: Vec<Range<u64>> = ranges.iter().map(|(_, range)| range.clone()).collect();
    let Ok(fetched) = file.location().read(&plain) else { return HashMap::new() };
    let checked = ranges.into_iter().zip(fetched).filter_map(|((number, range), bytes)| {
        checked_payload(&bytes, range.start).map(|payload| (number, payload))
    });
    checked.collect()
}

/// The payload of an uncompressed index record, if its checksum is valid.
fn checked_payload(bytes: &Bytes, offset: u64) -> Option<Bytes> {
    let record = Record::parse(bytes, offset).ok()?;
    let payload = bytes.get(RECORD_LEN as usize..)?.get(..record.compressed as usize)?;
    if record.codec != 0 || record.check(payload, offset).is_err() {
        return None;
    }
    Some(bytes.slice_ref(payload))
}

/// Restricts the rows of the selected groups to the pages of the sort key that can match.
fn narrow_by_page_index(file: &File, predicate: &Predicate, left: &mut HashMap<usize, Survivor>) {
    let footer = file.footer();
    let Some(key) = footer.schema.sort_key() else { return };
    let Some(field) = footer.schema.fields.get(key) else { return };
    let name = field.display_name();
    if !predicate.columns().contains(name.as_str()) {
        return;
    }
    for (g, survivor) in left.iter_mut().filter(|(_, s)| s.verdict == Verdict::Maybe) {
        let Some(entry) = footer.groups.get(*g) else { continue };
        let Some(chunk) = entry.chunk(key).filter(|c| c.pages > 1) else { continue };
        let Some(offset) = chunk.page_index else { continue };
        // A damaged page index prunes nothing; `verify` reports it.
        let Ok((record, payload)) = file.record(offset) else { continue };
        if record.check(&payload, offset).is_err() {
            continue;
        }
        let Ok(pages) = page_index::parse(&payload, offset) else { continue };
        let ascending = pages.windows(2).all(|w| matches!(w, [a, b] if a.first_row < b.first_row));
        if !ascending || pages.first().is_none_or(|p| p.first_row != 0) || pages.len() as u64 != chunk.pages {
            continue;
        }
        let ends = pages.iter().skip(1).map(|p| p.first_row).chain([entry.rows]);
        let matching: Vec<Range<u64>> = pages
            .iter()
            .zip(ends)
            .filter(|(page, _)| {
                let facts =
                    Facts { logical: field.logical, zone: page.zone.as_ref(), nulls: None, rows: None };
                verdict(predicate, &PageEvidence { key: &name, facts }) != Verdict::Never
            })
            .map(|(page, end)| page.first_row..end)
            .collect();
        let (Some(first), Some(last)) = (matching.first(), matching.last()) else {
            survivor.rows = 0..0;
            continue;
        };
        survivor.rows = first.start..last.end.min(entry.rows);
        survivor.pruned_pages = chunk.pages - matching.len() as u64;
    }
    left.retain(|_, survivor| !survivor.rows.is_empty());
}

/// Statistics of the page index: only the sort key.
struct PageEvidence<'a> {
    key: &'a str,
    facts: Facts<'a>,
}

impl Evidence for PageEvidence<'_> {
    fn facts(&self, column: &str) -> Option<Facts<'_>> {
        (column == self.key).then_some(self.facts)
    }
}
