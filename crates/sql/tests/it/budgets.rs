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
    support::write_foreign(&folder.join("g.arrow"), &wide(5));
    support::write_foreign(&folder.join("h.csv"), &wide(6));
    support::write_foreign(&folder.join("i.jsonl"), &wide(7));
    support::write_foreign(&folder.join("j.npy"), &cells().project(&[1]).unwrap());
    let axis = ["axes=i", &format!("shape={ROWS}"), "chunk=3000"];
    support::write(&folder.join("k.zarr"), "zarr", None, &axis, &cells());
    let dense = ["kind=dense", "dims=i", &format!("domain.i=0:{}", ROWS - 1), "extent.i=3000"];
    support::write(&folder.join("l.tiledb"), "tiledb", None, &dense, &cells());
}

/// The result of a query, on a thread that may be abandoned.
fn answer(folder: &Path, sql: &str, threads: usize, memory: u64) -> tesselle::Result<Vec<String>> {
    let (done, ended) = channel();
    let sql = sql.replace('@', &format!("{}/", folder.display()));
    let shown = format!("{threads} threads, {memory} bytes: {sql}");
    std::thread::spawn(move || {
        let options = SessionOptions::default().with_threads(threads).with_memory(memory);
        let answer = Session::try_new(&options).and_then(|session| rows(&session, &sql));
        let _ = done.send(answer);
    });
    ended.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("the query does not end: {shown}"))
}

/// Tables with unique keys: what gives the key, a string, and the file.
const TABLES: [(&str, &str, &str); 12] = [
    ("key", "text", "a.tatami"),
    ("key", "text", "b.tatami"),
    ("key", "text", "c.tiledb"),
    ("key", "CAST(time AS VARCHAR)", "d.tsfile"),
    ("i", "CAST(value AS VARCHAR)", "e.tet"),
    ("key", "text", "f.parquet"),
    ("key", "text", "g.arrow"),
    ("key", "text", "h.csv"),
    ("key", "text", "i.jsonl"),
    ("i0", "CAST(value AS VARCHAR)", "j.npy"),
    ("i", "CAST(value AS VARCHAR)", "k.zarr"),
    ("i", "CAST(value AS VARCHAR)", "l.tiledb"),
];

/// Random queries over the tables, which are scanned in turn.
struct Plans {
    random: Random,
    scans: usize,
}

impl Plans {
    fn scan(&mut self) -> String {
        let (key, text, file) = TABLES[self.scans % TABLES.len()];
        self.scans += 1;
        format!("SELECT {key} AS k, {text} AS t FROM '@{file}'")
    }

    /// A random query of the columns `k` and `t`. Its answer does not depend on the order of rows.
    fn plan(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.scan();
        }
        let first = self.plan(depth - 1);
        match self.random.below(7) {
            0 | 1 => {
                let second = self.plan(depth - 1);
                let kind = ["JOIN", "LEFT JOIN", "FULL JOIN"][self.random.below(3) as usize];
                format!("SELECT l.k AS k, r.t AS t FROM ({first}) l {kind} ({second}) r ON l.k = r.k")
            }
            2 => format!("{first} UNION ALL {}", self.scan()),
            3 => format!("SELECT * FROM ({first}) ORDER BY t, k LIMIT 30000"),
            4 => format!("SELECT max(k) AS k, t FROM ({first}) GROUP BY t"),
            5 => format!("SELECT DISTINCT k, t FROM ({first})"),
            _ => format!(
                "SELECT k, t FROM (SELECT k, t, row_number() OVER (PARTITION BY k % 100 ORDER BY t, k) AS n \
                 FROM ({first})) WHERE n < 200"
            ),
        }
    }

    /// A budget between 16 KiB and 64 MiB: each power of two is as likely as the others.
    fn budget(&mut self) -> u64 {
        let least = 1 << (14 + self.random.below(12));
        least + self.random.below(least)
    }
}

#[test]
fn random_plans_over_all_formats_end_under_any_budget() {
    let cases = if support::is_thorough() { 100 } else { 8 };
    let folder = tempfile::tempdir().unwrap();
    make_files(folder.path());
    let mut plans = Plans { random: Random(7), scans: 0 };
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..cases {
        let depth = 1 + plans.random.below(3) as u32;
        let sql =
            format!("SELECT count(*), sum(k), min(t), max(t) FROM ({}) AS everything", plans.plan(depth));
        let expected = answer(folder.path(), &sql, 2, 1 << 30).unwrap();
        for _ in 0..3 {
            let threads = [1, 2, 4][plans.random.below(3) as usize];
            let memory = plans.budget();
            match answer(folder.path(), &sql, threads, memory) {
                Ok(got) => {
                    assert_eq!(got, expected, "{sql}");
                    answered += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Limit, "{sql}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(plans.scans > TABLES.len(), "some tables were not scanned: {} scans", plans.scans);
    assert!(answered > 0 && refused > 0, "{answered} answered, {refused} refused");
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
    let (threads, budgets): (&[usize], &[u64]) = if support::is_thorough() {
        (&[1, 2, 4], &[1, 2, 3, 5, 8, 16, 40])
    } else {
        (&[1, 4], &[1, 3, 8, 40])
    };
    for sql in queries {
        let expected = answer(folder.path(), sql, 2, 1 << 30).unwrap();
        let mut answered = 0;
        for &threads in threads {
            for memory in budgets.iter().map(|mebibytes| mebibytes << 20) {
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

/// Joins that a merge of sorted inputs answers with little memory, in any order of threads.
#[test]
fn joins_of_five_tables_answer_within_a_small_budget() {
    let folder = tempfile::tempdir().unwrap();
    make_files(folder.path());
    let made = |text: &str| {
        format!(
            "SELECT count(*), max(a.t), max(b.t), max(p.t) FROM (SELECT value AS k, value % 1000 AS s, \
             value % 20000 AS p, value % 15000 AS c, {} AS t FROM generate_series(1, 100000)) a \
             JOIN (SELECT value AS k, {} AS t FROM generate_series(1, 100000)) b ON a.k = b.k \
             JOIN (SELECT value AS s, 'supp' || value AS t FROM generate_series(0, 999)) s ON a.s = s.s \
             JOIN (SELECT value AS p, {} AS t FROM generate_series(0, 19999)) p ON a.p = p.p \
             JOIN (SELECT value AS c, 'cust' || value AS t FROM generate_series(0, 14999)) c ON a.c = c.c",
            text.replace('@', "'comment number ' || value"),
            text.replace('@', "'order text ' || value"),
            text.replace('@', "'part with a long name ' || value"),
        )
    };
    let files = "SELECT count(*), max(a.text), max(f.text), max(g.text), sum(length(h.text)) FROM '@a.tatami' a \
                 JOIN '@f.parquet' f ON a.key = f.key JOIN '@c.tiledb' c ON f.key = c.key \
                 JOIN '@g.arrow' g ON g.key = c.key JOIN '@h.csv' h ON h.key = g.key";
    let repeats = if support::is_thorough() { 20 } else { 3 };
    // Views share buffers, which are counted for each batch that refers to them.
    for sql in [made("@"), made("arrow_cast(@, 'Utf8View')"), files.to_owned()] {
        let expected = answer(folder.path(), &sql, 2, 1 << 30).unwrap();
        for threads in [2, 4] {
            for _ in 0..repeats {
                let got = answer(folder.path(), &sql, threads, 32 << 20);
                assert_eq!(got.unwrap_or_else(|error| panic!("{threads} threads: {error}: {sql}")), expected);
            }
        }
    }
}
