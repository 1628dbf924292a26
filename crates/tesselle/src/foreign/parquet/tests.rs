use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use tesselle_core::driver::{Order, scan};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{
    Driver, DriverOptions, ErrorKind, Known, Location, Predicate, RunStats, Scalar, Scan, Table,
};

use super::ParquetTable;

/// Rows in groups of `group` and pages of `page` rows, with bloom filters on request.
fn table(batch: &RecordBatch, group: usize, page: usize, bloom: bool) -> ParquetTable {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(page)
        .set_write_batch_size(page)
        .set_dictionary_enabled(false)
        .set_bloom_filter_enabled(bloom)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    let bytes = writer.into_inner().unwrap();
    let storage = Arc::new(MemoryStorage::new());
    let location = Location::new(storage, "x.parquet");
    let mut staged = location.create(false).unwrap();
    staged.write(&bytes).unwrap();
    staged.commit().unwrap();
    ParquetTable::open(&location).unwrap()
}

fn numbers(rows: i64) -> RecordBatch {
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let name: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..rows).map(|i| format!("n{}", i * 7919 % rows))));
    let x: ArrayRef = Arc::new(
        (0..rows)
            .map(|i| match i % 10 {
                0 => None,
                1 => Some(f64::NAN),
                _ => Some(i as f64 / 2.0),
            })
            .collect::<Float64Array>(),
    );
    RecordBatch::try_from_iter([("id", id), ("name", name), ("x", x)]).unwrap()
}

fn run(table: &ParquetTable, wanted: &Scan) -> (Vec<RecordBatch>, RunStats) {
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let mut rows = scan(table, wanted, &driver, Order::Plan).unwrap();
    let batches = rows.by_ref().map(Result::unwrap).collect::<Vec<_>>();
    (batches, rows.stats())
}

fn ids(batches: &[RecordBatch]) -> Vec<i64> {
    let column = |batch: &RecordBatch| {
        let at = batch.schema().index_of("id").unwrap();
        batch.column(at).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec()
    };
    batches.iter().flat_map(column).collect()
}

#[test]
fn row_groups_are_pruned_by_statistics() {
    let table = table(&numbers(1000), 100, 10, false);
    let wanted = Scan::all().filter("id BETWEEN 250 AND 260".parse().unwrap());
    let (batches, stats) = run(&table, &wanted);
    assert_eq!(ids(&batches), (250..=260).collect::<Vec<_>>());
    assert_eq!((stats.pieces, stats.pruned), (10, 9));
}

#[test]
fn pages_are_pruned_by_the_page_index() {
    let table = table(&numbers(1000), 1000, 10, false);
    let (_, all) = run(&table, &Scan::all());
    let (batches, few) = run(&table, &Scan::all().filter("id = 555".parse().unwrap()));
    assert_eq!(ids(&batches), [555]);
    assert!(few.bytes_fetched * 10 < all.bytes_fetched, "{} of {}", few.bytes_fetched, all.bytes_fetched);
}

#[test]
fn row_groups_are_pruned_by_bloom_filters() {
    let batch = numbers(1000);
    let (with, without) = (table(&batch, 100, 100, true), table(&batch, 100, 100, false));
    // Inside the bounds of every row group, but in none of them.
    let wanted = Scan::all().filter("name = 'n500x'".parse().unwrap());
    let (batches, stats) = run(&with, &wanted);
    assert!(batches.is_empty());
    assert!(stats.bytes_decoded == 0, "{stats:?}");
    assert!(run(&without, &wanted).1.bytes_decoded > 0);
    let (batches, _) = run(&with, &Scan::all().filter("name IN ('n500', 'zzz')".parse().unwrap()));
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
}

#[test]
fn statistics_that_cannot_be_wrong_are_exact() {
    let table = table(&numbers(1000), 100, 10, false);
    let stats = table.stats_of(&["id", "name", "x"]);
    assert_eq!(stats.rows, Known::Exact(1000));
    assert_eq!(stats.columns["id"].max, Known::Exact(Scalar::Int(999)));
    assert_eq!(stats.columns["x"].nulls, Known::Exact(100));
    // NaN is above every number, and statistics exclude it.
    assert_eq!(stats.columns["x"].max, Known::Absent);
    assert_eq!(stats.columns["name"].min, Known::Absent);
}

#[test]
fn large_row_groups_are_split_between_tasks_at_their_pages() {
    let rows = 6_000_000;
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let batch = RecordBatch::try_from_iter([("id", id)]).unwrap();
    let table = table(&batch, 8_000_000, 70_000, false);
    let plan = table.plan(&Scan::all()).unwrap();
    let counts = plan.tasks.iter().map(|task| task.cost().rows).collect::<Vec<_>>();
    assert_eq!(counts, [2_030_000, 1_960_000, 2_010_000]);
    assert_eq!(ids(&run(&table, &Scan::all()).0), (0..rows).collect::<Vec<_>>());
}

#[test]
fn columns_come_in_the_requested_order() {
    let table = table(&numbers(10), 100, 10, false);
    let (batches, _) = run(&table, &Scan::all().columns(["x", "id"]));
    let names: Vec<String> = batches[0].schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["x", "id"]);
    let (batches, _) = run(&table, &Scan::all().columns(Vec::<String>::new()));
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
}

#[test]
fn a_schema_that_the_reader_panics_on_is_damage() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/bad-schema.parquet");
    let opened = ParquetTable::open(&Location::local(file).unwrap());
    assert_eq!(opened.err().unwrap().kind(), ErrorKind::Corrupt);
}

proptest! {
    #[test]
    fn pruning_loses_no_row(
        group in 1_usize..300, page in 1_usize..60, bloom: bool,
        low in -5_i64..520, high in -5_i64..520, name in 0_i64..520, shape in 0_usize..6,
    ) {
        let batch = numbers(500);
        let table = table(&batch, group, page, bloom);
        let text = match shape {
            0 => format!("id >= {low} AND id < {high}"),
            1 => format!("name = 'n{name}'"),
            2 => format!("x > {low} OR id = {high}"),
            3 => format!("NOT x < {low} AND name >= 'n{name}'"),
            4 => format!("x IS NULL AND id IN ({low}, {high}, {name})"),
            _ => format!("x > {low}"),
        };
        let predicate: Predicate = text.parse().unwrap();
        let expected = predicate.filter(&batch).unwrap();
        let (batches, _) = run(&table, &Scan::all().filter(predicate));
        prop_assert_eq!(ids(&batches), ids(&[expected]), "{}", text);
    }
}
