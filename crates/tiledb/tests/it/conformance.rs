//! The conformance suites of every format: tables, sinks, interrupted writes.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, DurationSecondArray, Float64Array, Int32Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{crash_conformance, sink_conformance};
use tesselle_core::{Location, Settings, WriteOptions};
use tesselle_tiledb::TileDb;

use crate::support;

/// A grid of 12 x 10 cells in row-major order, in three batches.
fn batches() -> Vec<RecordBatch> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("y", DataType::Int32, false),
        Field::new("x", DataType::Int32, false),
        Field::new("height", DataType::Float64, true),
        Field::new("name", DataType::Utf8, false),
        Field::new("flag", DataType::Boolean, false),
        Field::new("at", DataType::Timestamp(TimeUnit::Millisecond, None), false),
        Field::new("took", DataType::Duration(TimeUnit::Second), false),
    ]));
    let part = |cells: std::ops::Range<i32>| {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_iter_values(cells.clone().map(|i| i / 10))),
            Arc::new(Int32Array::from_iter_values(cells.clone().map(|i| i % 10))),
            Arc::new(
                cells.clone().map(|i| (i % 7 != 0).then(|| f64::from(i) / 4.0)).collect::<Float64Array>(),
            ),
            Arc::new(StringArray::from_iter_values(cells.clone().map(|i| "n".repeat(i as usize % 5)))),
            Arc::new(cells.clone().map(|i| Some(i % 3 == 0)).collect::<BooleanArray>()),
            Arc::new(TimestampMillisecondArray::from_iter_values(cells.clone().map(i64::from))),
            Arc::new(DurationSecondArray::from_iter_values(cells.map(i64::from))),
        ];
        RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
    };
    vec![part(0..50), part(50..51), part(51..120)]
}

const SPARSE: &[&str] =
    &["kind=sparse", "dims=y,x", "domain.y=0:11", "domain.x=0:9", "extent=4", "capacity=9", "filters=zstd"];
const DENSE: &[&str] = &["kind=dense", "dims=y,x", "domain.y=0:11", "domain.x=0:9", "extent=5"];
/// Without dimensions rows have numbers.
const ROWS: &[&str] = &["extent=32"];

fn options(pairs: &[&str]) -> WriteOptions {
    WriteOptions::default().with_settings(Settings::from_pairs(pairs).unwrap())
}

#[test]
fn arrays_follow_the_rules_of_sinks_and_tables() {
    for settings in [SPARSE, DENSE, ROWS] {
        let target = Location::new(Arc::new(MemoryStorage::new()), "folder/array");
        sink_conformance(&TileDb, &target, &batches(), &options(settings), &support::driver());
    }
    let folder = tempfile::tempdir().unwrap();
    let target = Location::local(folder.path().join("array")).unwrap();
    sink_conformance(&TileDb, &target, &batches(), &options(SPARSE), &support::driver());
}

#[test]
fn a_stopped_write_leaves_the_old_state_or_the_new() {
    for settings in [SPARSE, DENSE, ROWS] {
        let operations = crash_conformance(&TileDb, &batches(), &options(settings), &support::driver());
        assert!(operations > 20, "{operations}");
    }
}
