//! TsFile to TsFile: properties of the source are preserved, deletions are applied, and an upgrade keeps
//! every value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{
    Depth, Format, Location, OpenOptions, Report, RewriteRequest, Rewritten, Scan, Settings, WriteOptions,
};
use tesselle_tsfile::TsFile;

use crate::golden;

fn whole_files() -> Vec<(String, std::path::PathBuf)> {
    let mut files = Vec::new();
    for folder in ["tsfile", "tsfile-upstream"] {
        for (name, path, expected) in golden::cases(folder) {
            let is_whole = expected.get("complete").is_none_or(|c| c == true);
            let opens = expected.get("opens").is_none_or(|o| o == true);
            let file = path.join("data.tsfile");
            if is_whole && opens && file.exists() {
                files.push((name, file));
            }
        }
    }
    files
}

fn rewrite(source: &Location, settings: &[&str]) -> tesselle_core::Result<(Location, Rewritten)> {
    let target = Location::new(Arc::new(MemoryStorage::new()), "out.tsfile");
    let options = WriteOptions::default().with_settings(Settings::from_pairs(settings).unwrap());
    let rewritten = TsFile.rewrite(
        RewriteRequest::new(source, &target, &OpenOptions::default(), &options),
        &golden::driver(),
    )?;
    let rewritten = rewritten.unwrap();
    let container = TsFile.open(&target, &OpenOptions::default()).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &golden::driver(), &mut report).unwrap();
    assert!(report.ok(), "{:#?}", report.findings());
    Ok((target, rewritten))
}

/// Every point: device, measurement, time, value.
fn points(location: &Location) -> BTreeSet<String> {
    let options = OpenOptions::default().with_text_as_binary(true);
    let container = TsFile.open(location, &options).unwrap();
    let (_, batches) = golden::rows(&*container, "*", &Scan::all()).unwrap();
    let mut points = BTreeSet::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().filter_map(|column| golden::cell(column, row));
            points.insert(format!("{:?}", cells.collect::<Vec<_>>()));
        }
    }
    points
}

/// Properties of a column by table and name.
fn facts(location: &Location, keys: &[&str]) -> BTreeMap<(String, String), Vec<Json>> {
    let container = TsFile.open(location, &OpenOptions::default()).unwrap();
    let mut facts = BTreeMap::new();
    for table in container.describe().unwrap().tables {
        for column in table.columns {
            let mut found = vec![Json::from(column.kind.clone()), Json::from(column.role.name())];
            found.extend(keys.iter().map(|key| column.extra.get(*key).cloned().unwrap_or_default()));
            found.push(table.extra.get("aligned").cloned().unwrap_or_default());
            facts.insert((table.name.clone(), column.name.clone()), found);
        }
    }
    facts
}

#[test]
fn without_settings_a_file_is_copied() {
    for (name, file) in whole_files() {
        let source = Location::local(&file).unwrap();
        let (target, rewritten) = rewrite(&source, &[]).unwrap();
        assert_eq!(target.read_all(1 << 30).unwrap(), std::fs::read(&file).unwrap(), "{name}");
        assert!(rewritten.summary.lost.is_empty(), "{name}");
    }
}

#[test]
fn an_upgrade_keeps_every_value_and_as_much_else_as_possible() {
    for (name, file) in whole_files() {
        let source = Location::local(&file).unwrap();
        let (target, rewritten) = rewrite(&source, &["version=4"]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let container = TsFile.open(&target, &OpenOptions::default()).unwrap();
        assert_eq!(container.describe().unwrap().version, "4", "{name}");
        assert_eq!(points(&target), points(&source), "{name}");
        let (before, after) = (facts(&source, &["compression"]), facts(&target, &["compression"]));
        let lost = &rewritten.summary.lost;
        for (column, fact) in before {
            let is_empty = lost.iter().any(|line| line.contains("empty series"));
            assert!(after.get(&column) == Some(&fact) || is_empty, "{name}: {column:?}: {lost:?}");
        }
    }
}

#[test]
fn deletions_are_applied_and_encodings_are_kept() {
    let file = golden::case("v3-names").join("data.tsfile");
    let storage = MemoryStorage::new();
    storage.put("f.tsfile", std::fs::read(&file).unwrap());
    let source = Location::new(Arc::new(storage.clone()), "f.tsfile");
    let (device, measurement) = facts(&source, &[]).into_keys().find(|(_, column)| column != "time").unwrap();
    let before = points(&source);
    storage.put(
        "f.tsfile.mods",
        format!("DELETION,{device}.{measurement},{},{},{}\n", i64::MAX, 0, i64::MAX).into_bytes(),
    );
    let shown = points(&source);
    assert!(shown.len() < before.len());
    let (target, _) = rewrite(&source, &[]).unwrap();
    assert_eq!(points(&target), shown);
    let keys = ["encoding", "compression"];
    let after = facts(&target, &keys);
    for (column, fact) in facts(&source, &keys) {
        assert!(after.get(&column).is_none_or(|kept| *kept == fact), "{column:?}");
    }
}

#[test]
fn tables_and_devices_of_a_folder_are_merged_into_one_file() {
    let storage = MemoryStorage::new();
    let read = |name: &str| std::fs::read(golden::case(name).join("data.tsfile")).unwrap();
    storage.put("d/sequence/g/1-1-0.tsfile", read("v4py-table"));
    storage.put("d/sequence/g/2-2-0.tsfile", read("v4-names"));
    let source = Location::new(Arc::new(storage), "d");
    let (target, rewritten) = rewrite(&source, &[]).unwrap();
    assert_eq!(points(&target), points(&source));
    assert_eq!(facts(&target, &["encoding"]), facts(&source, &["encoding"]), "{rewritten:?}");
}
