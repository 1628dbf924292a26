//! Table statistics in DataFusion's form.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use tesselle::Scalar;
use tesselle::core::{ColumnStats, Known, TableStats};

/// The statistics of the columns of `schema`.
pub(crate) fn statistics(stats: &TableStats, schema: &Schema) -> Statistics {
    let columns = schema.fields().iter().map(|field| match stats.columns.get(field.name()) {
        Some(known) => {
            let mut column = column(known, field.data_type());
            // The sum of no values is null, which a statistic cannot state.
            if value_count(stats, field.name()).is_some_and(|values| values > 0) {
                column.sum_value = sum(&known.sum, field.data_type());
            }
            column
        }
        None => ColumnStatistics::new_unknown(),
    });
    Statistics {
        num_rows: count(&stats.rows),
        // Stored bytes do not predict decoded ones.
        total_byte_size: Precision::Absent,
        column_statistics: columns.collect(),
    }
}

/// The statistics of the rows that pass these filters, as the planner estimates them.
pub(crate) fn filtered(
    schema: &SchemaRef,
    statistics: &Statistics,
    filters: impl IntoIterator<Item = Arc<dyn PhysicalExpr>>,
) -> Statistics {
    let all = || statistics.clone().to_inexact();
    let filters: Vec<_> = filters.into_iter().collect();
    if filters.is_empty() {
        return all();
    }
    let rows = Arc::new(EmptyExec::new(Arc::clone(schema)));
    let estimate = FilterExec::try_new(conjunction(filters), rows)
        .and_then(|filter| filter.statistics_from_inputs(&[Arc::new(all())], &StatisticsArgs::new()));
    estimate.map_or_else(|_| all(), |estimate| estimate.as_ref().clone().to_inexact())
}

/// The number of values of a column, if known.
pub(crate) fn value_count(stats: &TableStats, column: &str) -> Option<usize> {
    let known = stats.columns.get(column)?;
    let left = || stats.rows.exact()?.checked_sub(*known.nulls.exact()?);
    known.values.exact().copied().or_else(left).and_then(|n| usize::try_from(n).ok())
}

fn column(known: &ColumnStats, data_type: &DataType) -> ColumnStatistics {
    let mut column = ColumnStatistics::new_unknown();
    column.min_value = value(&known.min, data_type);
    column.max_value = value(&known.max, data_type);
    column.null_count = count(&known.nulls);
    if data_type.is_floating() {
        // Tables treat NaN as the largest value regardless of its sign, and both zeros as equal; DataFusion does not.
        // Two exact numeric bounds mean that there is no NaN.
        let safe = |known: &Known<Scalar>| matches!(known, Known::Exact(Scalar::Float(v)) if v.is_finite() && *v != 0.0);
        if !(safe(&known.min) && safe(&known.max)) {
            column.min_value = column.min_value.to_inexact();
            column.max_value = column.max_value.to_inexact();
        }
    }
    column
}

/// An exact sum in the type of SQL sums. Sums of floats depend on the order of their terms.
fn sum(known: &Known<Scalar>, data_type: &DataType) -> Precision<ScalarValue> {
    let (Known::Exact(Scalar::Int(sum)), true) = (known, data_type.is_integer()) else {
        return Precision::Absent;
    };
    let value = if data_type.is_unsigned_integer() {
        u64::try_from(*sum).ok().map(|sum| ScalarValue::UInt64(Some(sum)))
    } else {
        i64::try_from(*sum).ok().map(|sum| ScalarValue::Int64(Some(sum)))
    };
    value.map_or(Precision::Absent, Precision::Exact)
}

fn count(known: &Known<u64>) -> Precision<usize> {
    match known {
        Known::Exact(n) => usize::try_from(*n).map_or(Precision::Absent, Precision::Exact),
        Known::Bound(n) => usize::try_from(*n).map_or(Precision::Absent, Precision::Inexact),
        Known::Absent => Precision::Absent,
    }
}

fn value(known: &Known<Scalar>, data_type: &DataType) -> Precision<ScalarValue> {
    let value = known.value().and_then(|scalar| scalar_value(scalar, data_type));
    match (value, known) {
        (Some(value), Known::Exact(_)) => Precision::Exact(value),
        (Some(value), _) => Precision::Inexact(value),
        (None, _) => Precision::Absent,
    }
}

/// A scalar in the type of its column; `None` if the type cannot represent it.
fn scalar_value(scalar: &Scalar, data_type: &DataType) -> Option<ScalarValue> {
    let value = match scalar {
        Scalar::Null => return None,
        Scalar::Bool(v) => ScalarValue::Boolean(Some(*v)),
        Scalar::Int(v) => match i64::try_from(*v) {
            Ok(v) => ScalarValue::Int64(Some(v)),
            Err(_) => ScalarValue::UInt64(Some(u64::try_from(*v).ok()?)),
        },
        Scalar::Float(v) => ScalarValue::Float64(Some(*v)),
        Scalar::String(v) => ScalarValue::Utf8(Some(v.clone())),
        Scalar::Bytes(v) => ScalarValue::Binary(Some(v.clone())),
    };
    // A 64-bit count of days does not cast to a date.
    let value = match (data_type, &value) {
        (DataType::Date32, ScalarValue::Int64(Some(v))) => ScalarValue::Date32(Some(i32::try_from(*v).ok()?)),
        _ => value.cast_to(data_type).ok()?,
    };
    (!value.is_null()).then_some(value)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{Field, TimeUnit};

    use super::*;

    fn of(
        data_type: DataType,
        min: Known<Scalar>,
        max: Known<Scalar>,
    ) -> (Precision<ScalarValue>, Precision<ScalarValue>) {
        let stats = ColumnStats { min, max, ..ColumnStats::default() };
        let table = TableStats { columns: [("x".to_owned(), stats)].into(), ..TableStats::default() };
        let column = statistics(&table, &Schema::new(vec![Field::new("x", data_type, true)]))
            .column_statistics
            .remove(0);
        (column.min_value, column.max_value)
    }

    #[test]
    fn bounds_take_the_type_of_their_column() {
        let (min, max) = of(
            DataType::Timestamp(TimeUnit::Millisecond, None),
            Known::Exact(5_i64.into()),
            Known::Bound(9_i64.into()),
        );
        assert_eq!(min, Precision::Exact(ScalarValue::TimestampMillisecond(Some(5), None)));
        assert_eq!(max, Precision::Inexact(ScalarValue::TimestampMillisecond(Some(9), None)));
        let (min, _) = of(DataType::Date32, Known::Exact(Scalar::Int(-3)), Known::Absent);
        assert_eq!(min, Precision::Exact(ScalarValue::Date32(Some(-3))));
        let (min, _) = of(DataType::UInt64, Known::Exact(u64::MAX.into()), Known::Absent);
        assert_eq!(min, Precision::Exact(ScalarValue::UInt64(Some(u64::MAX))));
        let (min, _) = of(DataType::Int8, Known::Exact(Scalar::Int(1000)), Known::Absent);
        assert_eq!(min, Precision::Absent);
    }

    #[test]
    fn float_bounds_are_exact_only_where_no_nan_can_hide() {
        let exact = |v: f64| Known::Exact(Scalar::Float(v));
        let double = |v| ScalarValue::Float64(Some(v));
        assert_eq!(of(DataType::Float64, exact(1.0), exact(2.0)).0, Precision::Exact(double(1.0)));
        assert_eq!(of(DataType::Float64, exact(0.0), exact(2.0)).1, Precision::Inexact(double(2.0)));
        assert_eq!(of(DataType::Float64, exact(1.0), Known::Absent).0, Precision::Inexact(double(1.0)));
    }
}
