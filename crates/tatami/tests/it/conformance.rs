//! The conformance suites of all formats: tables, sinks, aborted writes.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{crash_conformance, sink_conformance, table_conformance};
use tesselle_core::{Location, OpenOptions, WriteOptions};
use tesselle_tatami::Tatami;

use crate::expected::{cases, driver, open};

fn batches() -> Vec<RecordBatch> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, false),
        Field::new("name", DataType::Utf8, true),
        Field::new("score", DataType::Float64, true),
        Field::new("ok", DataType::Boolean, false),
        Field::new("body", DataType::Binary, true),
    ]));
    let part = |from: i32, to: i32| {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_iter_values(from..to)),
            Arc::new(
                (from..to).map(|i| (i % 4 != 0).then(|| format!("name {}", i % 9))).collect::<StringArray>(),
            ),
            Arc::new((from..to).map(|i| (i % 5 != 0).then(|| f64::from(i) / 3.0)).collect::<Float64Array>()),
            Arc::new((from..to).map(|i| Some(i % 2 == 0)).collect::<BooleanArray>()),
            Arc::new(
                (from..to)
                    .map(|i| (i % 3 != 0).then(|| vec![i as u8; i as usize % 50]))
                    .collect::<BinaryArray>(),
            ),
        ];
        RecordBatch::try_new(schema.clone(), columns).unwrap()
    };
    vec![part(0, 70), part(70, 71), part(71, 200)]
}

fn options(pairs: &[(&str, &str)]) -> WriteOptions {
    let mut options = WriteOptions::default();
    for (name, value) in pairs {
        options.settings.set(*name, *value);
    }
    options
}

#[test]
fn files_pass_the_sink_and_table_conformance_suites() {
    let small = [("row_group_rows", "60"), ("page_rows", "25")];
    let indexed = [
        small.as_slice(),
        &[("sort_key", "id"), ("bloom", "name,score"), ("blob", "body"), ("blob_run_bytes", "300")],
    ]
    .concat();
    let extended = [indexed.as_slice(), &[("profile", "extended"), ("codec", "lz4")]].concat();
    for settings in [&[][..], &small, &indexed, &extended] {
        let target = Location::new(Arc::new(MemoryStorage::new()), "folder/x.tatami");
        sink_conformance(&Tatami, &target, &batches(), &options(settings), &driver());
    }
}

#[test]
fn an_aborted_write_leaves_the_old_state_or_the_new() {
    let settings = [
        ("row_group_rows", "60"),
        ("sort_key", "id"),
        ("blob", "body"),
        ("blob_run_bytes", "300"),
        ("blob_buffer_bytes", "1000"),
    ];
    let operations = crash_conformance(&Tatami, &batches(), &options(&settings), &driver());
    assert!(operations > 20, "{operations}");
}

#[test]
fn tables_of_the_original_pass_the_conformance_suite() {
    let options = OpenOptions::default().with_text_as_binary(true);
    let driver = driver();
    for (folder, expected) in cases() {
        for (name, layout) in expected["layout"].as_object().unwrap() {
            // Every check rereads the whole table: the small files are enough.
            if layout["header"]["row_count"].as_u64().unwrap() > 100 {
                continue;
            }
            let table = open(&folder.join(name), &options).unwrap().default_table().unwrap();
            table_conformance(table.as_ref(), &driver);
        }
    }
}
