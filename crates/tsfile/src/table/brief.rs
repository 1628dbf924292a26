//! The statistics of a table in one pass over its index, for the common case: one file, aligned devices with
//! one chunk per column, no deletions.
//!
//! The result equals that of [`super::stats::of_table`], without building the series; in other cases there is
//! none.

use std::ops::Range;

use tesselle_core::{ColumnStats, Cursor, Known, Scalar, TableStats};

use super::stats::{Joined, MAX_TABLE_CHUNKS};
use crate::meta::timeseries::OneChunk;
use crate::meta::{ChunkHeader, DataType};
use crate::open::{Archive, ArchiveFile};
use crate::read::TIME;
use crate::read::file::Device;
use crate::read::prune::bounds_of;

/// The statistics collected so far.
struct Brief<'a> {
    fields: &'a [&'a str],
    columns: Vec<Joined>,
    times: Joined,
    rows: u64,
    /// By position in a device: the field at that position in the previous device.
    places: Vec<usize>,
    /// Bounds that are valid if the encoding in the header of their chunk is lossless.
    pending: Vec<Pending>,
    headers: Vec<Range<u64>>,
}

/// The time column of a device.
#[derive(Clone, Copy)]
struct TimeColumn {
    rows: u64,
    first: i64,
    last: i64,
    offset: u64,
}

struct Pending {
    field: usize,
    data_type: DataType,
    rows: u64,
    stats: ColumnStats,
}

/// The statistics of the table with these devices and fields; `None` if one pass is not enough.
pub(super) fn of_table(archive: &Archive, devices: &[String], fields: &[&str]) -> Option<TableStats> {
    let [entry] = archive.files.as_slice() else { return None };
    let same = |(i, name): (usize, &&str)| fields.iter().skip(i + 1).any(|f| f.eq_ignore_ascii_case(name));
    if !entry.file.version.is_compact()
        || !entry.deletions.is_empty()
        || devices.len().checked_mul(fields.len() + 1).is_none_or(|n| n > MAX_TABLE_CHUNKS)
        || fields.iter().enumerate().any(same)
    {
        return None;
    }
    let mut brief = Brief {
        fields,
        columns: fields.iter().map(|_| Joined::default()).collect(),
        times: Joined::default(),
        rows: 0,
        places: Vec::new(),
        pending: Vec::new(),
        headers: Vec::new(),
    };
    for path in devices {
        let [(_, device)] = archive.devices.get(path)?.as_slice() else { return None };
        brief.device(entry, entry.file.devices.get(*device)?)?;
    }
    brief.finish(entry)
}

impl Brief<'_> {
    fn device(&mut self, entry: &ArchiveFile, device: &Device) -> Option<()> {
        let mut time: Option<TimeColumn> = None;
        let (mut place, mut before) = (0, String::new());
        let mut seen = vec![false; self.fields.len()];
        let mut visit = |series: OneChunk<'_>| {
            let Some(times) = time else {
                // The time column has the empty name, so it comes first.
                time = self.time(&series);
                return time.is_some();
            };
            // Names that are not ascending may occur twice.
            if series.data_type == DataType::Vector
                || series.offset <= times.offset
                || series.measurement <= before.as_str()
            {
                return false;
            }
            before.clear();
            before.push_str(series.measurement);
            let field = self.field(place, series.measurement);
            place += 1;
            let first =
                field.and_then(|field| seen.get_mut(field)).is_some_and(|s| !std::mem::replace(s, true));
            match field {
                Some(field) if first => self.column(entry, field, times, &series).is_some(),
                // The table does not have it, or has one that differs in case.
                _ => true,
            }
        };
        if !entry.file.visit_series(device, &mut visit).ok()? {
            return None;
        }
        let rows = time?.rows;
        for (joined, seen) in self.columns.iter_mut().zip(&seen) {
            if !seen {
                joined.add(ColumnStats { nulls: Known::Exact(rows), ..ColumnStats::default() }, rows);
            }
        }
        self.rows = self.rows.saturating_add(rows);
        Some(())
    }

    fn time(&mut self, series: &OneChunk<'_>) -> Option<TimeColumn> {
        let s = &series.statistics;
        if series.data_type != DataType::Vector || s.count == 0 || s.start_time > s.end_time {
            return None;
        }
        let exact = |time: i64| Known::Exact(Scalar::from(time));
        let (min, max) = (exact(s.start_time), exact(s.end_time));
        self.times.add(ColumnStats { min, max, nulls: Known::Exact(0), ..ColumnStats::default() }, s.count);
        Some(TimeColumn { rows: s.count, first: s.start_time, last: s.end_time, offset: series.offset })
    }

    /// The field with this name; devices of a table usually have the same columns.
    fn field(&mut self, place: usize, name: &str) -> Option<usize> {
        let is = |field: &usize| self.fields.get(*field).is_some_and(|f| f.eq_ignore_ascii_case(name));
        if let Some(known) = self.places.get(place).copied().filter(is) {
            return Some(known);
        }
        let found = (0..self.fields.len()).find(is)?;
        if place == self.places.len() {
            self.places.push(found);
        }
        Some(found)
    }

    fn column(
        &mut self,
        entry: &ArchiveFile,
        field: usize,
        times: TimeColumn,
        series: &OneChunk<'_>,
    ) -> Option<()> {
        let (statistics, data_type, rows) = (&series.statistics, series.data_type, times.rows);
        let nulls = Known::Exact(rows.checked_sub(statistics.count)?);
        if statistics.count > 0 && (statistics.start_time < times.first || statistics.end_time > times.last) {
            return None;
        }
        let bounds = bounds_of(statistics, data_type).filter(|_| statistics.count > 0);
        let Some((min, max)) = bounds.and_then(|b| b.min.zip(b.max)) else {
            self.columns.get_mut(field)?.add(ColumnStats { nulls, ..ColumnStats::default() }, rows);
            return Some(());
        };
        let header = ChunkHeader::max_size(series.measurement.len(), entry.file.version);
        let end = series.offset.saturating_add(header).min(entry.file.data_end);
        self.headers.push(series.offset..end);
        let (min, max) = (Known::Exact(min), Known::Exact(max));
        let stats = ColumnStats { min, max, nulls, ..ColumnStats::default() };
        self.pending.push(Pending { field, data_type, rows, stats });
        Some(())
    }

    fn finish(mut self, entry: &ArchiveFile) -> Option<TableStats> {
        let bytes =
            if self.headers.is_empty() { Vec::new() } else { entry.location.read(&self.headers).ok()? };
        for ((pending, range), bytes) in self.pending.into_iter().zip(&self.headers).zip(&bytes) {
            let mut cursor = Cursor::new(bytes, range.start, "chunk header");
            let encoding = ChunkHeader::parse_encoding(&mut cursor, entry.file.version).ok()?;
            let mut stats = pending.stats;
            if encoding.is_lossy(pending.data_type) {
                stats = ColumnStats { nulls: stats.nulls, ..ColumnStats::default() };
            }
            self.columns.get_mut(pending.field)?.add(stats, pending.rows);
        }
        let all = self.fields.iter().copied().zip(self.columns).chain([(TIME, self.times)]);
        let columns = all.map(|(name, joined)| (name.to_string(), joined.finish())).collect();
        Some(TableStats { rows: Known::Exact(self.rows), columns, ..TableStats::default() })
    }
}

#[cfg(test)]
mod tests {
    use tesselle_core::{Location, OpenOptions};

    use super::super::stats;
    use super::*;
    use crate::meta::schema::Category;

    #[test]
    fn a_pass_over_the_index_matches_the_full_statistics() {
        let own = || concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/small").into();
        let fixtures = std::env::var_os("TESSELLE_FIXTURES").unwrap_or_else(own);
        let mut brief = 0;
        for case in std::fs::read_dir(std::path::Path::new(&fixtures).join("tsfile")).unwrap() {
            let folder = case.unwrap().path();
            let files = std::fs::read_dir(&folder).into_iter().flatten().map(|file| file.unwrap().path());
            for path in files.filter(|path| path.extension().is_some_and(|e| e == "tsfile")) {
                let location = Location::local(&path).unwrap();
                let Ok(archive) = Archive::open(&location, &OpenOptions::default()) else { continue };
                for table in archive.tables.values() {
                    let fields = table.columns.iter().filter(|(_, c)| *c == Category::Field);
                    let fields: Vec<&str> = fields.map(|(c, _)| c.name.as_str()).collect();
                    let Some(found) = of_table(&archive, &table.devices, &fields) else { continue };
                    let devices: Vec<_> = table.devices.iter().map(|d| archive.device(d).unwrap()).collect();
                    assert_eq!(found, stats::of_table(&archive, &devices, &fields), "{}", path.display());
                    brief += 1;
                }
            }
        }
        assert!(brief > 0, "no table is the common case");
    }
}
