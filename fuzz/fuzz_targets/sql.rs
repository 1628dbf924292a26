//! Any string, taken for SQL: parsed and planned against small tables, never run.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tesselle_core::ErrorKind;
use tesselle_sql::{Session, SessionOptions};

static SESSION: LazyLock<Session> = LazyLock::new(|| {
    let options =
        SessionOptions { threads: Some(1), memory: Some(64 << 20), ..SessionOptions::default() };
    let session = Session::new(&options).unwrap();
    for table in ["a.tatami", "b.tet", "c.tsfile", "d.csv"] {
        let file = format!("{}/seeds/tables/{table}", env!("CARGO_MANIFEST_DIR"));
        session.register(&table[..1], &file).unwrap();
    }
    session
});

fuzz_target!(|text: &str| {
    // EXPLAIN plans a statement; with ANALYZE it would run it, and a second statement would be run as well.
    let explained = format!("EXPLAIN {text}");
    let is_run = text.to_ascii_lowercase().contains("analy") || text.contains(';');
    if is_run || !SESSION.parse(&explained).is_ok_and(|statements| statements.len() == 1) {
        return;
    }
    let answer = SESSION.query(&explained).and_then(|answer| answer.collect::<Result<Vec<_>, _>>());
    if let Err(error) = answer {
        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    }
});
