//! A Parquet file as a table. A task decodes one row group, or some of the pages of a large one. Row groups and pages
//! that cannot match a predicate are pruned: by statistics when a scan is planned, by bloom filters when a task starts.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use tesselle_core::{
    ColumnStats, Cost, Error, Known, Location, Plan, Predicate, Pushdown, Result, Scan, Storage, Table,
    TableFacts, TableStats, Task,
};

use super::bloom::{BloomTest, bloom_tests};
use super::bounds::{GroupBounds, exact_stats, selected_rows};
use super::learning::Learning;
use super::task::{GroupRows, GroupTask, State};
use crate::foreign::guard::guarded;
use crate::foreign::no_axes;
use crate::foreign::writer::damaged;

/// Rows of a batch: few, so that its columns are in the cache when they are used.
const BATCH_ROWS: usize = 8 << 10;
/// Row groups are split between tasks of at most about so many decoded bytes, if their pages can be located.
const TASK_BYTES: u64 = 16 << 20;
/// A task of a row group that is split has at least about so many rows.
const TASK_ROWS: usize = 128 << 10;
/// Bytes at the end of a file that are read first; they usually contain the footer and its indexes.
const TAIL: u64 = 64 << 10;

/// A Parquet file.
pub(crate) struct ParquetTable {
    location: Location,
    file: Arc<str>,
    metadata: ArrowReaderMetadata,
    schema: SchemaRef,
}

impl ParquetTable {
    /// Reads the footer and the page index.
    pub(crate) fn open(location: &Location) -> Result<Self> {
        let read = || {
            let metadata =
                ArrowReaderMetadata::try_new(Arc::new(footer(location)?), ArrowReaderOptions::new());
            metadata.map_err(|e| damaged("Parquet", e))
        };
        let metadata = guarded("Parquet", read).map_err(|e| e.file(location.path()))?;
        let file = Arc::from(location.path());
        Ok(Self { location: location.clone(), file, schema: Arc::clone(metadata.schema()), metadata })
    }

    /// The version of the file.
    pub(super) fn version(&self) -> String {
        self.parquet().file_metadata().version().to_string()
    }

    fn parquet(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// Statistics of a column; `None` if it is nested.
    fn converter(&self, column: &str) -> Option<StatisticsConverter<'_>> {
        converter(&self.metadata, column)
    }

    /// The rows of a row group that may match, in one part per task.
    fn parts(
        &self,
        number: usize,
        group: &RowGroupMetaData,
        mask: &ProjectionMask,
        predicate: Option<&Predicate>,
    ) -> Result<Vec<GroupRows>> {
        let rows = row_count(group)?;
        let matching = match predicate {
            Some(predicate) => selected_rows(self.parquet(), number, rows, predicate, &|c| self.converter(c)),
            None => None,
        };
        let cuts = self.cuts(number, group, mask, rows);
        let parts = if cuts.is_empty() {
            vec![GroupRows {
                count: matching.as_ref().map_or(rows, RowSelection::row_count),
                selection: matching,
            }]
        } else {
            let starts = std::iter::once(0).chain(cuts.iter().copied());
            let ends = cuts.iter().copied().chain([rows]);
            let part = |(start, end)| {
                let selection = RowSelection::from_consecutive_ranges(std::iter::once(start..end), rows);
                let selection = match &matching {
                    Some(matching) => selection.intersection(matching),
                    None => selection,
                };
                GroupRows { count: selection.row_count(), selection: Some(selection) }
            };
            starts.zip(ends).map(part).collect()
        };
        Ok(parts.into_iter().filter(|part| part.count > 0).collect())
    }

    /// The rows at which a row group is split between tasks: first rows of pages of its largest column, so that no two
    /// tasks decode the same pages of it.
    fn cuts(
        &self,
        number: usize,
        group: &RowGroupMetaData,
        mask: &ProjectionMask,
        rows: usize,
    ) -> Vec<usize> {
        let Some(index) = self.parquet().offset_index().and_then(|groups| groups.get(number)) else {
            return Vec::new();
        };
        let size = |column: &ColumnChunkMetaData| decoded_size(column).max(rows as u64 * 8);
        let columns = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let sizes = columns.map(|(leaf, column)| (size(column), leaf)).collect::<Vec<_>>();
        let bytes = sizes.iter().fold(0_u64, |sum, (size, _)| sum.saturating_add(*size));
        // Rounded: every part decodes the dictionaries again.
        let parts = bytes.saturating_add(TASK_BYTES / 2) / TASK_BYTES;
        let parts = parts.min((rows / TASK_ROWS) as u64);
        let largest = sizes.iter().max().and_then(|(_, leaf)| index.get(*leaf));
        let Some(pages) = largest.map(OffsetIndexMetaData::page_locations) else { return Vec::new() };
        let first_row = |at: usize| pages.get(at).and_then(|page| usize::try_from(page.first_row_index).ok());
        let mut cuts = Vec::new();
        for part in 1..parts {
            let wanted = (rows as u128 * u128::from(part) / u128::from(parts)) as usize;
            let after = pages.partition_point(|page| page.first_row_index < wanted as i64);
            let around = [after.checked_sub(1).and_then(first_row), first_row(after)];
            let nearest = around.into_iter().flatten().min_by_key(|row| row.abs_diff(wanted));
            cuts.extend(nearest.filter(|row| (cuts.last().copied().unwrap_or(0) + 1..rows).contains(row)));
        }
        cuts
    }

    /// The tasks over the row groups that may match.
    fn tasks(&self, scan: &Scan) -> Result<Plan> {
        let projection = self.projection(scan)?;
        let groups = self.parquet().row_groups();
        let predicate = scan.predicate.as_ref();
        let bounds = predicate.map(|predicate| GroupBounds::new(predicate, groups, &|c| self.converter(c)));
        let learning = predicate.and_then(Learning::new).map(Arc::new);
        let batch_rows = scan.batch_rows.unwrap_or(BATCH_ROWS);
        let mut plan = Plan { tasks: Vec::new(), pieces: groups.len() as u64, pruned: 0 };
        let mut left = scan.limit.unwrap_or(u64::MAX);
        for (number, group) in groups.iter().enumerate() {
            let skipped = bounds.as_ref().is_some_and(|bounds| bounds.excludes(number));
            let parts = if skipped || left == 0 {
                Vec::new()
            } else {
                self.parts(number, group, &projection.mask, predicate)?
            };
            if parts.is_empty() {
                plan.pruned += u64::from(group.num_rows() > 0);
                continue;
            }
            let blooms: Arc<[BloomTest]> = match predicate {
                Some(predicate) => bloom_tests(group, predicate, &self.schema, &|c| self.converter(c)).into(),
                None => Arc::default(),
            };
            let largest_page = self.largest_page(number, group, &projection.mask);
            for (at, rows) in parts.into_iter().enumerate() {
                left = left.saturating_sub(rows.count as u64);
                let cost = cost(group, &projection.mask, rows.count, batch_rows);
                let task = GroupTask {
                    file: Arc::clone(&self.file),
                    metadata: self.metadata.clone(),
                    mask: projection.mask.clone(),
                    order: Arc::clone(&projection.order),
                    group: number,
                    rows,
                    batch_rows,
                    blooms: Arc::clone(&blooms),
                    learning: learning.clone(),
                    cost: Cost { pieces: u64::from(at == 0), ..cost },
                    largest_page,
                    state: State::default(),
                };
                plan.tasks.push(Box::new(task) as Box<dyn Task>);
                if left == 0 {
                    break;
                }
            }
        }
        Ok(plan)
    }

    /// The decoded bytes of the largest page of a row group, as far as its offset index shows: it is at least as large as
    /// the average one. Without this index the number of pages is not known.
    fn largest_page(&self, number: usize, group: &RowGroupMetaData, mask: &ProjectionMask) -> u64 {
        let index = self.parquet().offset_index().and_then(|groups| groups.get(number));
        let average = |(leaf, column): (usize, &ColumnChunkMetaData)| {
            let listed = index?.get(leaf).filter(|_| mask.leaf_included(leaf))?.page_locations().len() as u64;
            let pages = listed + u64::from(column.dictionary_page_offset().is_some());
            Some(u64::try_from(column.uncompressed_size()).ok()?.div_ceil(pages.max(1)))
        };
        group.columns().iter().enumerate().filter_map(average).max().unwrap_or(0)
    }

    /// The columns of `scan`, as the reader accepts and returns them.
    fn projection(&self, scan: &Scan) -> Result<Projection> {
        let wanted = scan.column_indices(&self.schema)?;
        // The reader returns columns in file order; each task reorders them.
        let mut stored = wanted.clone();
        stored.sort_unstable();
        stored.dedup();
        let position = |at: &usize| {
            stored.binary_search(at).map_err(|_| Error::internal("a requested column is not read"))
        };
        let order = wanted.iter().map(position).collect::<Result<Vec<_>>>()?;
        let descriptor = self.parquet().file_metadata().schema_descr();
        Ok(Projection {
            mask: ProjectionMask::roots(descriptor, stored.iter().copied()),
            order: order.into(),
        })
    }
}

/// The decoded columns, and the output position of each.
struct Projection {
    mask: ProjectionMask,
    order: Arc<[usize]>,
}

impl Table for ParquetTable {
    fn name(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        let rows = u64::try_from(self.parquet().file_metadata().num_rows());
        let bytes = self
            .parquet()
            .row_groups()
            .iter()
            .try_fold(0_u64, |sum, group| sum.checked_add(u64::try_from(group.compressed_size()).ok()?));
        TableStats {
            rows: rows.map_or(Known::Absent, Known::Exact),
            bytes: bytes.map_or(Known::Absent, Known::Exact),
            ..TableStats::default()
        }
    }

    fn stats_of(&self, columns: &[&str]) -> TableStats {
        let known = |name: &&str| {
            let groups = self.parquet().row_groups();
            let exact = || Ok(self.converter(name).and_then(|converter| exact_stats(&converter, groups)));
            // Statistics that cannot be read are no statistics.
            let stats = guarded("Parquet", exact).ok()??;
            (stats != ColumnStats::default()).then(|| ((*name).to_owned(), stats))
        };
        TableStats { columns: columns.iter().filter_map(known).collect(), ..self.stats() }
    }

    fn facts(&self) -> Result<TableFacts> {
        Ok(TableFacts::of_schema(&self.schema))
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        let prunable = predicate.columns().iter().any(|column| self.converter(column).is_some());
        if prunable { Pushdown::Inexact } else { Pushdown::None }
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        no_axes(scan)?;
        guarded("Parquet", || self.tasks(scan)).map_err(|error| error.file(&*self.file))
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.location.storage())
    }
}

/// Statistics of a column; `None` if it is nested.
pub(super) fn converter<'a>(
    metadata: &'a ArrowReaderMetadata,
    column: &str,
) -> Option<StatisticsConverter<'a>> {
    let schema = metadata.metadata().file_metadata().schema_descr();
    let converter = StatisticsConverter::try_new(column, metadata.schema(), schema).ok()?;
    converter.parquet_column_index()?;
    Some(converter.with_missing_null_counts_as_zero(false))
}

/// The cost of the task over `rows` of a row group.
fn cost(group: &RowGroupMetaData, mask: &ProjectionMask, rows: usize, batch_rows: usize) -> Cost {
    let columns = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
    let (mut stored, mut decoded) = (0_u64, 0_u64);
    for (_, column) in columns {
        stored = stored.saturating_add(u64::try_from(column.compressed_size()).unwrap_or(0));
        decoded = decoded.saturating_add(decoded_size(column));
    }
    let all = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
    let share = |bytes: u64| (u128::from(bytes) * rows as u128 / u128::from(all)) as u64;
    // Encoded values grow when they are decoded, dictionaries most.
    let batch = decoded.saturating_mul(4) / all * (batch_rows.min(rows) as u64);
    let memory = share(stored).saturating_add(batch);
    Cost { pieces: 1, bytes_in: share(stored), memory, rows: rows as u64 }
}

/// The bytes of a column chunk without compression, as its metadata states them.
fn decoded_size(column: &ColumnChunkMetaData) -> u64 {
    u64::try_from(column.uncompressed_size()).unwrap_or(0)
}

pub(super) fn row_count(group: &RowGroupMetaData) -> Result<usize> {
    usize::try_from(group.num_rows())
        .map_err(|_| Error::corrupt(format!("a Parquet row group states {} rows", group.num_rows())))
}

/// Reads the metadata at the end of a file, in one request if it fits in [`TAIL`].
fn footer(location: &Location) -> Result<ParquetMetaData> {
    let size = location.size()?;
    let mut wanted = TAIL.min(size);
    loop {
        let tail = location.read_range(size - wanted..size)?;
        let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
        match reader.try_parse_sized(&tail, size).and_then(|()| reader.finish()) {
            Ok(metadata) => return Ok(metadata),
            Err(ParquetError::NeedMoreData(more)) if more as u64 > wanted && more as u64 <= size => {
                wanted = more as u64;
            }
            Err(error) => return Err(damaged("Parquet", error)),
        }
    }
}
