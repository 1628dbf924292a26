//! Statistics of a device that are known without reading its pages.

use std::collections::BTreeMap;
use std::ops::Range;

use tesselle_core::{ColumnStats, Known, Scalar, TableStats};

use crate::describe::read_headers;
use crate::meta::{ChunkHeader, DataType, Sum};
use crate::open::Archive;
use crate::read::TIME;
use crate::read::device_data::{ColumnData, DeviceData};
use crate::read::loaded::ChunkRef;
use crate::read::prune::bounds_of;

/// Maximum number of chunk headers read to determine whether bounds are exact.
const MAX_HEADERS: usize = 4096;

/// The row count of a device, if the metadata determines it.
pub(crate) fn exact_rows(archive: &Archive, data: &DeviceData) -> Option<u64> {
    let (least, most) = rows_between(archive, data)?;
    (least == most).then_some(least)
}

/// Lower and upper bound of the row count of a device, for a version whose writers keep times ascending and
/// distinct. An aligned group and a single series give the exact number. Several series have one row per
/// distinct time: at least as many as the longest one, and at most as many as there are points, or timestamps
/// in their time range.
fn rows_between(archive: &Archive, data: &DeviceData) -> Option<(u64, u64)> {
    let compact = archive.files.iter().all(|f| f.file.version.is_compact());
    if !compact || !data.is_plain() {
        return None;
    }
    if data.is_aligned() {
        let aligned = data.columns.iter().flat_map(|c| &c.chunks).all(|c| c.time_chunk.is_some());
        let total = data.times.iter().try_fold(0_u64, |n, c| n.checked_add(c.statistics.count))?;
        return aligned.then_some((total, total));
    }
    let columns = data.columns.iter().enumerate();
    let mut chunks: Vec<(usize, &ChunkRef)> =
        columns.flat_map(|(i, column)| column.chunks.iter().map(move |chunk| (i, chunk))).collect();
    chunks.sort_by_key(|(_, chunk)| (chunk.lo, chunk.hi));
    let (mut least, mut most) = (0_u64, 0_u64);
    let mut rest = chunks.as_slice();
    while let Some((_, first)) = rest.first() {
        // Chunks that overlap share rows; the next ones without overlap have rows of their own.
        let mut hi = first.hi;
        let apart = rest.iter().position(|(_, chunk)| {
            let apart = chunk.lo > hi;
            hi = if apart { hi } else { hi.max(chunk.hi) };
            apart
        });
        let (part, others) = rest.split_at(apart.unwrap_or(rest.len()));
        rest = others;
        let mut points = BTreeMap::new();
        for (column, chunk) in part {
            let sum: &mut u64 = points.entry(*column).or_default();
            *sum = sum.checked_add(chunk.statistics.count)?;
        }
        let all = points.values().try_fold(0_u64, |sum, n| sum.checked_add(*n))?;
        let moments = hi.abs_diff(first.lo).saturating_add(1);
        let longest = points.values().copied().max().unwrap_or(0);
        // More points than timestamps: the statistics are not reliable.
        if longest > moments {
            return None;
        }
        least = least.checked_add(longest)?;
        most = most.checked_add(all.min(moments))?;
    }
    Some((least, most))
}

/// The statistics of a device.
struct DeviceStats {
    rows: Known<u64>,
    time: Option<ColumnStats>,
    /// By column of the device; empty if nothing is known.
    columns: Vec<ColumnStats>,
}

fn device_stats(archive: &Archive, data: &DeviceData) -> DeviceStats {
    let rows = match rows_between(archive, data) {
        Some((least, most)) if least == most => Known::Exact(least),
        Some((_, most)) => Known::Bound(most),
        None => Known::Absent,
    };
    let mut stats = DeviceStats { rows: rows.clone(), time: None, columns: Vec::new() };
    let bounded = archive.files.iter().all(|f| !f.file.version.is_flat());
    if !bounded || !data.is_plain() {
        return stats;
    }
    let all = data.columns.iter().map(|c| c.chunks.len()).sum::<usize>();
    let chunks = || data.columns.iter().flat_map(|c| &c.chunks).chain(&data.times);
    let bounds = chunks().map(|c| c.lo).min().zip(chunks().map(|c| c.hi).max());
    stats.time = bounds.map(|(lo, hi)| {
        let exact = |time: i64| Known::Exact(Scalar::from(time));
        ColumnStats { min: exact(lo), max: exact(hi), nulls: Known::Exact(0), ..ColumnStats::default() }
    });
    let mut headers = if all <= MAX_HEADERS { headers(archive, data) } else { None }.into_iter().flatten();
    for column in &data.columns {
        let lossless = has_bounds(column)
            && column.chunks.iter().fold(true, |ok, _| {
                headers.next().is_some_and(|(header, _)| !header.encoding.is_lossy(column.data_type)) && ok
            });
        let count = column.chunks.iter().try_fold(0_u64, |n, c| n.checked_add(c.statistics.count));
        let left = |rows: &u64| count.and_then(|count| rows.checked_sub(count));
        let nulls = match &rows {
            Known::Exact(rows) => left(rows).map_or(Known::Absent, Known::Exact),
            Known::Bound(rows) => left(rows).map_or(Known::Absent, Known::Bound),
            Known::Absent => Known::Absent,
        };
        let mut known = if lossless { values(column) } else { None }.unwrap_or_default();
        known.nulls = nulls;
        // Each point is a row of its own only if times are distinct, which the row count has checked.
        if rows != Known::Absent {
            known.values = count.map_or(Known::Absent, Known::Exact);
        }
        stats.columns.push(known);
    }
    stats
}

/// The statistics of a device's table.
pub(crate) fn of_device(archive: &Archive, data: &DeviceData) -> TableStats {
    let known = device_stats(archive, data);
    let names = data.shown_names();
    let columns = names.iter().map(ToString::to_string).zip(known.columns);
    TableStats {
        rows: known.rows,
        columns: known.time.map(|time| (TIME.to_string(), time)).into_iter().chain(columns).collect(),
        ..TableStats::default()
    }
}

/// Maximum number of chunks of a table whose headers are read.
pub(super) const MAX_TABLE_CHUNKS: usize = 1 << 16;

/// The statistics of a table of the table model: those of its devices merged. `fields` are the columns that
/// devices store.
pub(crate) fn of_table(archive: &Archive, devices: &[DeviceData], fields: &[&str]) -> TableStats {
    let mut total = 0_u64;
    let chunks = devices.iter().flat_map(|d| &d.columns).map(|c| c.chunks.len()).sum::<usize>();
    let mut columns: Vec<Joined> = fields.iter().map(|_| Joined::default()).collect();
    let mut times = Joined::default();
    for data in devices {
        if chunks > MAX_TABLE_CHUNKS {
            let Some(rows) = exact_rows(archive, data) else { return TableStats::default() };
            total = total.saturating_add(rows);
            continue;
        }
        let mut stats = device_stats(archive, data);
        let Some(rows) = stats.rows.exact().copied() else { return TableStats::default() };
        total = total.saturating_add(rows);
        if rows == 0 {
            continue;
        }
        let all_null = || ColumnStats { nulls: Known::Exact(rows), ..ColumnStats::default() };
        for (at, (name, joined)) in fields.iter().zip(&mut columns).enumerate() {
            // Devices of a table usually have its columns in its order.
            let is_stored = |c: &ColumnData| c.name.eq_ignore_ascii_case(name);
            let stored = match data.columns.get(at) {
                Some(column) if is_stored(column) => Some(at),
                _ => data.columns.iter().position(is_stored),
            };
            let part = stored.and_then(|i| stats.columns.get_mut(i)).map(std::mem::take);
            joined.add(part.unwrap_or_else(all_null), rows);
        }
        times.add(stats.time.unwrap_or_else(all_null), rows);
    }
    let mut table = TableStats { rows: Known::Exact(total), ..TableStats::default() };
    if chunks <= MAX_TABLE_CHUNKS {
        let all = fields.iter().copied().zip(columns).chain([(TIME, times)]);
        table.columns = all.map(|(name, joined)| (name.to_string(), joined.finish())).collect();
    }
    table
}

/// The statistics of a column over several devices.
#[derive(Default)]
pub(super) struct Joined {
    nulls: u64,
    bounds: Bounds,
    /// Whether the null count of some device is unknown.
    vague: bool,
}

#[derive(Default)]
enum Bounds {
    /// No value so far.
    #[default]
    None,
    /// Bounds of all values so far.
    Exact(Scalar, Scalar),
    /// Some values have no bounds.
    Unknown,
}

impl Joined {
    /// Merges the statistics of a device with this many rows.
    pub(super) fn add(&mut self, part: ColumnStats, rows: u64) {
        let nulls = part.nulls.exact().copied();
        self.vague |= nulls.is_none();
        self.nulls = self.nulls.saturating_add(nulls.unwrap_or(0));
        if nulls == Some(rows) {
            return;
        }
        let bounds = std::mem::take(&mut self.bounds);
        self.bounds = match (bounds, part.min, part.max) {
            (Bounds::None, Known::Exact(min), Known::Exact(max)) => Bounds::Exact(min, max),
            (Bounds::Exact(a, b), Known::Exact(min), Known::Exact(max)) => {
                Bounds::Exact(a.min(min), b.max(max))
            }
            _ => Bounds::Unknown,
        };
    }

    /// The merged statistics.
    pub(super) fn finish(self) -> ColumnStats {
        let nulls = if self.vague { Known::Absent } else { Known::Exact(self.nulls) };
        match self.bounds {
            Bounds::Exact(min, max) => ColumnStats {
                min: Known::Exact(min),
                max: Known::Exact(max),
                nulls,
                ..ColumnStats::default()
            },
            Bounds::None | Bounds::Unknown => ColumnStats { nulls, ..ColumnStats::default() },
        }
    }
}

/// Whether statistics of a column can have bounds that are usable in a predicate.
fn has_bounds(column: &ColumnData) -> bool {
    column.chunks.first().is_some_and(|chunk| bounds_of(&chunk.statistics, column.data_type).is_some())
}

/// The headers of all chunks of columns with bounds, which show whether encodings are lossless; one request
/// for all.
fn headers(archive: &Archive, data: &DeviceData) -> Option<Vec<(ChunkHeader, Range<u64>)>> {
    let columns = data.columns.iter().filter(|column| has_bounds(column));
    let wanted: Vec<(&ChunkRef, &str)> =
        columns.flat_map(|column| column.chunks.iter().map(|chunk| (chunk, &*column.name))).collect();
    read_headers(archive, &wanted).ok()
}

/// Bounds and sum of a column with lossless encodings.
fn values(column: &ColumnData) -> Option<ColumnStats> {
    let mut stats = ColumnStats::default();
    let mut bounds: Option<(Scalar, Scalar)> = None;
    let mut sum = Some(0_i128);
    for chunk in &column.chunks {
        let of = bounds_of(&chunk.statistics, column.data_type)?;
        let (min, max) = of.min.zip(of.max)?;
        bounds = Some(match bounds {
            Some((a, b)) => (a.min(min), b.max(max)),
            None => (min, max),
        });
        sum = match chunk.statistics.sum {
            Some(Sum::Integer(part)) => sum.map(|sum| sum + i128::from(part)),
            _ => None,
        };
    }
    let (min, max) = bounds?;
    stats.min = Known::Exact(min);
    stats.max = Known::Exact(max);
    if let (Some(sum), DataType::Int32) = (sum, column.data_type) {
        stats.sum = Known::Exact(Scalar::Int(sum));
    }
    Some(stats)
}
