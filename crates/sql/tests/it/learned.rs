//! Filters that a scan gets from the plan: those that no predicate expresses, and those that joins and sorts learn.

use std::sync::Arc;

use arrow_array::{Date32Array, Decimal128Array, Int64Array, RecordBatch, StringArray};
use tesselle_sql::Session;

use crate::support;

fn plan(session: &Session, sql: &str) -> String {
    support::rows(session, sql).unwrap().join("\n")
}

/// Rows of a fact table with keys of two others, dates and decimals, which tatami and TileDB store in types of their own.
fn facts(rows: i64) -> RecordBatch {
    let key = |factor: i64, below: i64| {
        Int64Array::from_iter((0..rows).map(|i| (i % 97 != 5).then_some(i * factor % below)))
    };
    let price =
        Decimal128Array::from_iter((0..rows).map(|i| (i % 53 != 7).then_some(i128::from(i * 37 % 1_000))));
    let day = Date32Array::from_iter((0..rows).map(|i| (i % 41 != 3).then_some((i / 3) as i32 - 200)));
    let name =
        StringArray::from_iter((0..rows).map(|i| (i % 31 != 2).then(|| format!("item {}", i * 7 % 50))));
    support::batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..rows)), false),
        ("shop", Arc::new(key(13, 200)), true),
        ("part", Arc::new(key(29, 60)), true),
        ("price", Arc::new(price.with_precision_and_scale(15, 2).unwrap()), true),
        ("day", Arc::new(day), true),
        ("name", Arc::new(name), true),
    ])
}

fn shops() -> RecordBatch {
    support::batch(vec![
        ("shop", Arc::new(Int64Array::from_iter((0..200).map(|i| (i % 50 != 9).then_some(i)))), true),
        (
            "city",
            Arc::new(StringArray::from_iter_values((0..200).map(|i| format!("city {}", i % 25)))),
            false,
        ),
    ])
}

const FACTS: [&str; 4] = ["facts.tatami", "facts.tdb", "facts.parquet", "facts.csv"];

/// The same rows in each format, converted from Parquet.
fn make(folder: &std::path::Path) {
    support::write_foreign(&folder.join("facts.parquet"), &facts(3_000));
    support::write_foreign(&folder.join("shops.parquet"), &shops());
    let root = folder.to_str().unwrap();
    let session = support::session(true);
    for (target, options) in [
        ("facts.tatami", "STORED AS TATAMI OPTIONS ('row_group_rows' '500', 'page_rows' '100')"),
        ("facts.tdb", "STORED AS TILEDB OPTIONS ('kind' 'sparse', 'dims' 'id', 'capacity' '100')"),
        ("facts.csv", "STORED AS CSV"),
    ] {
        let sql = format!("COPY (SELECT * FROM '{root}/facts.parquet') TO '{root}/{target}' {options}");
        support::rows(&session, &sql).unwrap();
    }
}

#[test]
fn every_filter_is_applied_while_the_rows_are_decoded() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    for condition in [
        "name LIKE '%9'",
        "shop + part = 100",
        "shop < part AND name <> 'item 7'",
        "day >= DATE '1970-01-05' AND day < DATE '1970-02-01'",
        "price BETWEEN 0.05 AND 0.07 OR name IN ('item 1', 'item 2')",
    ] {
        for from in ["facts.tatami", "facts.tdb"] {
            let plan = plan(&session, &format!("EXPLAIN SELECT id FROM '{root}/{from}' WHERE {condition}"));
            assert!(!plan.contains("FilterExec"), "{from}: {plan}");
            // Columns that only the filter needs are not passed on.
            assert!(plan.contains("columns=[id]"), "{from}: {plan}");
        }
        let plan = plan(&session, &format!("EXPLAIN SELECT id FROM '{root}/facts.csv' WHERE {condition}"));
        assert!(plan.contains("FilterExec"), "{plan}");
    }
}

#[test]
fn dates_and_decimals_prune_in_the_type_they_are_stored_in() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    let sql = format!("EXPLAIN SELECT id FROM '{root}/facts.tatami' WHERE day < DATE '1969-08-01'");
    let plan = plan(&session, &sql);
    assert!(plan.contains("pruned=") && !plan.contains("pruned=0"), "{plan}");
}

#[test]
fn joins_and_sorts_answer_the_same_with_what_they_learn_and_without() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let root = folder.path().to_str().unwrap();
    let (with, without) = (support::session(true), support::session(false));
    let mut learns = 0;
    for from in FACTS {
        for sql in [
            "SELECT f.id, s.city FROM f JOIN s ON f.shop = s.shop WHERE s.city = 'city 7'",
            "SELECT f.id, s.city FROM s JOIN f ON f.shop = s.shop WHERE s.city = 'city 7' AND f.day > DATE '1970-03-01'",
            "SELECT count(*), sum(f.part), max(f.price) FROM f JOIN s ON f.shop = s.shop",
            "SELECT f.id FROM f LEFT JOIN s ON f.shop = s.shop AND s.city = 'city 3' WHERE s.city IS NULL",
            "SELECT s.shop, f.id FROM s LEFT JOIN f ON f.shop = s.shop AND f.price > 9.5",
            "SELECT f.id FROM f WHERE f.shop IN (SELECT shop FROM s WHERE city = 'city 4')",
            "SELECT f.id FROM f WHERE f.shop NOT IN (SELECT shop FROM s WHERE city = 'city 4' AND shop IS NOT NULL)",
            "SELECT f.id FROM f WHERE f.shop NOT IN (SELECT shop FROM s WHERE city = 'city 9')",
            "SELECT a.id, b.id FROM f a JOIN f b ON a.shop = b.shop AND a.part = b.part WHERE a.price = 0.37",
            "SELECT f.id FROM f JOIN s ON f.shop = s.shop AND f.part < s.shop WHERE s.city = 'none'",
            "SELECT id, price FROM f ORDER BY price DESC NULLS LAST, id LIMIT 7",
            "SELECT id, name FROM f ORDER BY name, id LIMIT 7",
            "SELECT max(id), min(price) FROM f WHERE name LIKE '%3'",
            "SELECT count(*) FROM (SELECT * FROM f LIMIT 10) l JOIN s ON l.shop = s.shop",
        ] {
            let sql = sql.replace("FROM f", &format!("FROM '{root}/{from}' f"));
            let sql = sql.replace("f a JOIN f b", &format!("a JOIN '{root}/{from}' b")).replace(" f a", " a");
            let sql = sql.replace("JOIN f ", &format!("JOIN '{root}/{from}' f "));
            let sql = sql.replace("JOIN s ", &format!("JOIN '{root}/shops.parquet' s "));
            let sql = sql.replace("FROM s ", &format!("FROM '{root}/shops.parquet' s "));
            assert_eq!(support::rows(&with, &sql).unwrap(), support::rows(&without, &sql).unwrap(), "{sql}");
            learns += usize::from(plan(&with, &format!("EXPLAIN {sql}")).contains("learns="));
        }
    }
    assert!(learns > 20, "only {learns} scans learn from other operators");
}

#[test]
fn rows_that_a_join_cannot_match_are_not_decoded() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    for from in FACTS {
        let sql = format!(
            "EXPLAIN ANALYZE SELECT f.id, f.name FROM '{root}/shops.parquet' s JOIN '{root}/{from}' f ON f.shop = s.shop \
             WHERE s.city = 'city 7'"
        );
        let plan = plan(&session, &sql);
        let scan =
            plan.lines().find(|line| line.contains("learns=")).unwrap_or_else(|| panic!("{from}: {plan}"));
        let rows =
            scan.split("output_rows=").nth(1).and_then(|rest| rest.split([',', ' ', ']']).next()).unwrap();
        let rows: u64 = rows.parse().unwrap_or(u64::MAX);
        assert!(rows < 300, "{from}: {scan}");
    }
}
