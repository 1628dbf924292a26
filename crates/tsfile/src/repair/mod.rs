//! Repair: copies the intact parts of a file and writes new metadata after them.
//!
//! A file with readable metadata is verified first. If there are no findings, the file is copied; otherwise
//! its groups are checked one by one, and the metadata shows where to resume after damage and what is missing
//! in the end. The intact chunks and pages of a damaged group are kept. A file without metadata (one that was
//! not closed) is scanned from the start, like the original's recovery does, and its complete groups are
//! kept. The result is verified; a group that fails is dropped.

mod data_section;
mod group;
mod guide;
mod salvage;
mod scan;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use data_section::{DataSection, GroupOrigin, Segment};
use group::{Judge, Judged};
use guide::{Guide, Known};
use salvage::{Salvage, Salvaged};
use scan::{Recovered, scan_on};
pub(crate) use scan::{scan, tail_of};
use tesselle_core::{
    Depth, Driver, Error, ErrorKind, Location, OpenOptions, Outcome, RepairRequest, Repaired, Report, Result,
};

use crate::meta::schema::Category;
use crate::meta::{DataType, FileMetadata, Version};
use crate::open::Archive;
use crate::read::file::File;
use crate::verify::{self, Compare, difference};
use crate::write::output::Output;
use crate::write::tail::ChunkRecord;

/// Bytes copied at a time.
const COPY: u64 = 8 << 20;
/// Maximum number of lines about damage of one kind; further ones are counted.
const LINES: usize = 50;
/// Maximum number of series named per device.
const NAMED: usize = 8;

/// Writes what can be recovered from `source` to `target`.
pub(crate) fn repair(request: RepairRequest<'_>, driver: &Driver) -> Result<Repaired> {
    let RepairRequest { source, target, options } = request;
    let size = source.size()?;
    let head = source.read_range(0..size.min(12))?;
    let version = Version::recognise(&head).map_err(|e| e.file(source.path()))?;
    let file = match File::open(source, size, &options.limits) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => return without_tail(source, target, version, options, driver, &error),
    };
    if file.is_encrypted() {
        let message = "the pages of this file are encrypted and cannot be checked";
        return Err(Error::unsupported(message).class("encrypted").file(source.path()));
    }
    let mut report = Report::new(Depth::Deep);
    let archive = Archive::open(source, options)?;
    let has_deletions = archive.files.iter().any(|entry| !entry.deletions.is_empty());
    verify::verify(&archive, Depth::Deep, driver, &mut report)?;
    let mut repaired = if report.ok() {
        copy_whole(source, target, size)?
    } else {
        with_tail(source, target, &file, options, driver)?
    };
    if has_deletions {
        let message = "the deletions next to the source were neither applied nor copied: the result contains deleted points";
        repaired.notes.push(message.to_owned());
    }
    Ok(repaired)
}

/// Copies an intact file.
fn copy_whole(source: &Location, target: &Location, size: u64) -> Result<Repaired> {
    let mut out = Output::new(target.storage().create(target.path())?);
    copy(source, 0..size, &mut out)?;
    out.commit()?;
    let mut repaired = Repaired { kept_bytes: size, ..Repaired::default() };
    repaired.note(Outcome::Healthy, "the file is healthy and was copied");
    Ok(repaired)
}

/// Repairs a file that was not closed, or with unreadable metadata.
fn without_tail(
    source: &Location,
    target: &Location,
    version: Version,
    options: &OpenOptions,
    driver: &Driver,
    refused: &Error,
) -> Result<Repaired> {
    let size = source.size()?;
    let mut repaired = Repaired::default();
    let (found, stop) = scan(source, version, size)?;
    repaired.note(Outcome::Repaired, format!("the metadata was rebuilt: {}", refused.without_hint()));
    // A file without its end was cut off or never closed: the missing data was never complete.
    let lost = if refused.class_name() == "incomplete" { Outcome::Unfinished } else { Outcome::Partial };
    match (&stop, found.separator) {
        (Some(stop), _) => {
            let is_cut = matches!(stop.error.class_name(), "truncated" | "cut_chunk");
            let lost = if is_cut { lost } else { Outcome::Partial };
            repaired.note(lost, format!("the scan stopped: {}", stop.error.without_hint()));
        }
        (None, Some(_)) => {}
        (None, None) => {
            let message = format!("the data ends at byte {size} without an end marker");
            repaired.note(lost, message);
        }
    }
    let known = File::metadata_alone(source, size, &options.limits).ok();
    if known.is_none() && version == Version::V4 {
        let message = "table schemas and file properties, if the file had any, are lost";
        repaired.note(lost, message);
    }
    let judge = Judge { location: source, version, guide: None, driver };
    let (groups, _) = judge_groups(&judge, &found, &mut repaired)?;
    let parts = Parts { version, found, groups, salvaged: Vec::new(), known: known.unwrap_or_default() };
    finish(source, target, parts, repaired, options, driver)
}

/// Repairs a file with readable metadata.
fn with_tail(
    source: &Location,
    target: &Location,
    file: &File,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<Repaired> {
    let version = file.version;
    let head = version.head().len() as u64;
    let guide = Guide::of(file);
    let mut repaired = Repaired::default();
    repaired.note(Outcome::Repaired, "the metadata was rebuilt");
    let mut found = Recovered::from(head);
    let mut from = head;
    let mut stops = Vec::new();
    let salvage = Salvage { location: source, version, guide: &guide, driver };
    let mut salvaged = Vec::new();
    loop {
        driver.check_canceled()?;
        let stop = scan_on(source, version, from..file.data_end, &mut found)?;
        let early = found.separator.take();
        let (at, why) = match (stop, early) {
            (Some(stop), _) => (stop.at, stop.error.without_hint()),
            (None, Some(at)) => (at, format!("there is a separator before the end of the data (byte {at})")),
            (None, None) => break,
        };
        found.broken = true;
        let next = guide.next_group(source, version, at)?;
        let to = next.unwrap_or(file.data_end);
        let start = found.end.max(from);
        let parts = salvage.region(start..to)?;
        stops.push((Outcome::Partial, damage_line("the data", start..to, &why, &parts)));
        salvaged.extend(parts);
        match next {
            Some(next) => from = next,
            None => break,
        }
    }
    add_lines(&mut repaired, stops, "more damaged ranges");
    note_tables(file, &mut repaired);
    let judge = Judge { location: source, version, guide: Some(&guide), driver };
    let (mut groups, parts) = judge_groups(&judge, &found, &mut repaired)?;
    salvaged.extend(parts);
    account(guide, &mut groups, &salvaged, &mut repaired);
    let salvaged = salvaged.into_iter().map(Some).collect();
    let parts = Parts { version, found, groups, salvaged, known: file.metadata.clone() };
    finish(source, target, parts, repaired, options, driver)
}

/// The line about a damaged range of the data, and what is kept of it.
fn damage_line(what: &str, part: Range<u64>, why: &str, salvaged: &[Salvaged]) -> String {
    let Range { start, end } = part;
    let damage = format!("{what} from byte {start} to byte {end} is damaged: {why}");
    if salvaged.is_empty() {
        return format!("{damage}; nothing of it is kept");
    }
    let kept: usize = salvaged.iter().map(|one| one.record.chunks.len()).sum();
    let cut: usize = salvaged.iter().map(|one| one.cut).sum();
    let listed: usize = salvaged.iter().map(|one| one.listed).sum();
    format!("{damage}; {kept} of {listed} chunks are kept, {cut} of them without their damaged pages")
}

/// A table without devices and devices without a table may be one table with a damaged name.
fn note_tables(file: &File, repaired: &mut Repaired) {
    let mut tables = file.metadata.tables.iter().map(|table| &table.name);
    let lonely = tables.find(|name| file.devices.iter().all(|device| device.id.table_name() != **name));
    let homeless = file.devices.iter().find(|device| device.table.is_none());
    if let (Some(table), Some(device)) = (lonely, homeless) {
        let message = format!(
            "table '{}' has no devices and '{}' has no table: one of the names may be damaged",
            table.escape_debug(),
            device.path.escape_debug()
        );
        repaired.note(Outcome::Doubtful, message);
    }
}

/// The results for the groups of a file: by device, in file order; `None` for a dropped group.
type Groups = BTreeMap<crate::meta::DeviceId, Vec<Option<Judged>>>;

fn judge_groups(
    judge: &Judge<'_>,
    found: &Recovered,
    repaired: &mut Repaired,
) -> Result<(Groups, Vec<Salvaged>)> {
    let mut groups = Groups::new();
    let mut salvaged = Vec::new();
    let (mut dropped, mut renewed, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
    for (device, record) in &found.devices {
        let list = groups.entry(device.clone()).or_default();
        for group in &record.groups {
            match judge.group(device, group)? {
                Ok(mut judged) => {
                    renewed.extend(judged.renewed.drain(..).map(|message| (Outcome::Repaired, message)));
                    doubts.extend(judged.doubts.drain(..).map(|message| {
                        let message =
                            format!("{message}; the statistics were rebuilt, the points may be wrong");
                        (Outcome::Doubtful, message)
                    }));
                    list.push(Some(judged));
                }
                Err(why) => {
                    let parts = judge.salvage(group.start..group.end)?;
                    let what = format!("the chunk group of '{}'", device.path().escape_debug());
                    dropped
                        .push((Outcome::Partial, damage_line(&what, group.start..group.end, &why, &parts)));
                    salvaged.extend(parts);
                    list.push(None);
                }
            }
        }
    }
    add_lines(repaired, dropped, "more chunk groups are damaged");
    add_lines(repaired, renewed, "more chunks have new metadata entries");
    add_lines(repaired, doubts, "more chunks have new statistics");
    Ok((groups, salvaged))
}

/// Adds lines to a report; above the maximum only their number.
fn add_lines(repaired: &mut Repaired, lines: Vec<(Outcome, String)>, rest: &str) {
    let more = lines.len().saturating_sub(LINES);
    for (at, (outcome, line)) in lines.into_iter().enumerate() {
        repaired.outcome = repaired.outcome.max(outcome);
        if at < LINES {
            repaired.notes.push(line);
        }
    }
    if more > 0 {
        repaired.notes.push(format!("{more} {rest}"));
    }
}

/// Compares the chunks found with those listed: chunks at other offsets are matched with missing ones, and
/// those still missing are reported.
fn account(mut guide: Guide, groups: &mut Groups, salvaged: &[Salvaged], repaired: &mut Repaired) {
    let mut unmet = std::mem::take(&mut guide.chunks);
    let listed: HashSet<(String, String)> = unmet
        .values()
        .flatten()
        .filter(|known| known.statistics.count > 0)
        .map(|known| (known.path.clone(), known.series.clone()))
        .collect();
    let mut unlisted = Vec::new();
    for judged in groups.values_mut().flatten().flatten() {
        for (offset, met) in judged.met.drain(..) {
            if let Some(list) = unmet.get_mut(&offset) {
                list.retain(|known| known.path != met.path || known.series != met.series);
            }
        }
    }
    for (offset, met, points) in salvaged.iter().flat_map(|one| &one.kept) {
        if let Some(list) = unmet.get_mut(offset) {
            list.retain(|known| known.path != met.path || known.series != met.series);
            let mut rest = met.clone();
            rest.statistics.count = met.statistics.count.saturating_sub(*points);
            list.extend((rest.statistics.count > 0).then_some(rest));
        }
    }
    let mut unmet: Vec<(u64, Known)> = unmet
        .into_iter()
        .flat_map(|(offset, list)| list.into_iter().map(move |known| (offset, known)))
        .collect();
    for (device, list) in groups.iter_mut() {
        let path = device.path();
        for judged in list.iter_mut().flatten() {
            for stray in std::mem::take(&mut judged.strays) {
                let same = |(_, known): &(u64, Known)| {
                    known.path == path
                        && known.series == stray.measurement
                        && known.data_type == stray.data_type
                        && difference(&known.statistics, &stray.statistics, Compare::Times).is_none()
                };
                let name = format!("{path}.{}", stray.measurement);
                let what = format!("the chunk of '{}' at {}", name.escape_debug(), stray.offset);
                if let Some(at) = unmet.iter().position(same) {
                    let (offset, _) = unmet.swap_remove(at);
                    repaired.note(Outcome::Repaired, format!("{what} was listed at {offset}"));
                } else if guide.filter_confirms(&name, &[])
                    && !listed.contains(&(path.clone(), stray.measurement.clone()))
                {
                    // A series without a listed chunk, although the writer added it to the bloom filter.
                    let message =
                        format!("{what} was not listed in the metadata, but it is in the bloom filter");
                    repaired.note(Outcome::Repaired, message);
                } else {
                    unlisted.push((
                        Outcome::Doubtful,
                        format!("{what} was not listed in the metadata and remains unlisted"),
                    ));
                    continue;
                }
                judged.chunks.push(stray);
            }
            judged.chunks.sort_by_key(|chunk| chunk.offset);
            keep_empty_series(&path, judged, &mut unmet);
        }
    }
    add_lines(repaired, unlisted, "more chunks were not listed and remain unlisted");
    unmet.retain(|(_, known)| known.statistics.count > 0);
    let mut missing: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for (_, known) in unmet {
        let series = missing.entry(known.path).or_default();
        *series.entry(known.series).or_default() += known.statistics.count;
    }
    let lines = missing.into_iter().map(|(path, series)| {
        let named = series.iter().take(NAMED).map(|(name, points)| {
            let name = if name.is_empty() { "the time column" } else { name };
            format!("{points} points of {}", name.escape_debug())
        });
        let mut message =
            format!("lost from '{}': {}", path.escape_debug(), named.collect::<Vec<_>>().join(", "));
        if series.len() > NAMED {
            let rest: u64 = series.values().skip(NAMED).sum();
            let more = series.len() - NAMED;
            message = format!("{message}, {rest} points of {more} more series");
        }
        (Outcome::Partial, message)
    });
    add_lines(repaired, lines.collect(), "more devices lost points");
}

/// Empty series have a metadata entry and no chunk of their own: they are kept next to a chunk of the device.
fn keep_empty_series(path: &str, judged: &mut Judged, unmet: &mut Vec<(u64, Known)>) {
    let Some(neighbor) = judged.chunks.last().cloned() else { return };
    // An entry with points in its statistics is not such a series.
    let is_empty = |(_, known): &mut (u64, Known)| {
        known.path == path && known.statistics.count == 0 && known.is_consistent
    };
    for (_, known) in unmet.extract_if(.., is_empty) {
        if judged.chunks.iter().any(|chunk| chunk.measurement == known.series) {
            continue;
        }
        judged.chunks.push(ChunkRecord {
            measurement: known.series,
            data_type: known.data_type,
            statistics: known.statistics,
            ..neighbor.clone()
        });
    }
}

/// The parts of a repaired file.
struct Parts {
    version: Version,
    found: Recovered,
    groups: Groups,
    /// `None` for a group that failed verification.
    salvaged: Vec<Option<Salvaged>>,
    known: FileMetadata,
}

/// Writes the result and verifies it; groups that fail are dropped.
fn finish(
    source: &Location,
    target: &Location,
    mut parts: Parts,
    mut repaired: Repaired,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<Repaired> {
    loop {
        driver.check_canceled()?;
        let section = DataSection::new(parts.version, &parts.found, &parts.groups, &parts.salvaged);
        let written = write(source, target, &section, &parts, repaired.clone())?;
        let archive = Archive::open(target, options);
        let mut report = Report::new(Depth::Deep);
        let verified = archive.and_then(|archive| verify::verify(&archive, Depth::Deep, driver, &mut report));
        if verified.is_ok() && report.ok() {
            return Ok(written);
        }
        let mut errors = report.errors();
        let bad = errors.clone().filter_map(|finding| finding.offset);
        let bad: Vec<u64> = bad.collect();
        let is_bad = |place: &Range<u64>| bad.iter().any(|offset| place.contains(offset));
        let drop: Vec<&GroupOrigin> =
            section.origins.iter().filter(|(place, _)| is_bad(place)).map(|(_, origin)| origin).collect();
        if drop.is_empty() {
            let why = match (verified, errors.next()) {
                (Err(error), _) => error.without_hint(),
                (Ok(()), finding) => finding.map(|f| f.message.clone()).unwrap_or_default(),
            };
            target.storage().remove(target.path())?;
            let message = format!("the repaired file does not verify: {why}");
            return Err(Error::corrupt(message).class("repair_failed").file(source.path()));
        }
        let count = drop.len();
        let message = format!("{count} more chunk groups do not verify in the result and were dropped");
        repaired.note(Outcome::Partial, message);
        for origin in drop {
            let place = match origin {
                GroupOrigin::Whole(device, number) => parts
                    .groups
                    .get_mut(device)
                    .and_then(|list| list.get_mut(*number))
                    .map(|group| *group = None),
                GroupOrigin::Salvaged(number) => parts.salvaged.get_mut(*number).map(|group| *group = None),
            };
            place.ok_or_else(|| Error::internal("a group of a repaired file has no origin"))?;
        }
    }
}

fn write(
    source: &Location,
    target: &Location,
    section: &DataSection,
    parts: &Parts,
    mut repaired: Repaired,
) -> Result<Repaired> {
    let mut known = parts.known.clone();
    repair_tables(&mut known, &section.found, &mut repaired);
    let size = source.size()?;
    let mut out = Output::new(target.storage().create(target.path())?);
    out.buffer().extend_from_slice(parts.version.head());
    for segment in &section.segments {
        match segment {
            Segment::Copy(range) => copy(source, range.clone(), &mut out)?,
            Segment::Bytes(bytes) => out.append(bytes)?,
        }
    }
    repaired.kept_bytes = out.position().min(size);
    repaired.dropped_bytes = size.saturating_sub(repaired.kept_bytes);
    let devices = section.found.devices.values().filter(|d| !d.groups.is_empty()).count();
    let is_whole = |(_, origin): &&(Range<u64>, GroupOrigin)| matches!(origin, GroupOrigin::Whole(..));
    let whole = section.origins.iter().filter(is_whole).count();
    let partial = section.origins.len() - whole;
    let mut message = format!("kept {whole} complete chunk groups of {devices} devices");
    if partial > 0 {
        message =
            format!("kept {whole} complete chunk groups and parts of {partial} others, of {devices} devices");
    }
    repaired.notes.push(message);
    section.found.write_tail(parts.version, known, &mut out)?;
    out.commit()?;
    Ok(repaired)
}

/// Sets the types of table columns to those of their chunks, and of tags to STRING.
fn repair_tables(known: &mut FileMetadata, found: &Recovered, repaired: &mut Repaired) {
    for table in &mut known.tables {
        let tags = table.columns.iter_mut().filter(|(_, category)| *category == Category::Tag);
        for (column, _) in tags.filter(|(column, _)| !verify::is_string(column.data_type)) {
            let (table, name) = (table.name.escape_debug(), column.name.escape_debug());
            let from = column.data_type.name();
            repaired.note(
                Outcome::Repaired,
                format!("table '{table}' declared tag '{name}' as {from}; tags are strings"),
            );
            column.data_type = DataType::String;
        }
        let devices = found.devices.iter().filter(|(device, _)| device.table_name() == table.name);
        for chunk in devices.flat_map(|(_, record)| &record.groups).flat_map(|group| &group.chunks) {
            let mut columns = table.columns.iter_mut().map(|(column, _)| column);
            let Some(column) = columns.find(|column| column.name == chunk.measurement) else { continue };
            if column.data_type != chunk.data_type {
                let (table, column_name) = (table.name.escape_debug(), column.name.escape_debug());
                let (from, to) = (column.data_type.name(), chunk.data_type.name());
                let message =
                    format!("table '{table}' declared '{column_name}' as {from}, its chunks are {to}");
                repaired.note(Outcome::Repaired, message);
                column.data_type = chunk.data_type;
            }
        }
    }
}

fn copy(source: &Location, range: Range<u64>, out: &mut Output) -> Result<()> {
    let mut at = range.start;
    while at < range.end {
        let stop = range.end.min(at + COPY);
        out.append(&source.read_range(at..stop)?)?;
        at = stop;
    }
    Ok(())
}
