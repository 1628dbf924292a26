//! The rules of a table.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Schema, SortOptions, TimeUnit};

use super::damage::is_thorough;
use super::rows::{read_all, rows_as_strings, sorted_rows};
use crate::array::read_region;
use crate::driver::{Driver, Order, scan};
use crate::error::ErrorKind;
use crate::predicate::{Comparison, Predicate};
use crate::scalar::Scalar;
use crate::scan::Scan;
use crate::selection::{AxisSelection, Selection};
use crate::stats::{ColumnStats, Known};
use crate::table::{Pushdown, Table};

/// Maximum number of conditions of a table, unless the tests are thorough.
const CONDITIONS: usize = 200;

/// Checks the rules stated by [`Table`] on the table's own data, which is read several times and should be small.
pub fn table_conformance(table: &dyn Table, driver: &Driver) {
    let all = read_all(table, &Scan::all(), driver);
    assert_eq!(all.schema(), table.schema(), "a scan of everything has the schema of the table");
    order(table, driver, &all);
    sorted(table, &all);
    projections(table, driver, &all);
    limits(table, driver, &all);
    stats_conformance(table, &all);
    plans(table);
    // Wide tables have thousands of conditions, and each reads the table several times.
    let conditions = predicates(&all);
    let step = if is_thorough() { 1 } else { conditions.len().div_ceil(CONDITIONS) };
    for predicate in conditions.iter().step_by(step) {
        filtered(table, driver, &all, predicate);
    }
    arrays(table, driver, &all);
}

fn order(table: &dyn Table, driver: &Driver, all: &RecordBatch) {
    let again = read_all(table, &Scan::all(), driver);
    assert_eq!(rows_as_strings(&again), rows_as_strings(all), "reading in plan order is repeatable");
    let rows = scan(table, &Scan::all(), driver, Order::Any).unwrap();
    let count: usize = rows.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(count, all.num_rows(), "the order does not change how many rows there are");
}

fn sorted(table: &dyn Table, all: &RecordBatch) {
    let options = SortOptions { descending: false, nulls_first: false };
    let comparators: Vec<_> = table
        .sort_columns()
        .iter()
        .map(|name| {
            let column = all.column_by_name(name).expect("rows are sorted by columns that exist");
            make_comparator(column, column, options).expect("rows are sorted by columns that compare")
        })
        .collect();
    for row in 1..all.num_rows() {
        let order = comparators.iter().map(|compare| compare(row - 1, row)).find(|order| order.is_ne());
        assert!(order != Some(Ordering::Greater), "row {row} sorts before its predecessor");
    }
}

fn projections(table: &dyn Table, driver: &Driver, all: &RecordBatch) {
    let schema = table.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let mut lists: Vec<Vec<&str>> = names.iter().map(|name| vec![*name]).collect();
    lists.push(names.iter().rev().copied().collect());
    lists.push(names.iter().step_by(2).copied().collect());
    lists.push(Vec::new());
    for list in lists {
        let got = read_all(table, &Scan::all().columns(list.iter().copied()), driver);
        let indices: Vec<usize> = list.iter().map(|name| schema.index_of(name).unwrap()).collect();
        let want = all.project(&indices).unwrap();
        assert_eq!(got.schema(), want.schema(), "columns are returned as requested: {list:?}");
        assert_eq!(got.num_rows(), want.num_rows(), "columns do not change the rows: {list:?}");
        assert_eq!(sorted_rows(&got), sorted_rows(&want), "columns {list:?} have other values");
    }
    let unknown = table.plan(&Scan::all().columns(["no such column"]));
    assert!(unknown.is_err_and(|e| e.kind() == ErrorKind::NotFound), "an unknown column is not found");
}

fn limits(table: &dyn Table, driver: &Driver, all: &RecordBatch) {
    let rows = all.num_rows() as u64;
    let known = counted(&rows_as_strings(all));
    for limit in [0, 1, rows / 2, rows, rows + 3] {
        let got = read_all(table, &Scan::all().limit(limit), driver);
        assert_eq!(got.num_rows() as u64, limit.min(rows), "a limit of {limit} of {rows} rows");
        for (row, count) in counted(&rows_as_strings(&got)) {
            assert!(known.get(&row).is_some_and(|n| *n >= count), "a limit adds no rows: {row}");
        }
    }
}

fn counted(rows: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(row.clone()).or_default() += 1;
    }
    counts
}

/// Checks that all statistics of a table are true for `all`, its rows.
pub fn stats_conformance(table: &dyn Table, all: &RecordBatch) {
    let stats = table.stats();
    let rows = all.num_rows() as u64;
    match stats.rows {
        Known::Exact(n) => assert_eq!(n, rows, "exact statistics count the rows"),
        Known::Bound(n) => assert!(n >= rows, "a bound of {n} rows is below the {rows} there are"),
        Known::Absent => {}
    }
    let schema = all.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let more = table.stats_of(&names);
    assert_eq!(more.rows, stats.rows, "statistics of columns do not change the count of rows");
    for (name, stats) in stats.columns.iter().chain(&more.columns) {
        let column = all.column_by_name(name).expect("statistics are about columns that exist");
        column_stats(name, stats, column, all);
    }
}

fn column_stats(name: &str, stats: &ColumnStats, column: &ArrayRef, all: &RecordBatch) {
    let rows = all.num_rows() as u64;
    let nulls = column.logical_null_count() as u64;
    match stats.nulls {
        Known::Exact(n) => assert_eq!(n, nulls, "exact statistics count the nulls of {name}"),
        Known::Bound(n) => {
            assert!(n >= nulls, "a bound of {n} nulls in {name} is below the {nulls} there are");
        }
        Known::Absent => {}
    }
    if let Known::Exact(n) = stats.values {
        assert_eq!(n, rows - nulls, "exact statistics count the values of {name}");
    }
    let matching = |op, value: &Scalar| {
        Predicate::compare(name, op, value.clone()).filter(all).map_or(0, |batch| batch.num_rows())
    };
    for (known, outside) in [(&stats.min, Comparison::Lt), (&stats.max, Comparison::Gt)] {
        if let Some(value) = known.value() {
            assert_eq!(matching(outside, value), 0, "{name}: there are values outside the statistic {value}");
        }
        if let (Some(value), true) = (known.exact(), nulls < rows) {
            assert!(matching(Comparison::Eq, value) > 0, "{name}: no value is the exact statistic {value}");
        }
    }
}

fn plans(table: &dyn Table) {
    let costs = || {
        let plan = table.plan(&Scan::all()).unwrap();
        assert!(plan.pruned <= plan.pieces, "no more is pruned than exists: {plan:?}");
        (plan.pieces, plan.pruned, plan.tasks.iter().map(|task| task.cost()).collect::<Vec<_>>())
    };
    assert_eq!(costs(), costs(), "plans are deterministic");
}

/// Conditions on the columns, around existing values.
fn predicates(all: &RecordBatch) -> Vec<Predicate> {
    let schema: std::sync::Arc<Schema> = all.schema();
    let mut simple = Vec::new();
    for (field, column) in schema.fields().iter().zip(all.columns()) {
        let name = field.name();
        simple.push(Predicate::IsNull { column: name.clone() });
        let rows = [0, all.num_rows() / 2, all.num_rows().saturating_sub(1)];
        let mut values: Vec<Scalar> = Vec::new();
        for value in rows.iter().filter_map(|row| scalar_at(column, *row)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        for value in &values {
            for op in [
                Comparison::Eq,
                Comparison::Ne,
                Comparison::Lt,
                Comparison::Le,
                Comparison::Gt,
                Comparison::Ge,
            ] {
                simple.push(Predicate::compare(name, op, value.clone()));
            }
        }
        if !values.is_empty() {
            simple.push(Predicate::In { column: name.clone(), values });
        }
    }
    let mut list = vec![Predicate::Always(true), Predicate::Always(false)];
    for (i, predicate) in simple.iter().enumerate() {
        let other = simple[(i * 7 + 3) % simple.len()].clone();
        match i % 3 {
            0 => list.push(Predicate::Not(Box::new(predicate.clone()))),
            1 => list.push(Predicate::And(vec![predicate.clone(), other])),
            _ => list.push(Predicate::Or(vec![predicate.clone(), other])),
        }
    }
    list.extend(simple);
    list
}

fn filtered(table: &dyn Table, driver: &Driver, all: &RecordBatch, predicate: &Predicate) {
    let Ok(want) = predicate.filter(all) else { return };
    let request = Scan::all().filter(predicate.clone());
    let got = read_all(table, &request, driver);
    assert_eq!(sorted_rows(&got), sorted_rows(&want), "the rows of: {predicate}");

    // The table's own result: all matching rows, and no others if pushdown is exact.
    let batches = driver.batches(table.storage(), table.plan(&request).unwrap(), Order::Plan);
    let mut own = Vec::new();
    for batch in batches {
        own.extend(rows_as_strings(&batch.unwrap()));
    }
    let own = counted(&own);
    for (row, count) in counted(&rows_as_strings(&want)) {
        assert!(own.get(&row).is_some_and(|n| *n >= count), "a matching row is missing: {predicate}: {row}");
    }
    if table.pushdown(predicate) == Pushdown::Exact {
        assert_eq!(own.values().sum::<usize>(), want.num_rows(), "pushdown is not exact: {predicate}");
    }

    // A condition on columns that are not requested.
    let schema = table.schema();
    if let Some(field) = schema.fields().iter().find(|f| !predicate.columns().contains(f.name().as_str())) {
        let request = Scan::all().columns([field.name()]).filter(predicate.clone()).limit(5);
        let got = read_all(table, &request, driver);
        assert_eq!(got.num_columns(), 1, "columns of the condition are not returned");
        assert_eq!(got.num_rows(), want.num_rows().min(5), "limit after condition: {predicate}");
    }
}

fn arrays(table: &dyn Table, driver: &Driver, all: &RecordBatch) {
    let listed = table.array_columns();
    for field in all.schema().fields() {
        let name = field.name();
        let Some(array) = table.array(name) else {
            assert!(!listed.contains(name), "{name}: a listed column has an array view");
            continue;
        };
        let (shape, origin) = (array.shape().to_vec(), array.origin());
        let rank = shape.len();
        assert!(
            array.tile_shape().len() == rank && array.axis_names().len() == rank && origin.len() == rank,
            "{name}: tiles, names and origin have the rank of the array"
        );
        assert!(array.tile_shape().iter().all(|n| *n > 0), "{name}: tiles have at least one cell");
        // The whole array, the second half of each axis, and every second position.
        let axes = |from: &dyn Fn(u64) -> u64, step| {
            let axis = |(extent, first): (&u64, &i128)| AxisSelection::Range {
                start: Some(first + i128::from(from(*extent))),
                stop: None,
                step,
            };
            Selection { axes: shape.iter().zip(&origin).map(axis).collect() }
        };
        for selection in [Selection::all(), axes(&|n| n / 2, 1), axes(&|_| 0, 2)] {
            let region = selection.resolve(&origin, &shape).unwrap();
            let mut cells = vec![0; region.cells().unwrap() as usize * array.dtype().size()];
            read_region(&*array, &region, &mut cells, driver).unwrap();
            let rows = read_all(table, &Scan::all().columns([name]).select(selection.clone()), driver);
            if *field.data_type() == DataType::Boolean {
                // Every byte except 0 is true.
                for byte in &mut cells {
                    *byte = u8::from(*byte != 0);
                }
            }
            if let Some(stored) = little_endian(rows.column(0)) {
                assert!(stored == cells, "{name}: table and array differ for {selection:?}");
            }
        }
    }
}

/// The stored numbers of a column; `None` if dates that Arrow does not have are among them.
fn little_endian(array: &ArrayRef) -> Option<Vec<u8>> {
    use arrow_array::ArrowPrimitiveType;
    use arrow_buffer::ToByteSlice;
    fn bytes<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<u8> {
        let values = array.as_primitive::<T>().values();
        let (chunk, bytes) = (size_of::<T::Native>(), values.to_byte_slice());
        if cfg!(target_endian = "little") {
            return bytes.to_vec();
        }
        bytes.chunks(chunk).flat_map(|cell| cell.iter().rev().copied()).collect()
    }
    Some(match array.data_type() {
        DataType::Boolean => array.as_boolean().values().iter().map(u8::from).collect(),
        DataType::Date32 if array.null_count() > 0 => return None,
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().values().iter();
            days.flat_map(|day| i64::from(*day).to_le_bytes()).collect()
        }
        DataType::Timestamp(TimeUnit::Second, _) => bytes::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => bytes::<TimestampMillisecondType>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => bytes::<TimestampMicrosecondType>(array),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => bytes::<TimestampNanosecondType>(array),
        DataType::Duration(TimeUnit::Second) => bytes::<DurationSecondType>(array),
        DataType::Duration(TimeUnit::Millisecond) => bytes::<DurationMillisecondType>(array),
        DataType::Duration(TimeUnit::Microsecond) => bytes::<DurationMicrosecondType>(array),
        DataType::Duration(TimeUnit::Nanosecond) => bytes::<DurationNanosecondType>(array),
        DataType::Int8 => bytes::<Int8Type>(array),
        DataType::Int16 => bytes::<Int16Type>(array),
        DataType::Int32 => bytes::<Int32Type>(array),
        DataType::Int64 => bytes::<Int64Type>(array),
        DataType::UInt8 => bytes::<UInt8Type>(array),
        DataType::UInt16 => bytes::<UInt16Type>(array),
        DataType::UInt32 => bytes::<UInt32Type>(array),
        DataType::UInt64 => bytes::<UInt64Type>(array),
        DataType::Float16 => bytes::<Float16Type>(array),
        DataType::Float32 => bytes::<Float32Type>(array),
        _ => bytes::<Float64Type>(array),
    })
}

/// The value of a row, for types that conditions support.
fn scalar_at(array: &ArrayRef, row: usize) -> Option<Scalar> {
    if row >= array.len() || array.is_null(row) {
        return None;
    }
    macro_rules! primitive {
        ($type:ty) => {
            Scalar::from(array.as_primitive::<$type>().value(row))
        };
    }
    Some(match array.data_type() {
        DataType::Boolean => Scalar::Bool(array.as_boolean().value(row)),
        DataType::Int8 => primitive!(Int8Type),
        DataType::Int16 => primitive!(Int16Type),
        DataType::Int32 => primitive!(Int32Type),
        DataType::Int64 => primitive!(Int64Type),
        DataType::UInt8 => primitive!(UInt8Type),
        DataType::UInt16 => primitive!(UInt16Type),
        DataType::UInt32 => primitive!(UInt32Type),
        DataType::UInt64 => primitive!(UInt64Type),
        DataType::Float32 => primitive!(Float32Type),
        DataType::Float64 => primitive!(Float64Type),
        DataType::Timestamp(TimeUnit::Second, _) => primitive!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => primitive!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => primitive!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => primitive!(TimestampNanosecondType),
        DataType::Date32 => primitive!(Date32Type),
        DataType::Utf8 => Scalar::String(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Scalar::String(array.as_string::<i64>().value(row).to_owned()),
        DataType::Binary => Scalar::Bytes(array.as_binary::<i32>().value(row).to_owned()),
        _ => return None,
    })
}
