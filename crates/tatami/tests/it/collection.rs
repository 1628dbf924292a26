//! Collections: manifests of the original read, edited and written; scans and merges over several files.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use serde_json::Value;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Depth, Location, OpenOptions, Predicate, Report, Scalar, Scan, Sink};
use tesselle_tatami::{Collection, MANIFEST_NAME, Writer, WriterOptions};

use crate::expected::*;

fn check_members(path: &Path, want: &Value) {
    let info = open(path, &OpenOptions::default()).unwrap().describe().unwrap().to_json();
    let got = info["members"].as_array().unwrap();
    assert_eq!(got.len(), want.as_array().unwrap().len(), "{}", path.display());
    for (got, want) in got.iter().zip(want.as_array().unwrap()) {
        for key in [
            "path",
            "uuid",
            "rows",
            "bytes",
            "tier",
            "sort_column",
            "key_min",
            "key_max",
            "footer_crc",
            "created_ms",
        ] {
            assert_eq!(got[key], want[key], "{}: {key}", want["path"]);
        }
        assert_eq!(got["zones"], want["zones"]);
    }
}

#[test]
fn manifests_of_the_original_are_read() {
    let (folder, expected) = case("collection");
    check_members(&folder, &expected["members"]);
    check_members(&folder.join("compacted.manifest"), &expected["members"]);
    check_members(&folder.join("after-merge.manifest"), &expected["members_after_merge"]);
    for (name, outcome) in expected["alternative_manifests"].as_object().unwrap() {
        match outcome.get("members") {
            Some(members) => check_members(&folder.join(name), members),
            None => assert!(open(&folder.join(name), &OpenOptions::default()).is_err(), "{name}"),
        }
    }
}

#[test]
fn scans_over_members_skip_files_and_lookups_find_keys() {
    let (folder, expected) = case("collection");
    let total: u64 =
        expected["members"].as_array().unwrap().iter().map(|m| m["rows"].as_u64().unwrap()).sum();
    let all = read(&folder, &Scan::all(), &OpenOptions::default()).unwrap();
    assert_eq!(all.iter().map(|b| b.num_rows() as u64).sum::<u64>(), total);
    let hits = read(
        &folder,
        &Scan::all().filter("id = 2030".parse::<Predicate>().unwrap()),
        &OpenOptions::default(),
    )
    .unwrap();
    assert_eq!(hits.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    assert_eq!(
        hits[0].column_by_name("size").unwrap().as_primitive::<arrow_array::types::Int32Type>().value(0),
        190
    );
    let nulls = read(
        &folder,
        &Scan::all().filter("lang IS NULL".parse::<Predicate>().unwrap()),
        &OpenOptions::default(),
    )
    .unwrap();
    assert!(
        nulls.iter().map(RecordBatch::num_rows).sum::<usize>() > 0,
        "null counts of members are not known"
    );
    let collection = Collection::open(&Location::local(&folder).unwrap(), &OpenOptions::default()).unwrap();
    for lookup in expected["lookups"].as_array().unwrap() {
        let found = collection.lookup(&Scalar::Int(lookup["key"].as_i64().unwrap().into())).unwrap();
        let want = lookup["found"].as_bool().unwrap().then(|| {
            let member = lookup["member"].as_str().unwrap();
            let group = &expected["layout"][member]["row_groups"][lookup["group"].as_u64().unwrap() as usize];
            (member.to_owned(), group["first_row"].as_u64().unwrap() + lookup["row"].as_u64().unwrap())
        });
        assert_eq!(found, want, "{lookup}");
    }
}

#[test]
fn compaction_writes_the_bytes_of_the_original() {
    let (folder, _) = case("collection");
    let storage = MemoryStorage::new();
    storage.put(format!("c/{MANIFEST_NAME}"), std::fs::read(folder.join(MANIFEST_NAME)).unwrap());
    let mut collection =
        Collection::open(&Location::new(Arc::new(storage.clone()), "c"), &OpenOptions::default()).unwrap();
    collection.compact().unwrap();
    let wanted = std::fs::read(folder.join("compacted.manifest")).unwrap();
    assert_eq!(storage.get(&format!("c/{MANIFEST_NAME}")).unwrap(), wanted);
}

#[test]
fn adding_a_file_describes_it_as_the_original_does() {
    let (folder, expected) = case("collection");
    let storage = MemoryStorage::new();
    for name in ["shard-0.tatami", "shard-1.tatami", "shard-2.tatami"] {
        storage.put(format!("c/{name}"), std::fs::read(folder.join(name)).unwrap());
    }
    let mut collection =
        Collection::open(&Location::new(Arc::new(storage), "c"), &OpenOptions::default()).unwrap();
    collection.add(&["shard-0.tatami", "shard-1.tatami"]).unwrap();
    let want = &expected["members"][0];
    let got = &collection.members()[0];
    assert_eq!(tesselle_core::hex(&got.uuid), want["uuid"].as_str().unwrap());
    assert_eq!(u64::from(got.footer_crc), want["footer_crc"].as_u64().unwrap());
    assert_eq!(tesselle_core::hex(&got.key_max), want["key_max"].as_str().unwrap());
    assert_eq!(got.zones.len(), want["zones"].as_array().unwrap().len());
    collection.set_tier(&["shard-1.tatami"], 4).unwrap();
    collection.remove(&["shard-0.tatami"]).unwrap();
    assert_eq!(
        collection.members().iter().map(|m| (m.path.as_str(), m.tier)).collect::<Vec<_>>(),
        [("shard-1.tatami", 4)]
    );
    assert!(collection.remove(&["shard-9.tatami"]).is_err());
    for bad in ["../x.tatami", "/etc/x.tatami", "a//b.tatami", ""] {
        assert!(collection.add(&[bad]).is_err(), "{bad}");
    }
}

fn put_sorted(root: &Location, name: &str, keys: &[i64], tag: &str) {
    let schema =
        Schema::new(vec![Field::new("k", DataType::Int64, false), Field::new("from", DataType::Utf8, false)]);
    let from = keys.iter().map(|k| Some(format!("{tag}{k}"))).collect::<StringArray>();
    let columns: Vec<arrow_array::ArrayRef> = vec![Arc::new(Int64Array::from(keys.to_vec())), Arc::new(from)];
    let batch = RecordBatch::try_new(Arc::new(schema.clone()), columns).unwrap();
    let options =
        WriterOptions::default().with_sort_key("k".to_owned()).with_row_group_rows(50).with_page_rows(20);
    let mut writer = Box::new(Writer::create(&root.join(name), &schema, options, false, &driver()).unwrap());
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

#[test]
fn sorted_members_merge_by_key_and_are_swapped_in_the_manifest() {
    let root = Location::new(Arc::new(MemoryStorage::new()), "c");
    put_sorted(&root, "a.tatami", &(0..300).map(|i| i * 2).collect::<Vec<_>>(), "a");
    put_sorted(&root, "b.tatami", &(0..200).map(|i| i * 3).collect::<Vec<_>>(), "b");
    put_sorted(&root, "d.tatami", &[7], "d");
    let mut collection = Collection::open(&root, &OpenOptions::default()).unwrap();
    collection.add(&["a.tatami", "b.tatami", "d.tatami"]).unwrap();
    let merged = collection
        .merge(&["a.tatami", "b.tatami"], "ab.tatami", WriterOptions::default(), false, &driver())
        .unwrap();
    assert_eq!(merged.member.rows, 500);
    assert_eq!(
        collection.members().iter().map(|m| m.path.as_str()).collect::<Vec<_>>(),
        ["ab.tatami", "d.tatami"]
    );
    let table = tesselle_core::Format::open(
        &tesselle_tatami::Tatami,
        &root.join("ab.tatami"),
        &OpenOptions::default(),
    )
    .unwrap();
    let table = table.default_table().unwrap();
    let rows: Vec<RecordBatch> = tesselle_core::driver::scan(
        table.as_ref(),
        &Scan::all(),
        &driver(),
        tesselle_core::driver::Order::Plan,
    )
    .unwrap()
    .collect::<Result<_, _>>()
    .unwrap();
    let got: Vec<(i64, String)> = rows
        .iter()
        .flat_map(|b| {
            let (keys, from) =
                (b.column(0).as_primitive::<Int64Type>().clone(), b.column(1).as_string::<i32>().clone());
            (0..b.num_rows()).map(|i| (keys.value(i), from.value(i).to_owned())).collect::<Vec<_>>()
        })
        .collect();
    let mut want: Vec<(i64, String)> = (0..300).map(|i| (i * 2, format!("a{}", i * 2))).collect();
    want.extend((0..200).map(|i| (i * 3, format!("b{}", i * 3))));
    want.sort_by_key(|(k, _)| *k);
    assert_eq!(got, want);
    assert_eq!(collection.lookup(&Scalar::Int(7)).unwrap(), Some(("d.tatami".into(), 0)));
}

#[test]
fn merged_shards_match_the_rows_of_the_original() {
    let (folder, expected) = case("collection");
    let work = tempfile::tempdir().unwrap();
    let mut names: Vec<String> = Vec::new();
    for member in expected["members"].as_array().unwrap() {
        let path = member["path"].as_str().unwrap();
        let target = work.path().join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(folder.join(path), target).unwrap();
        names.push(path.to_owned());
    }
    std::fs::copy(folder.join(MANIFEST_NAME), work.path().join(MANIFEST_NAME)).unwrap();
    let mut collection =
        Collection::open(&Location::local(work.path()).unwrap(), &OpenOptions::default()).unwrap();
    let inputs: Vec<&str> = names.iter().map(String::as_str).collect();
    collection.merge(&inputs, "merged.tatami", WriterOptions::default(), false, &driver()).unwrap();
    let ours = read(&work.path().join("merged.tatami"), &Scan::all(), &OpenOptions::default()).unwrap();
    let columns = expected["files"]["merged.tatami"]["columns"].as_object().unwrap();
    let merged: Vec<u64> = ours
        .iter()
        .flat_map(|b| b.column_by_name("id").unwrap().as_primitive::<UInt64Type>().values().to_vec())
        .collect();
    assert!(merged.is_sorted());
    if merged.len() == columns["id"].as_array().unwrap().len() {
        for (name, values) in columns {
            check_column("merged", &ours, name, values.as_array().unwrap());
        }
    }
    let mut report = Report::new(Depth::Deep);
    open(work.path(), &OpenOptions::default()).unwrap().verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{:?}", report.findings());
}
