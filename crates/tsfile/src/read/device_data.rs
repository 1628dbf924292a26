//! A device over all files of an archive: its columns with their chunks, ranked, with deletions applied.

use std::collections::BTreeMap;
use std::sync::Arc;

use tesselle_core::{At, Error, Result};

use super::TIME;
use super::file::{Chunk, Device, File, Series};
use super::loaded::ChunkRef;
use super::prune::TimeRanges;
use crate::meta::{DataType, Deletion, Statistics};
use crate::open::{Archive, ArchiveFile};

/// A device, ready to be planned.
#[derive(Debug, Default)]
pub(crate) struct DeviceData {
    /// Its dotted path.
    pub(crate) path: String,
    /// Its columns in file order; columns of later files are appended.
    pub(crate) columns: Vec<ColumnData>,
    /// The time chunks of aligned groups.
    pub(crate) times: Vec<ChunkRef>,
}

/// One measurement of a device.
#[derive(Debug)]
pub(crate) struct ColumnData {
    /// The measurement.
    pub(crate) name: Arc<str>,
    /// Its type.
    pub(crate) data_type: DataType,
    /// All chunks with at least one point.
    pub(crate) chunks: Vec<ChunkRef>,
    /// The statistics of the series, if a single file states them.
    pub(crate) statistics: Option<Statistics>,
}

impl DeviceData {
    /// Collects a device from the files that have it: (file, device in that file).
    pub(crate) fn assemble(archive: &Archive, path: &str, places: &[(usize, usize)]) -> Result<Self> {
        let mut data = Self { path: path.to_string(), ..Self::default() };
        let mut by_name: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for (file, device) in places {
            let entry = archive.files.at(*file)?;
            let device = entry.file.devices.at(*device)?;
            let series = entry.file.series(device)?;
            data.add(*file, entry, device, series, &mut by_name)?;
        }
        Ok(data)
    }

    fn add(
        &mut self,
        index: usize,
        entry: &ArchiveFile,
        device: &Device,
        series: Vec<Series>,
        by_name: &mut BTreeMap<Arc<str>, usize>,
    ) -> Result<()> {
        let mut time_offsets: Vec<u64> = series
            .iter()
            .filter(|s| s.is_time_column())
            .flat_map(|s| s.chunks.iter().map(|c| c.offset))
            .collect();
        time_offsets.sort_unstable();
        let path = &device.path;
        let matching = |measurement: &str| -> Vec<&Deletion> {
            entry.deletions.iter().filter(|d| d.matches(&device.id, path, measurement)).collect()
        };
        let in_force = |deletions: &[&Deletion], chunk: &Chunk| {
            let covers = |d: &&&Deletion| d.covers_chunk(entry.file.version, chunk.version, chunk.offset);
            TimeRanges::new(deletions.iter().filter(covers).map(|d| (d.start, d.end)).collect())
        };
        let mut shared: Option<TimeRanges> = None;
        let nothing: Arc<[(i64, i64)]> = Arc::default();
        let parts = |deleted: &TimeRanges| match deleted.parts() {
            [] => Arc::clone(&nothing),
            parts => parts.into(),
        };
        let (times, series): (Vec<Series>, Vec<Series>) =
            series.into_iter().partition(Series::is_time_column);
        for mut column in series {
            let name: Arc<str> = column.name.as_str().into();
            let at = *by_name.entry(Arc::clone(&name)).or_insert(self.columns.len());
            if at == self.columns.len() {
                let (data_type, statistics) = (column.data_type, column.statistics.take());
                self.columns.push(ColumnData { name, data_type, chunks: Vec::new(), statistics });
            } else {
                let known = self.columns.at_mut(at)?;
                known.statistics = None;
                if known.data_type != column.data_type {
                    let (a, b) = (known.data_type.name(), column.data_type.name());
                    let message =
                        format!("'{path}.{}' is {a} and {b} in different files", column.name.escape_debug());
                    return Err(Error::unsupported(message).class("mixed_types").file(&*entry.file.path));
                }
            }
            let deletions = matching(&column.name);
            let target = self.columns.at_mut(at)?;
            for chunk in column.chunks.into_iter().filter(|c| c.statistics.count > 0) {
                let deleted = in_force(&deletions, &chunk);
                if deleted.parts().is_empty() {
                    shared = Some(TimeRanges::default());
                } else {
                    target.statistics = None;
                    shared = Some(shared.map_or(deleted.clone(), |s| s.intersect(&deleted)));
                }
                let time_chunk = match time_offsets.partition_point(|t| *t < chunk.offset) {
                    0 => None,
                    n => time_offsets.get(n - 1).copied(),
                };
                target.chunks.push(reference(index, &entry.file, chunk, time_chunk, parts(&deleted)));
            }
        }
        // In the tree model a row exists through its values: it is deleted when all columns are. In the table
        // model it is deleted when whole rows are.
        let shared = shared.filter(|_| device.table.is_none());
        let whole_rows = if shared.is_none() { matching("") } else { Vec::new() };
        for chunk in times.into_iter().flat_map(|s| s.chunks).filter(|c| c.statistics.count > 0) {
            let deleted = shared.clone().unwrap_or_else(|| in_force(&whole_rows, &chunk));
            self.times.push(reference(index, &entry.file, chunk, None, parts(&deleted)));
        }
        Ok(())
    }

    /// The column names of the table. A measurement with the name of the time column gets a number, because
    /// columns are selected by name.
    pub(crate) fn shown_names(&self) -> Arc<[Arc<str>]> {
        let taken = |name: &str| name == TIME || self.columns.iter().any(|c| *c.name == *name);
        let free = |name: &str| {
            (1..=self.columns.len())
                .map(|n| format!("{name}_{n}"))
                .find(|name| !taken(name))
                .unwrap_or_default()
        };
        let shown =
            |c: &ColumnData| if *c.name == *TIME { free(&c.name).into() } else { Arc::clone(&c.name) };
        self.columns.iter().map(shown).collect()
    }

    /// Whether rows come from time columns.
    pub(crate) fn is_aligned(&self) -> bool {
        !self.times.is_empty()
    }

    /// Whether the chunks of each column (and of the time column) are disjoint in time and nothing is
    /// deleted, so that counts and bounds of statistics apply to the rows.
    pub(crate) fn is_plain(&self) -> bool {
        let lists = self.columns.iter().map(|c| &c.chunks).chain(std::iter::once(&self.times));
        lists.into_iter().all(|chunks| {
            let mut spans: Vec<(i64, i64)> = chunks.iter().map(|c| (c.lo, c.hi)).collect();
            spans.sort_unstable();
            chunks.iter().all(|c| c.deleted.is_empty()) && spans.windows(2).all(|pair| pair[0].1 < pair[1].0)
        })
    }
}

fn reference(
    index: usize,
    file: &File,
    chunk: Chunk,
    time_chunk: Option<u64>,
    deleted: Arc<[(i64, i64)]>,
) -> ChunkRef {
    let (start, end) = (chunk.statistics.start_time, chunk.statistics.end_time);
    // The first two versions state the times of the first and last point written; if these show that points
    // were written out of order, they are not bounds.
    let (lo, hi) = if start <= end { (start, end) } else { (i64::MIN, i64::MAX) };
    ChunkRef {
        file: index,
        offset: chunk.offset,
        time_chunk: time_chunk.filter(|_| file.version.is_compact()),
        statistics: Arc::new(chunk.statistics),
        lo,
        hi,
        rank: (index, chunk.version, chunk.offset),
        deleted,
    }
}
