//! Queries over several scans end under any budget: with a result, or with an error that states the missing resource.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use tesselle::ErrorKind;
use tesselle_sql::{Session, SessionOptions};

use crate::support::{self, Random, rows};

/// Far longer than any query takes: reached only by a query that never ends.
const WATCHDOG: Duration = Duration::from_mins(3);

const ROWS: usize = 40_000;

/// Rows with unordered keys, and strings that take memory.
fn wide(seed: u64) -> RecordBatch {
    let mut random = Random(seed);
    let key: ArrayRef =
        Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|i| i * 7919 % ROWS as i64)));
    let other: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|_| random.below(500) as i64)));
    let text: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..ROWS).map(|i| format!("a string of row number {i}"))));
    support::batch(vec![("key", key, false), ("other", other, false), ("text", text, false)])
}

fn timed() -> RecordBatch {
    let time = TimestampMillisecondArray::from_iter_values(0..ROWS as i64);
    let key = Int64Array::from_iter_values((0..ROWS as i64).map(|i| i * 31 % ROWS as i64));
    support::batch(vec![("time", Arc::new(time), false), ("key", Arc::new(key), true)])
}

fn cells() -> RecordBatch {
    let place = Int64Array::from_iter_values(0..ROWS as i64);
    let value = Float64Array::from_iter_values((0..ROWS).map(|i| i as f64 / 2.0));
    support::batch(vec![("i", Arc::new(place), false), ("value", Arc::new(value), false)])
}

fn make_files(folder: &Path) {
    support::write(&folder.join("a.tatami"), "tatami", None, &["row_group_rows=4000"], &wide(1));
    support::write(&folder.join("b.tatami"), "tatami", None, &["row_group_rows=3000"], &wide(2));
    support::write(&folder.join("c.tiledb"), "tiledb", None, &["dims=key", "capacity=2000"], &wide(3));
    support::write(&folder.join("d.tsfile"), "tsfile", Some("root.d"), &[], &timed());
    support::write(&folder.join("e.tet"), "tet", None, &[], &cells());
    support::write_foreign(&folder.join("f.parquet"), &wide(4));
}

/// The result of a query, on a thread that may be abandoned.
fn answer(folder: &Path, sql: &str, threads: usize, memory: u64) -> tesselle::Result<Vec<String>> {
    let (done, ended) = channel();
    let sql = sql.replace('@', &format!("{}/", folder.display()));
    let shown = format!("{threads} threads, {memory} bytes: {sql}");
    std::thread::spawn(move || {
        let options =
            SessionOptions { threads: Some(threads), memory: Some(memory), ..SessionOptions::default() };
        let answer = Session::new(&options).and_then(|session| rows(&session, &sql));
        let _ = done.send(answer);
    });
    ended.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("the query does not end: {shown}"))
}

#[test]
fn joins_of_all_formats_end_under_any_budget() {
    let folder = tempfile::tempdir().unwrap();
    make_files(folder.path());
    let queries = [
        // Both sides of the joins are repartitioned; groups and strings take memory.
        "SELECT count(*), sum(length(a.text) + length(b.text)) FROM '@a.tatami' a \
         JOIN '@b.tatami' b ON a.key = b.key JOIN '@f.parquet' f ON b.key = f.key",
        "SELECT count(*), max(c.text) FROM '@a.tatami' a JOIN '@c.tiledb' c ON a.key = c.key \
         JOIN '@d.tsfile' d ON d.key = c.key JOIN '@e.tet' e ON e.i = d.key",
        "SELECT count(*) FROM (SELECT text, count(*) AS n FROM '@a.tatami' GROUP BY text) a \
         JOIN (SELECT text, count(*) AS n FROM '@b.tatami' GROUP BY text) b ON a.text = b.text",
    ];
    for sql in queries {
        let expected = answer(folder.path(), sql, 2, 1 << 30).unwrap();
        let mut answered = 0;
        for threads in [1, 2, 4] {
            for memory in [1 << 20, 2 << 20, 3 << 20, 5 << 20, 8 << 20, 16 << 20, 40 << 20] {
                match answer(folder.path(), sql, threads, memory) {
                    Ok(got) => {
                        assert_eq!(got, expected, "{sql}");
                        answered += 1;
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Limit, "{error}"),
                }
            }
        }
        assert!(answered > 0, "{sql}");
    }
}
