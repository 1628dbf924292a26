//! The first rows by a column that is not the order of the rows.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int32Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    TimestampMillisecondArray,
};
use datafusion::arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use tesselle_sql::{Session, SessionOptions};

use crate::support::{self, Random};

/// Writes a Parquet file of small row groups and pages.
fn write_parquet(path: &Path, rows: &RecordBatch, group: usize, page: usize) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(page)
        .set_write_batch_size(page)
        .build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
}

/// Writes the same rows in other formats, with small chunks.
fn copy_to(folder: &Path, others: &[(&str, &str)]) {
    let root = folder.to_str().unwrap();
    let session = support::session(true);
    for (target, options) in others {
        // Dense arrays store no decimals.
        let columns = if options.contains("'dense'") { "* EXCEPT (price)" } else { "*" };
        let sql =
            format!("COPY (SELECT {columns} FROM '{root}/rows.parquet') TO '{root}/{target}' {options}");
        support::rows(&session, &sql).unwrap();
    }
}

const OTHERS: [(&str, &str); 4] = [
    ("rows.tatami", "STORED AS TATAMI OPTIONS ('row_group_rows' '150', 'page_rows' '50', 'sort_key' 'id')"),
    ("points.tdb", "STORED AS TILEDB OPTIONS ('kind' 'sparse', 'dims' 'id', 'capacity' '40')"),
    (
        "cells.tdb",
        "STORED AS TILEDB OPTIONS ('kind' 'dense', 'dims' 'id', 'domain.id' '0:999', 'extent' '64')",
    ),
    ("rows.arrow", "STORED AS ARROW"),
];

/// Numbered rows whose other columns have ties, nulls and, if asked for, NaNs of both signs.
fn tied(rows: usize, seed: u64, has_nan: bool) -> RecordBatch {
    let mut random = Random(seed);
    let (mut ratio, mut small, mut word) = (Float64Builder::new(), Int32Builder::new(), StringBuilder::new());
    let mut single = Vec::new();
    for i in 0..rows {
        let float = |random: &mut Random| match random.below(60) {
            0 if has_nan => f64::NAN,
            1 if has_nan => -f64::NAN,
            2 => -0.0,
            3 => 0.0,
            4 => f64::NEG_INFINITY,
            n => n as f64 / 4.0 - 3.0 + (i / 100) as f64,
        };
        ratio.append_option((random.below(30) > 0).then(|| float(&mut random)));
        single.push(float(&mut random) as f32);
        small.append_option((random.below(30) > 0).then(|| random.below(20) as i32 - (i / 200) as i32));
        word.append_option((random.below(30) > 0).then(|| format!("w{}", random.below(40))));
    }
    let day = Date32Array::from_iter_values((0..rows).map(|i| (i * 37 % 50) as i32 - 20));
    let price = Decimal128Array::from_iter_values((0..rows).map(|i| (i * 13 % 90) as i128 - 30));
    let at = TimestampMillisecondArray::from_iter_values((0..rows).map(|i| (i / 7 * 1000) as i64));
    support::batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..rows as i64)), false),
        ("ratio", Arc::new(ratio.finish()), true),
        ("single", Arc::new(Float32Array::from(single)), false),
        ("small", Arc::new(small.finish()), true),
        ("word", Arc::new(word.finish()), true),
        ("day", Arc::new(day), false),
        ("price", Arc::new(price.with_precision_and_scale(9, 2).unwrap()), false),
        ("at", Arc::new(at), false),
    ])
}

/// A column to sort by: its name, whether it descends, whether nulls come first.
type Key = (&'static str, bool, bool);

fn keys() -> impl Strategy<Value = Vec<Key>> {
    let name = prop::sample::select(&["ratio", "single", "small", "word", "day", "price", "at"][..]);
    prop::collection::vec((name, any::<bool>(), any::<bool>()), 1..4)
}

/// The ids of the rows in this order.
fn sorted(rows: &RecordBatch, keys: &[Key]) -> Vec<i64> {
    let column = |(name, descending, nulls_first): &Key| SortColumn {
        values: Arc::clone(rows.column_by_name(name).unwrap()),
        options: Some(SortOptions { descending: *descending, nulls_first: *nulls_first }),
    };
    let mut columns: Vec<SortColumn> = keys.iter().map(column).collect();
    columns.push(column(&("id", false, false)));
    let order = lexsort_to_indices(&columns, None).unwrap();
    let ids = take(rows.column_by_name("id").unwrap(), &order, None).unwrap();
    ids.as_primitive::<Int64Type>().values().to_vec()
}

fn ids(session: &Session, sql: &str) -> Vec<i64> {
    let batches: Vec<RecordBatch> = session.query(sql).unwrap().map(Result::unwrap).collect();
    let column = |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
    batches.iter().flat_map(column).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if support::is_thorough() { 300 } else { 12 }, ..ProptestConfig::default()
    })]

    #[test]
    fn the_first_rows_are_those_of_the_sorted_table(
        seed in any::<u64>(),
        has_nan in any::<bool>(),
        group in prop::sample::select(&[70_usize, 400, 100_000][..]),
        orders in prop::collection::vec((keys(), 0_usize..40, 0_usize..30), 6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        // More than a few batches in one row group, so that what is learned within it counts.
        let rows = tied(if group > 1000 { 40_000 } else { 1_000 }, seed, has_nan);
        write_parquet(&folder.path().join("rows.parquet"), &rows, group, group.min(500) / 2);
        let mut files = vec!["rows.parquet"];
        if group < 1000 {
            copy_to(folder.path(), &OTHERS);
            files.extend(OTHERS.iter().map(|(name, _)| *name));
        }
        let session = support::session(true);
        for (keys, limit, offset) in &orders {
            let key = |(name, descending, first): &Key| format!(
                "{name} {} NULLS {}",
                if *descending { "DESC" } else { "ASC" },
                if *first { "FIRST" } else { "LAST" },
            );
            let order = keys.iter().map(key).collect::<Vec<_>>().join(", ");
            let want: Vec<i64> = sorted(&rows, keys).into_iter().skip(*offset).take(*limit).collect();
            let has_price = keys.iter().any(|(name, ..)| *name == "price");
            for file in files.iter().filter(|file| !has_price || **file != "cells.tdb") {
                let sql = format!("SELECT id, word FROM '{root}/{file}' ORDER BY {order}, id LIMIT {limit} OFFSET {offset}");
                prop_assert_eq!(ids(&session, &sql), want.clone(), "{}", sql);
                let sql = format!("SELECT id FROM '{root}/{file}' WHERE small % 2 = 0 ORDER BY {order}, id LIMIT {limit}");
                let small = rows.column_by_name("small").unwrap().as_primitive::<arrow_array::types::Int32Type>();
                let is_even = |id: &i64| small.iter().nth(*id as usize).flatten().is_some_and(|v| v % 2 == 0);
                let want: Vec<i64> = sorted(&rows, keys).into_iter().filter(is_even).take(*limit).collect();
                prop_assert_eq!(ids(&session, &sql), want, "{}", sql);
            }
        }
    }
}

/// Rows in the order of their times, with a speed of few values and a weight that takes most of the bytes.
fn drives(rows: usize, nan_at: Option<usize>) -> RecordBatch {
    let mut random = Random(3);
    let speed =
        (0..rows).map(|i| if Some(i) == nan_at { f32::NAN } else { (random.below(120) + 1) as f32 / 10.0 });
    let speed: ArrayRef = Arc::new(speed.collect::<Float32Array>());
    let weight = (0..rows).map(|i| (i as f64).sin()).collect::<Float64Array>();
    let rank = (0..rows as i32).map(|i| i.wrapping_mul(7919) % 1000).collect::<Int32Array>();
    support::batch(vec![
        (
            "time",
            Arc::new(TimestampMillisecondArray::from_iter_values((0..rows as i64).map(|i| i * 10))),
            false,
        ),
        ("rank", Arc::new(rank), false),
        ("weight", Arc::new(weight), false),
        ("speed", speed, false),
    ])
}

/// A counter of EXPLAIN ANALYZE of the scan.
fn counter(session: &Session, sql: &str, name: &str) -> u64 {
    let lines = support::rows(session, &format!("EXPLAIN ANALYZE {sql}")).unwrap().join("\n");
    let value = lines.split(&format!("{name}=")).nth(1).unwrap_or_else(|| panic!("{lines}"));
    let value: String = value.chars().take_while(|c| !matches!(c, ',' | ']')).collect();
    let (number, unit) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    let unit = match unit {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        other => panic!("unit {other}: {lines}"),
    };
    (number.parse::<f64>().unwrap() * unit) as u64
}

const ROWS: usize = 100_000;

fn drives_in(folder: &Path, nan_at: Option<usize>) {
    write_parquet(&folder.join("rows.parquet"), &drives(ROWS, nan_at), 10_000, 1_000);
    copy_to(
        folder,
        &[
            ("rows.tatami", "STORED AS TATAMI OPTIONS ('row_group_rows' '10000', 'page_rows' '1000')"),
            ("rows.tdb", "STORED AS TILEDB OPTIONS ('kind' 'sparse', 'dims' 'time', 'capacity' '1000')"),
            (
                "rows.tsfile",
                "STORED AS TSFILE OPTIONS ('device' 'root.d', 'page_points' '1000', 'group_bytes' '100000')",
            ),
        ],
    );
}

fn one_thread() -> Session {
    Session::try_new(&SessionOptions::default().with_threads(1)).unwrap()
}

#[test]
fn other_columns_are_read_only_where_the_bound_of_the_sort_lets_rows_pass() {
    let folder = tempfile::tempdir().unwrap();
    drives_in(folder.path(), None);
    let root = folder.path().to_str().unwrap();
    let session = one_thread();
    // Statistics show the bounds of ranks; those of speeds do not count NaNs, so that speeds are read everywhere.
    for (file, order, most) in [
        ("rows.parquet", "rank DESC NULLS LAST, time", 0.3),
        ("rows.parquet", "speed DESC NULLS LAST, time", 0.3),
        ("rows.parquet", "speed ASC, time", 0.3),
        ("rows.tatami", "rank DESC NULLS LAST, time", 0.6),
    ] {
        let from = format!("FROM '{root}/{file}'");
        let all = counter(&session, &format!("SELECT time, weight, speed {from}"), "bytes_fetched");
        let bytes = counter(
            &session,
            &format!("SELECT time, weight {from} ORDER BY {order} LIMIT 10"),
            "bytes_fetched",
        );
        assert!((bytes as f64) < all as f64 * most, "{file} by {order}: {bytes} of {all}");
    }
}

#[test]
fn a_single_nan_comes_first_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    drives_in(folder.path(), Some(77_777));
    let root = folder.path().to_str().unwrap();
    for file in ["rows.parquet", "rows.tdb", "rows.tsfile", "rows.tatami"] {
        let sql = format!("SELECT speed FROM '{root}/{file}' ORDER BY speed DESC NULLS LAST, time LIMIT 1");
        assert_eq!(support::rows(&one_thread(), &sql).unwrap(), ["NaN"], "{file}");
    }
}
