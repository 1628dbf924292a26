//! Pruning of row groups and pages by statistics.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::{DataType, TimeUnit};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use tesselle_core::{ColumnBounds, ColumnStats, Known, Predicate, Scalar, Verdict};

/// Finds the statistics of a column by its name.
pub(super) type Converters<'a> = dyn Fn(&str) -> Option<StatisticsConverter<'a>> + 'a;

/// The bounds of one column in each row group or page.
struct Bounds {
    min: ArrayRef,
    max: ArrayRef,
    nulls: UInt64Array,
    rows: Vec<u64>,
}

impl Bounds {
    fn of_groups(converter: &StatisticsConverter<'_>, groups: &[RowGroupMetaData]) -> Option<Self> {
        Some(Self {
            min: converter.row_group_mins(groups).ok()?,
            max: converter.row_group_maxes(groups).ok()?,
            nulls: converter.row_group_null_counts(groups).ok()?,
            rows: groups.iter().map(|group| u64::try_from(group.num_rows()).ok()).collect::<Option<_>>()?,
        })
    }

    /// The bounds of the pages of a column in one row group.
    fn of_pages(
        converter: &StatisticsConverter<'_>,
        parquet: &ParquetMetaData,
        group: usize,
    ) -> Option<Self> {
        let (columns, offsets) = (parquet.column_index()?, parquet.offset_index()?);
        let column = converter.parquet_column_index()?;
        let pages = offsets.get(group)?.get(column)?.page_locations();
        columns.get(group)?.get(column)?;
        let groups = parquet.row_groups();
        let end = groups.get(group)?.num_rows();
        let starts = pages.iter().map(|page| page.first_row_index);
        let ends = pages.iter().skip(1).map(|page| page.first_row_index).chain([end]);
        let rows = starts.zip(ends).map(|(start, end)| u64::try_from(end.checked_sub(start)?).ok());
        let rows = rows.collect::<Option<Vec<u64>>>()?;
        let bounds = Self {
            min: converter.data_page_mins(columns, offsets, &[group]).ok()?,
            max: converter.data_page_maxes(columns, offsets, &[group]).ok()?,
            nulls: converter.data_page_null_counts(columns, offsets, &[group]).ok()?,
            rows,
        };
        let whole = bounds.min.len() == pages.len()
            && bounds.max.len() == pages.len()
            && bounds.nulls.len() == pages.len();
        whole.then_some(bounds)
    }

    fn at(&self, index: usize) -> ColumnBounds {
        // Statistics of floats skip NaN, which is above every number here, so they bound from below only.
        let max = if self.max.data_type().is_floating() { None } else { scalar_at(&self.max, index) };
        ColumnBounds {
            min: scalar_at(&self.min, index),
            max,
            nulls: (index < self.nulls.len() && self.nulls.is_valid(index)).then(|| self.nulls.value(index)),
            rows: self.rows.get(index).copied(),
        }
    }
}

/// Whether the statistics of a column compare as values do. Old writers compared strings and unsigned integers as
/// signed bytes.
fn comparable(converter: &StatisticsConverter<'_>, groups: &[RowGroupMetaData]) -> bool {
    let Some(column) = converter.parquet_column_index() else { return false };
    groups
        .iter()
        .filter_map(|group| group.columns().get(column)?.statistics())
        .all(|statistics| !statistics.is_min_max_deprecated() || statistics.is_min_max_backwards_compatible())
}

/// The statistics of all row groups for the columns of a predicate.
pub(super) struct GroupBounds<'a> {
    predicate: &'a Predicate,
    columns: Vec<(&'a str, Bounds)>,
}

impl<'a> GroupBounds<'a> {
    pub(super) fn new(predicate: &'a Predicate, groups: &[RowGroupMetaData], find: &Converters<'_>) -> Self {
        let bounds = |name: &'a str| {
            let converter = find(name).filter(|converter| comparable(converter, groups))?;
            Some((name, Bounds::of_groups(&converter, groups)?))
        };
        Self { predicate, columns: predicate.columns().into_iter().filter_map(bounds).collect() }
    }

    fn of_column(&self, name: &str, group: usize) -> Option<ColumnBounds> {
        self.columns.iter().find(|(column, _)| *column == name).map(|(_, bounds)| bounds.at(group))
    }

    /// Whether no row of a row group can match.
    pub(super) fn excludes(&self, group: usize) -> bool {
        self.predicate.verdict(&|name| self.of_column(name, group)) == Verdict::Never
    }

    /// The part of the predicate that these statistics leave open for the rows of a row group.
    pub(super) fn left(&self, group: usize) -> Predicate {
        self.predicate.within(&|name| self.of_column(name, group))
    }
}

/// The rows of a row group whose pages can match; `None` if the page index excludes nothing.
pub(super) fn selected_rows(
    parquet: &ParquetMetaData,
    group: usize,
    rows: usize,
    predicate: &Predicate,
    find: &Converters<'_>,
) -> Option<RowSelection> {
    let mut selection: Option<RowSelection> = None;
    // Pages of different columns have different rows, so a condition on one column is evaluated separately.
    for condition in predicate.conjuncts() {
        let columns = condition.columns();
        let (Some(column), 1) = (columns.first(), columns.len()) else { continue };
        let converter = find(column).filter(|converter| comparable(converter, parquet.row_groups()));
        let Some(pages) = converter.and_then(|c| Bounds::of_pages(&c, parquet, group)) else { continue };
        let selectors: Vec<RowSelector> = (0..pages.rows.len())
            .map(|page| {
                let count = usize::try_from(pages.rows[page]).unwrap_or(usize::MAX);
                match condition.verdict(&|_| Some(pages.at(page))) {
                    Verdict::Never => RowSelector::skip(count),
                    _ => RowSelector::select(count),
                }
            })
            .collect();
        let covered = selectors.iter().fold(0_usize, |sum, selector| sum.saturating_add(selector.row_count));
        if covered != rows || selectors.iter().all(|selector| !selector.skip) {
            continue;
        }
        let pages = RowSelection::from(selectors);
        selection = Some(match selection {
            Some(others) => others.intersection(&pages),
            None => pages,
        });
    }
    selection
}

/// The exact statistics of a whole column.
pub(super) fn exact_stats(
    converter: &StatisticsConverter<'_>,
    groups: &[RowGroupMetaData],
) -> Option<ColumnStats> {
    let bounds = Bounds::of_groups(converter, groups)?;
    let stats = ColumnStats::of_pieces((0..groups.len()).map(|group| Some(bounds.at(group))));
    // Bounds of strings may be truncated, and those of floats ignore NaN.
    let kind = bounds.min.data_type();
    let exact = comparable(converter, groups)
        && (kind.is_integer()
            || matches!(kind, DataType::Date32 | DataType::Timestamp(..) | DataType::Boolean));
    Some(if exact { stats } else { ColumnStats { min: Known::Absent, max: Known::Absent, ..stats } })
}

/// A value of a statistics column; `None` if it is null or of a type that predicates do not compare.
fn scalar_at(array: &ArrayRef, index: usize) -> Option<Scalar> {
    if index >= array.len() || array.is_null(index) {
        return None;
    }
    fn number<T: ArrowPrimitiveType>(array: &ArrayRef, index: usize) -> Option<Scalar>
    where
        Scalar: From<T::Native>,
    {
        array.as_primitive_opt::<T>().map(|array| Scalar::from(array.value(index)))
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean_opt().map(|array| Scalar::Bool(array.value(index))),
        DataType::Int8 => number::<Int8Type>(array, index),
        DataType::Int16 => number::<Int16Type>(array, index),
        DataType::Int32 => number::<Int32Type>(array, index),
        DataType::Int64 => number::<Int64Type>(array, index),
        DataType::UInt8 => number::<UInt8Type>(array, index),
        DataType::UInt16 => number::<UInt16Type>(array, index),
        DataType::UInt32 => number::<UInt32Type>(array, index),
        DataType::UInt64 => number::<UInt64Type>(array, index),
        DataType::Float16 => {
            array.as_primitive_opt::<Float16Type>().map(|array| Scalar::Float(array.value(index).to_f64()))
        }
        DataType::Float32 => number::<Float32Type>(array, index),
        DataType::Float64 => number::<Float64Type>(array, index),
        DataType::Date32 => number::<Date32Type>(array, index),
        DataType::Timestamp(TimeUnit::Second, _) => number::<TimestampSecondType>(array, index),
        DataType::Timestamp(TimeUnit::Millisecond, _) => number::<TimestampMillisecondType>(array, index),
        DataType::Timestamp(TimeUnit::Microsecond, _) => number::<TimestampMicrosecondType>(array, index),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => number::<TimestampNanosecondType>(array, index),
        DataType::Utf8 => array.as_string_opt::<i32>().map(|array| Scalar::from(array.value(index))),
        DataType::LargeUtf8 => array.as_string_opt::<i64>().map(|array| Scalar::from(array.value(index))),
        DataType::Utf8View => array.as_string_view_opt().map(|array| Scalar::from(array.value(index))),
        DataType::Binary => {
            array.as_binary_opt::<i32>().map(|array| Scalar::Bytes(array.value(index).to_vec()))
        }
        DataType::LargeBinary => {
            array.as_binary_opt::<i64>().map(|array| Scalar::Bytes(array.value(index).to_vec()))
        }
        _ => None,
    }
}
