//! Arrays from streams of rows, as conversions write them.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use serde_json::json;
use tesselle_core::{Driver, DriverOptions, Format as _, WriteOptions, WriteRequest, WriteTarget};
use tesselle_tiledb::TileDb;

use crate::data::{batch, batch_of, mix, nullable, numbers, various};
use crate::{Cases, Result};

fn write_stream(cases: &Cases, name: &str, rows: &RecordBatch, settings: &[(&str, &str)]) -> Result {
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(64 << 20))?;
    let mut options = WriteOptions::default();
    for (name, value) in settings {
        options.settings.set(*name, *value);
    }
    let target = WriteTarget::Location(cases.place(name)?);
    let mut sink = TileDb.start(WriteRequest::new(target, rows.schema(), options), &driver)?.sink;
    for start in (0..rows.num_rows()).step_by(70) {
        sink.write(&rows.slice(start, 70.min(rows.num_rows() - start)))?;
    }
    let summary = sink.finish()?;
    assert_eq!(summary.rows, rows.num_rows() as u64);
    Ok(())
}

pub(crate) fn write(cases: &mut Cases) -> Result {
    for (name, columns) in [
        ("stream_numbers", numbers(1000)),
        ("stream_various", various(500)),
        ("stream_nullable", nullable(500)),
        ("stream_short", nullable(3)),
    ] {
        let rows = batch_of(&columns)?;
        write_stream(cases, name, &rows, &[("extent", "64"), ("filters", "byteshuffle,zstd:5")])?;
        cases.expect(name, &rows, &json!({ "box": [[0, rows.num_rows() - 1]] }))?;
    }
    sparse(cases)?;
    grid(cases)
}

fn sparse(cases: &mut Cases) -> Result {
    let strings = |i: usize| format!("k{}", mix(i) % 100_000 * 1000 + i as u64);
    let words = ["red", "green", "blue"];
    let enumerated: DictionaryArray<Int32Type> =
        (0..400).map(|i| (i % 7 != 0).then(|| words[i % 3])).collect();
    let codes: Int32Array = (0..400).map(|i| (i % 7 != 0).then(|| [2, 0, 1][i % 3])).collect();
    let columns = |last: ArrayRef| {
        batch([
            ("s", Arc::new(StringArray::from_iter_values((0..400).map(strings))) as ArrayRef),
            ("x", Arc::new(Int64Array::from_iter_values((0..400).map(|i| mix(i) as i64 % 1000)))),
            ("a", Arc::new(Int32Array::from_iter_values(0..400))),
            ("w", last),
        ])
    };
    let rows = columns(Arc::new(enumerated))?;
    write_stream(cases, "stream_sparse", &rows, &[("dims", "x,s"), ("capacity", "50")])?;
    let lists = json!({ "w": ["green", "blue", "red"] });
    cases.expect("stream_sparse", &columns(Arc::new(codes.clone()))?, &json!({ "enumerations": lists }))?;
    let none = columns(Arc::new(codes.clone()))?.slice(0, 0);
    write_stream(cases, "stream_empty", &none, &[("dims", "x,s")])?;
    cases.expect("stream_empty", &none, &json!({ "fragments": 0 }))?;
    let hilbert = [
        ("dims", "x"),
        ("cell_order", "hilbert"),
        ("domain.x", "-2000:2000"),
        ("dups", "true"),
        ("filters.s", "rle,gzip"),
    ];
    write_stream(cases, "stream_hilbert", &rows, &hilbert)?;
    cases.expect("stream_hilbert", &columns(Arc::new(codes))?, &json!({}))
}

fn grid(cases: &mut Cases) -> Result {
    let cells = 30 * 20;
    let rows = batch([
        ("y", Arc::new(Int32Array::from_iter_values((0..cells).map(|i| i / 20))) as ArrayRef),
        ("x", Arc::new(Int32Array::from_iter_values((0..cells).map(|i| i % 20)))),
        ("a", Arc::new(Int32Array::from_iter_values(0..cells))),
    ])?;
    let settings = [
        ("kind", "dense"),
        ("dims", "y,x"),
        ("domain.y", "0:29"),
        ("domain.x", "0:19"),
        ("extent.y", "8"),
        ("extent.x", "6"),
    ];
    write_stream(cases, "stream_grid", &rows, &settings)?;
    let expected: ArrayRef = Arc::new(Int32Array::from_iter_values(0..cells));
    cases.expect("stream_grid", &batch([("a", expected)])?, &json!({ "box": [[0, 29], [0, 19]] }))
}
