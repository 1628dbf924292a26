//! Plans show what was pruned, and metadata answers what it can.

use std::sync::Arc;

use arrow_array::Int64Array;
use tesselle_sql::Session;

use crate::support;

fn plan(session: &Session, sql: &str) -> String {
    let rows = support::rows(session, sql).unwrap();
    rows.join("\n")
}

/// The number after `name=`; large ones are written as `1.25 K`.
fn number(plan: &str, name: &str) -> u64 {
    let at = plan.find(&format!("{name}=")).unwrap_or_else(|| panic!("no {name} in {plan}"));
    let text = plan[at + name.len() + 1..].split([',', ']', '\n']).next().unwrap_or_default();
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    let factor = match unit {
        "K" => 1e3,
        "M" => 1e6,
        _ => 1.0,
    };
    let number = digits.parse::<f64>().unwrap_or_else(|_| panic!("no number after {name} in {plan}"));
    (number * factor) as u64
}

#[test]
fn explain_shows_pruning() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    for (from, condition) in [
        ("grid.tet", "y < 5 AND x < 7"),
        ("raster.tiledb", "y < 6 AND x = 3"),
        ("points.tiledb", "id BETWEEN 30 AND 60"),
        ("plant.tsfile", "time < TIMESTAMP '2023-11-14T22:14:00'"),
        ("aligned.tsfile", "time < TIMESTAMP '2023-11-14T22:14:00'"),
        ("mixed.tatami", "id = 33"),
    ] {
        let sql = format!("EXPLAIN SELECT * FROM '{root}/{from}' WHERE {condition}");
        let plan = plan(&session, &sql);
        let (chunks, pruned, read) =
            (number(&plan, "chunks"), number(&plan, "pruned"), number(&plan, "read"));
        assert!(pruned > 0 && read > 0, "{from}: {plan}");
        assert_eq!(chunks, pruned + read, "{from}: {plan}");
        let all = self::plan(&session, &format!("EXPLAIN SELECT * FROM '{root}/{from}'"));
        assert_eq!(number(&all, "pruned"), 0, "{from}: {all}");
    }
}

#[test]
fn explain_analyze_counts_requests_and_bytes() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    for from in ["grid.tet", "raster.tiledb", "points.tiledb", "plant.tsfile", "mixed.tatami"] {
        let plan = plan(&session, &format!("EXPLAIN ANALYZE SELECT * FROM '{root}/{from}'"));
        for name in ["chunks_read", "requests", "bytes_fetched", "bytes_decoded", "output_rows"] {
            assert!(number(&plan, name) > 0, "{from}: {plan}");
        }
    }
}

#[test]
fn counts_and_bounds_come_from_metadata_where_it_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    let steps = Int64Array::from_iter_values((0..400).map(|i| i * 7 % 400));
    let grid = support::grid(20).project(&[0, 1]).unwrap();
    let (y, x) = (Arc::clone(grid.column(0)), Arc::clone(grid.column(1)));
    let steps = support::batch(vec![("y", y, false), ("x", x, false), ("value", Arc::new(steps), false)]);
    support::write(&folder.path().join("steps.tet"), "tet", None, &["chunk=5,7", "footer=v2"], &steps);
    for (from, asked) in [
        ("grid.tet", "count(*), min(y), max(x)"),
        ("raster.tiledb", "count(*), min(y), max(x)"),
        ("points.tiledb", "count(*), min(id), max(id), min(small), max(single), count(small), max(at)"),
        ("steps.tet", "min(value), max(value)"),
        ("aligned.tsfile", "count(*), min(time), max(time)"),
        // The number of rows of several series together is unknown.
        (
            "plant.tsfile",
            "min(time), max(time), count(small), min(small), max(small), count(ratio), max(single)",
        ),
        ("mixed.tatami", "count(*), min(id), max(id), count(word), max(at)"),
        ("days", "count(*), max(y)"),
    ] {
        let plan = plan(&session, &format!("EXPLAIN SELECT {asked} FROM '{root}/{from}'"));
        assert!(!plan.contains("TesselleScan"), "{from} is read for {asked}: {plan}");
    }
    // A filter requires reading.
    let plan = plan(&session, &format!("EXPLAIN SELECT count(*) FROM '{root}/mixed.tatami' WHERE small > 3"));
    assert!(plan.contains("TesselleScan"), "{plan}");
}

#[test]
fn sums_of_integers_come_from_the_statistics_of_tiles() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let dense = ["kind=dense", "dims=y,x", "domain.y=0:19", "domain.x=0:19", "extent=5"];
    support::write(&folder.path().join("whole.tiledb"), "tiledb", None, &dense, &support::raster(20));
    let limits = Int64Array::from(vec![i64::MAX, 1, i64::MIN, i64::MAX]);
    let limits = support::batch(vec![
        ("id", Arc::new(Int64Array::from(vec![0, 1, 2, 3])), false),
        ("v", Arc::new(limits), false),
        ("none", Arc::new(Int64Array::from(vec![None; 4])), true),
    ]);
    support::write(&folder.path().join("limits.tiledb"), "tiledb", None, &["dims=id", "capacity=2"], &limits);
    let (session, plain) = (support::session(true), support::session(false));
    for (from, asked, answered) in [
        ("whole.tiledb", "sum(rain), count(rain), min(rain)", true),
        ("points.tiledb", "sum(small)", true),
        ("points.tiledb", "sum(small), max(small), count(*)", true),
        // Tiles that reach outside the domain, floats, distinct values, sums that overflowed, and no values at all.
        ("raster.tiledb", "sum(rain)", false),
        ("points.tiledb", "sum(single)", false),
        ("points.tiledb", "sum(DISTINCT small)", false),
        ("limits.tiledb", "sum(none)", false),
        ("mixed.tatami", "sum(small)", false),
    ] {
        let sql = format!("SELECT {asked} FROM '{root}/{from}'");
        let plan = plan(&session, &format!("EXPLAIN {sql}"));
        assert_eq!(!plan.contains("TesselleScan"), answered, "{from}, {asked}: {plan}");
        let rows = |session| support::rows(session, &sql).unwrap();
        assert_eq!(rows(&session), rows(&plain), "{from}, {asked}");
    }
    let plan = plan(&session, &format!("EXPLAIN SELECT sum(v) FROM '{root}/limits.tiledb'"));
    assert!(plan.contains("TesselleScan"), "{plan}");
}

#[test]
fn conditions_on_whole_tiles_are_answered_from_their_statistics() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let dense = ["kind=dense", "dims=y,x", "domain.y=0:19", "domain.x=0:19", "extent=5"];
    support::write(&folder.path().join("whole.tiledb"), "tiledb", None, &dense, &support::raster(20));
    let (session, plain) = (support::session(true), support::session(false));
    for (from, asked, condition, answered) in [
        ("whole.tiledb", "sum(rain), count(rain), min(rain), max(rain), count(*)", "y < 5", true),
        ("whole.tiledb", "sum(rain), min(y), max(y), count(x)", "y BETWEEN 5 AND 14 AND x >= 10", true),
        ("whole.tiledb", "count(*)", "y < 5 OR NOT x < 15", true),
        ("whole.tiledb", "count(*), count(rain), min(rain)", "y < 0", true),
        ("whole.tiledb", "sum(rain)", "y < 6", false),
        ("whole.tiledb", "sum(rain)", "y < 5 AND x = 3", false),
        ("whole.tiledb", "count(*)", "y < 5 AND kind = 'stone'", false),
        ("whole.tiledb", "sum(rain)", "y < 5 AND abs(x) < 9", false),
        ("points.tiledb", "sum(small), count(*), max(id)", "id < 190", true),
        ("points.tiledb", "sum(small), count(*)", "id < 70", false),
        ("raster.tiledb", "count(*)", "y < 6", false),
    ] {
        let sql = format!("SELECT {asked} FROM '{root}/{from}' WHERE {condition}");
        let plan = plan(&session, &format!("EXPLAIN {sql}"));
        assert_eq!(!plan.contains("TesselleScan"), answered, "{from}, {asked}, {condition}: {plan}");
        let rows = |session| support::rows(session, &sql).unwrap();
        assert_eq!(rows(&session), rows(&plain), "{from}, {asked}, {condition}");
    }
    // A limit takes fewer rows, a group more than one answer.
    for sql in [
        "SELECT sum(rain) FROM (SELECT rain FROM '{}' WHERE y < 5 LIMIT 7)",
        "SELECT sum(rain) FROM '{}' WHERE y < 5 GROUP BY x",
    ] {
        let sql = sql.replace("{}", &format!("{root}/whole.tiledb"));
        assert!(plan(&session, &format!("EXPLAIN {sql}")).contains("TesselleScan"), "{sql}");
        assert_eq!(support::rows(&session, &sql).unwrap(), support::rows(&plain, &sql).unwrap(), "{sql}");
    }
}

#[test]
fn tables_that_are_sorted_are_not_sorted_again() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    for (from, key) in [("grid.tet", "y, x"), ("raster.tiledb", "y, x"), ("plant.tsfile", "time")] {
        let plan = plan(&session, &format!("EXPLAIN SELECT * FROM '{root}/{from}' ORDER BY {key}"));
        assert!(!plan.contains("SortExec"), "{from}: {plan}");
    }
    let plan = plan(&session, &format!("EXPLAIN SELECT * FROM '{root}/points.tiledb' ORDER BY id"));
    assert!(plan.contains("SortExec"), "{plan}");
}

#[test]
fn a_limit_reads_only_the_first_chunks() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    let read = |sql: &str| number(&plan(&session, sql), "bytes_fetched");
    for from in ["mixed.tatami", "days"] {
        let all = read(&format!("EXPLAIN ANALYZE SELECT * FROM '{root}/{from}'"));
        let few = read(&format!("EXPLAIN ANALYZE SELECT * FROM '{root}/{from}' LIMIT 3"));
        assert!(few < all, "{from}: {few} of {all} bytes");
    }
}
