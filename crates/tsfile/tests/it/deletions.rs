//! Deletions in the binary form of IoTDB 2, compared with the rows that the database itself returns.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::flips;
use tesselle_core::{Container, Depth, Driver, Format, Location, OpenOptions, Predicate, Report, Scan};
use tesselle_tsfile::TsFile;
use tesselle_tsfile::testing as mods2;

use crate::golden;
use crate::golden::{Plain, cell};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/iotdb-2.0.1");

/// Time, tags and fields of a row.
type Row = Vec<Option<Plain>>;

fn expected() -> serde_json::Map<String, Value> {
    let text = std::fs::read(format!("{FOLDER}/expected.json")).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap().as_object().unwrap().clone()
}

fn bytes_of(case: &Value) -> Vec<u8> {
    let hex = case["mods2"].as_str().unwrap();
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// The file with these deletions next to it, if any.
fn place(file: &str, mods2: &[u8]) -> Location {
    let storage = MemoryStorage::new();
    storage.put("d/f.tsfile", std::fs::read(format!("{FOLDER}/{file}")).unwrap());
    if !mods2.is_empty() {
        storage.put("d/f.tsfile.mods2", mods2.to_vec());
    }
    Location::new(Arc::new(storage), "d/f.tsfile")
}

fn open(location: &Location) -> tesselle_core::Result<Arc<dyn Container>> {
    TsFile.open(location, &OpenOptions::default())
}

fn is_set(digits: &Value, time: usize) -> bool {
    digits.as_str().unwrap().as_bytes()[time] == b'1'
}

fn check_device(name: &str, container: &dyn Container, device: &Value) {
    let segments: Vec<&str> =
        device["segments"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let path = segments.join(".");
    let (times, columns) = golden::read_device(container, &path);
    let series = device["series"].as_object().unwrap();
    let mut rows = BTreeSet::new();
    for (m, (measurement, digits)) in series.iter().enumerate() {
        let there = (0..40).filter(|t| is_set(digits, *t)).map(|t| t as i64);
        let want: Vec<(i64, Option<Plain>)> =
            there.map(|t| (t, Some(Plain::Int(100 * m as i64 + t)))).collect();
        rows.extend(want.iter().map(|(time, _)| *time));
        let found: Vec<_> = columns[measurement].clone().into_iter().collect();
        assert_eq!(found, want, "{name}: {path}.{measurement}");
    }
    // A row whose other columns were null before remains as one without values.
    assert!(rows.iter().all(|time| times.contains(time)), "{name}: {path}");
}

fn table_rows(devices: &[Value], table: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for device in devices.iter().filter(|d| d["segments"][0] == table) {
        let tag = |i: usize| device["segments"].get(i)?.as_str().map(|s| Plain::Bytes(s.into()));
        for time in (0..40).filter(|t| is_set(&device["rows"], *t)) {
            let field = |m: usize| {
                let digits = &device["series"][format!("f{}", m + 1)];
                is_set(digits, time).then_some(Plain::Int((100 * m + time) as i64))
            };
            let time = Some(Plain::Int(time as i64));
            rows.push(vec![time, tag(1), tag(2), field(0), field(1), field(2)]);
        }
    }
    rows.sort();
    rows
}

fn check_table(name: &str, container: &dyn Container, table: &str, want: &[Row], driver: &Driver) {
    let (schema, batches) = golden::rows_with(container, table, &Scan::all(), driver).unwrap();
    let mut got: Vec<Row> = Vec::new();
    for batch in &batches {
        got.extend((0..batch.num_rows()).map(|row| batch.columns().iter().map(|c| cell(c, row)).collect()));
    }
    got.sort();
    assert_eq!(got, want, "{name}: {table}");
    let stats = container.table(table).unwrap().stats();
    if let Some(rows) = stats.rows.exact() {
        assert_eq!(*rows, want.len() as u64, "{name}: {table}");
    }
    for (i, field) in schema.fields().iter().enumerate() {
        let Some(known) = stats.columns.get(field.name()) else { continue };
        let values = || want.iter().filter_map(|row| row[i].clone());
        for (bound, value) in [(known.min.exact(), values().min()), (known.max.exact(), values().max())] {
            if let (Some(tesselle_core::Scalar::Int(bound)), Some(Plain::Int(value))) = (bound, value) {
                assert_eq!(*bound, i128::from(value), "{name}: {table}.{}", field.name());
            }
        }
        if let Some(nulls) = known.nulls.exact() {
            assert_eq!(*nulls, (want.len() - values().count()) as u64, "{name}: {table}.{}", field.name());
        }
    }
}

fn check_conditions(
    name: &str,
    container: &dyn Container,
    table: &str,
    conditions: &[&str],
    driver: &Driver,
) {
    let (_, all) = golden::rows_with(container, table, &Scan::all(), driver).unwrap();
    for condition in conditions {
        let predicate: Predicate = condition.parse().unwrap();
        let want: usize = all.iter().map(|b| predicate.filter(b).unwrap().num_rows()).sum();
        let scan = Scan::all().filter(predicate);
        let (_, found) = golden::rows_with(container, table, &scan, driver).unwrap();
        let found: usize = found.iter().map(arrow_array::RecordBatch::num_rows).sum();
        assert_eq!(found, want, "{name}: {table}: {condition}");
    }
}

#[test]
fn remaining_rows_match_the_database() {
    let driver = golden::driver();
    let mut cases = 0;
    for (name, case) in expected().iter().filter(|(name, _)| *name != "torn") {
        let mods2 = bytes_of(case);
        let (deletions, torn) = mods2::parse_all(&mods2).unwrap();
        assert_eq!((deletions.len() as u64, torn), (case["deletions"].as_u64().unwrap(), None), "{name}");
        let mut written = Vec::new();
        deletions.iter().try_for_each(|deletion| mods2::write(deletion, &mut written)).unwrap();
        assert_eq!(mods2::parse_all(&written).unwrap().0, deletions, "{name}");
        let file = case["file"].as_str().unwrap();
        let location = place(file, &mods2);
        let container = open(&location).unwrap();
        let devices = case["devices"].as_array().unwrap();
        if file == "tree.tsfile" {
            for device in devices {
                check_device(name, &*container, device);
            }
            let conditions = ["s1 > 7 AND s1 < 30", "time > 12", "s1 IS NULL", "s2 >= 110 OR time = 3"];
            check_conditions(name, &*container, "root.sg.d1", &conditions, &driver);
            check_conditions(name, &*container, "root.sg.d2", &conditions, &driver);
        } else {
            for table in ["weather", "other"] {
                let want = table_rows(devices, table);
                check_table(name, &*container, table, &want, &driver);
                let conditions =
                    ["f1 > 7 AND f1 < 30", "time > 12 AND plant = 'b'", "f2 IS NULL", "region IS NULL"];
                check_conditions(name, &*container, table, &conditions, &driver);
            }
        }
        golden::check_aggregates(name, &location, &[(i64::MIN, i64::MAX), (0, 14), (9, 33)], &driver);
        container.describe().unwrap();
        cases += 1;
    }
    assert!(cases > 30);
}

/// The database reads up to the truncated deletion; at some offsets it parses the remainder as another
/// deletion, or fails. Here it is always ignored.
#[test]
fn a_truncated_deletion_is_ignored() {
    let case = &expected()["torn"];
    let bytes = bytes_of(case);
    let (all, _) = mods2::parse_all(&bytes).unwrap();
    let read = case["read"].as_array().unwrap();
    assert_eq!((all.len(), read.len()), (3, bytes.len() + 1));
    let mut last = 0;
    for (cut, original) in read.iter().enumerate() {
        let (found, torn) = mods2::parse_all(&bytes[..cut]).unwrap();
        assert_eq!(found, all[..found.len()], "{cut}");
        if torn.is_none() {
            last = cut as u64;
        }
        assert_eq!(torn.unwrap_or(last), last, "{cut}");
        if let Some(n) = original.as_u64() {
            assert_eq!(found.len() as u64, n, "{cut}");
        }
    }
    let location = place("tree.tsfile", &bytes[..bytes.len() - 1]);
    let mut report = Report::new(Depth::Quick);
    open(&location).unwrap().verify(Depth::Quick, &golden::driver(), &mut report).unwrap();
    let [finding] = report.findings() else { panic!("{:?}", report.findings()) };
    assert_eq!((finding.kind, finding.file.as_deref()), ("torn_deletion", Some("f.tsfile.mods2")));
    assert_eq!(finding.offset, Some(last_record(&bytes)));
    assert!(report.ok());
}

/// Offset of the last deletion.
fn last_record(bytes: &[u8]) -> u64 {
    mods2::parse_all(&bytes[..bytes.len() - 1]).unwrap().1.unwrap()
}

#[test]
fn damaged_deletions_do_not_break_the_reader() {
    let driver = golden::driver();
    for (name, case) in expected() {
        let file = case["file"].as_str().unwrap_or("tree.tsfile").to_string();
        let bytes = bytes_of(&case);
        if bytes.is_empty() {
            continue;
        }
        for (i, damaged) in flips(&bytes, 3).take(200).enumerate() {
            match mods2::parse_all(&damaged) {
                Ok(_) if i % 40 == 0 => {
                    let container = open(&place(&file, &damaged)).unwrap();
                    golden::rows_with(&*container, "*", &Scan::all(), &driver).unwrap();
                }
                Ok(_) => {}
                Err(error) => assert!(error.byte_offset().is_some(), "{name}: {error}"),
            }
        }
    }
}

#[test]
fn deletions_of_an_unknown_kind_are_refused() {
    let error = open(&place("tree.tsfile", &[9, 1, 2])).err().unwrap();
    assert_eq!(error.class_name(), "unsupported_mods");
    assert_eq!(error.byte_offset(), Some(0));
    let location = place("tree.tsfile", &[]);
    let folder = Location::new(Arc::clone(location.storage()), "d");
    let shown = tesselle_tsfile::tools::data_directory(&folder).unwrap();
    assert!(shown["files"][0].get("deletions").is_none());
}

#[test]
fn a_data_directory_shows_its_deletions() {
    let all = expected();
    let location = place("table.tsfile", &bytes_of(&all["table-segment"]));
    let folder = Location::new(Arc::clone(location.storage()), "d");
    let shown = tesselle_tsfile::tools::data_directory(&folder).unwrap();
    let deletions = shown["files"][0]["deletions"].as_array().unwrap();
    assert_eq!(deletions.len(), 6);
    let want = serde_json::json!({
        "table": "weather", "tags": { "segment": 2, "value": null }, "columns": ["f1"], "start": 30, "end": 31
    });
    assert_eq!(deletions[3], want);
    let location = place("tree.tsfile", &bytes_of(&all["torn"])[..40]);
    let folder = Location::new(Arc::clone(location.storage()), "d");
    let shown = tesselle_tsfile::tools::data_directory(&folder).unwrap();
    assert_eq!(shown["files"][0]["torn_deletion"], 31);
    assert_eq!(shown["files"][0]["deletions"].as_array().unwrap().len(), 1);
}
