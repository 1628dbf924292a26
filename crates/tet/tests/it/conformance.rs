//! The conformance suites of every format: tables, sinks, interrupted writes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{crash_conformance, sink_conformance};
use tesselle_core::{Location, Settings, WriteOptions};
use tesselle_tet::Tet;

use crate::golden::driver;

/// A grid of 12 x 10 cells in row-major order, in three batches.
fn batches() -> Vec<RecordBatch> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("y", DataType::Int64, false),
        Field::new("x", DataType::Int64, false),
        Field::new("value", DataType::Float32, false),
    ]));
    let part = |cells: std::ops::Range<i64>| {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(cells.clone().map(|i| i / 10))),
            Arc::new(Int64Array::from_iter_values(cells.clone().map(|i| i % 10))),
            Arc::new(Float32Array::from_iter_values(cells.map(|i| i as f32 / 4.0))),
        ];
        RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
    };
    vec![part(0..50), part(50..51), part(51..120)]
}

const RAW: &[&str] = &["axes=y,x", "shape=12,10", "chunk=5,4"];
const PACKED: &[&str] = &["axes=y,x", "shape=12,10", "chunk=5,4", "codec=zstd", "footer=v2"];
/// The first extent shows only at the end.
const OPEN: &[&str] = &["axes=y,x", "chunk=5,4", "order=any"];

fn options(pairs: &[&str]) -> WriteOptions {
    WriteOptions::default().with_settings(Settings::from_pairs(pairs).unwrap())
}

#[test]
fn files_follow_the_rules_of_sinks_and_tables() {
    for settings in [RAW, PACKED, OPEN] {
        let target = Location::new(Arc::new(MemoryStorage::new()), "folder/x.tet");
        sink_conformance(&Tet, &target, &batches(), &options(settings), &driver());
    }
}

#[test]
fn a_stopped_write_leaves_the_old_state_or_the_new() {
    for settings in [RAW, PACKED, OPEN] {
        let operations = crash_conformance(&Tet, &batches(), &options(settings), &driver());
        assert!(operations > 3, "{operations}");
    }
}
