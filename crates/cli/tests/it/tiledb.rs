//! `tess tiledb`, verb by verb, as a script uses it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{fine, json_of, path, tess, text};

/// The kind of error that a call ends with, and its message.
fn refused(args: &[&str]) -> String {
    let out = tess(args);
    assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stderr));
    text(&out.stderr)
}

/// The rows of an array, as JSON, sorted.
fn rows(array: &str, more: &[&str]) -> Vec<Value> {
    let out = tess(&[&["cat", array, "--as", "jsonl"], more].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    let mut rows: Vec<Value> =
        text(&out.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    rows.sort_by_key(Value::to_string);
    rows
}

fn values(array: &str, column: &str, more: &[&str]) -> Vec<Value> {
    rows(array, more).into_iter().map(|row| row[column].clone()).collect()
}

fn put(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, content).unwrap();
    file
}

fn npy(folder: &Path, name: &str, shape: &str, cells: impl IntoIterator<Item = i64>) -> PathBuf {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}\n");
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(cells.into_iter().flat_map(i64::to_le_bytes));
    put(folder, name, bytes)
}

/// A sparse array of points, empty.
fn points(folder: &Path) -> String {
    let like = put(folder, "like.csv", "x,y,a\n1,1,1.5\n");
    let array = folder.join("points");
    let settings = ["kind=sparse", "dims=x,y", "domain.x=0:99", "domain.y=0:99", "extent=10", "capacity=4"];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let args = ["tiledb", "create", path(&array), "--like", path(&like)];
    let out = tess(&args.into_iter().chain(settings).collect::<Vec<_>>());
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(rows(path(&array), &[]).is_empty());
    path(&array).to_owned()
}

/// A dense array of 4 times 6 cells.
fn grid(folder: &Path) -> String {
    let source = npy(folder, "grid.npy", "(4, 6)", vec![0; 24]);
    let array = folder.join("grid");
    let out = tess(&["convert", path(&source), path(&array), "--to", "tiledb", "--set", "extent=3"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    path(&array).to_owned()
}

#[test]
fn cells_are_written_deleted_merged_and_cleaned_up() {
    let folder = tempfile::tempdir().unwrap();
    let array = points(folder.path());
    for (name, content, time) in [
        ("1.csv", "x,y,a\n1,1,1.5\n2,2,2.5\n50,3,3.5\n", "10"),
        ("2.csv", "x,y,a\n2,2,20.5\n7,7,7.5\n", "20"),
    ] {
        let input = put(folder.path(), name, content);
        let report = json_of(&["tiledb", "write", &array, path(&input), "--timestamp", time]);
        assert_eq!(report["cells"], content.lines().count() - 1);
    }
    assert_eq!(values(&array, "a", &[]), [json!(1.5), json!(20.5), json!(3.5), json!(7.5)]);
    assert_eq!(values(&array, "a", &["--at", "10"]), [json!(1.5), json!(2.5), json!(3.5)]);
    let fragments = json_of(&["tiledb", "fragments", &array]);
    assert_eq!(fragments["fragments"][1]["timestamps"], json!([20, 20]));
    assert_eq!(
        json_of(&["tiledb", "fragments", &array, "--at", "10"])["fragments"].as_array().unwrap().len(),
        1
    );

    let delete = ["tiledb", "delete", &array, "--where", "a > 5 AND x < 5", "--timestamp", "30"];
    // CSV columns are nullable, and a delete on a nullable attribute would also delete nulls.
    assert!(refused(&delete).contains("null"));
    let commit = json_of(&[&delete[..], &["--null-too"]].concat());
    assert!(commit["commit"].as_str().unwrap().contains(".del"));
    let left = [json!(1.5), json!(3.5), json!(7.5)];
    assert_eq!(values(&array, "a", &[]), left);

    assert_eq!(json_of(&["tiledb", "consolidate", &array])["fragments"].as_array().unwrap().len(), 1);
    assert_eq!(values(&array, "a", &[]), left);
    assert_eq!(values(&array, "a", &["--at", "10"]), [json!(1.5), json!(2.5), json!(3.5)]);
    json_of(&["tiledb", "vacuum", &array]);
    assert_eq!(values(&array, "a", &[]), left);
    for what in ["commits", "fragment-metadata", "array-metadata"] {
        json_of(&["tiledb", "consolidate", &array, "--what", what]);
        json_of(&["tiledb", "vacuum", &array, "--what", what]);
        assert_eq!(values(&array, "a", &[]), left, "{what}");
    }
    json_of(&["tiledb", "consolidate", &array, "--purge"]);
    json_of(&["tiledb", "vacuum", &array]);
    assert_eq!(values(&array, "a", &[]), left);
    assert!(tess(&["verify", "--deep", &array]).status.success());
}

#[test]
fn boxes_of_dense_arrays_are_written_from_files_of_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let array = grid(folder.path());
    let cells = |rows: &str| values(&array, "value", &["--slice", rows]);
    // An array in a box of its shape.
    let corner = npy(folder.path(), "corner.npy", "(2, 3)", 1..7);
    json_of(&["tiledb", "write", &array, path(&corner), "--region", "1:3,3:6"]);
    assert_eq!(cells("1:3,3:6"), (1..7).map(Value::from).collect::<Vec<_>>());
    assert_eq!(cells("0:1"), vec![json!(0); 6]);
    let refusal = refused(&["tiledb", "write", &array, path(&corner)]);
    assert!(refusal.contains("[2, 3]") && refusal.contains("[4, 6]"), "{refusal}");
    let refusal = refused(&["tiledb", "write", &array, path(&corner), "--region", "3:5,3:6"]);
    assert!(refusal.contains("copy the array with 'tess convert' and --set domain."), "{refusal}");
    let refusal = refused(&["append", path(&corner), &array, "--axis", "1"]);
    assert!(refusal.contains("axes but 1 must agree"), "{refusal}");
    let rows = npy(folder.path(), "rows.npy", "(2, 6)", 1..13);
    let refusal = refused(&["append", path(&rows), &array]);
    assert!(
        refusal.contains("a domain is fixed: copy the array with 'tess convert' and --set domain."),
        "{refusal}"
    );
    // The copy grows.
    let copy = folder.path().join("larger");
    let name = refusal.split("--set domain.").nth(1).unwrap().split('=').next().unwrap();
    let domain = format!("domain.{name}=0:99");
    fine(&["convert", &array, path(&copy), "--to", "tiledb", "--set", &domain]);
    fine(&["append", path(&rows), path(&copy)]);
    // Cells with coordinates, in any order.
    let dims = json_of(&["info", &array]);
    let names: Vec<&str> = dims["tables"][0]["columns"].as_array().unwrap()[..2]
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    let [row, column] = names.as_slice() else { panic!("{names:?}") };
    let csv =
        put(folder.path(), "cells.csv", format!("{column},{row},value\n1,3,31\n0,3,30\n0,2,20\n1,2,21\n"));
    json_of(&["tiledb", "write", &array, path(&csv)]);
    assert_eq!(cells("2:4,0:2"), [20, 21, 30, 31].map(Value::from));
    let refusal = refused(&["tiledb", "write", &array, path(&csv), "--region", "0:2,0:2"]);
    assert!(refusal.contains("outside the box"), "{refusal}");
    let twice =
        put(folder.path(), "twice.csv", format!("{column},{row},value\n1,3,31\n1,3,30\n0,2,20\n1,2,21\n"));
    refused(&["tiledb", "write", &array, path(&twice)]);
    let hole = put(folder.path(), "hole.csv", format!("{column},{row},value\n1,3,31\n0,2,20\n"));
    refused(&["tiledb", "write", &array, path(&hole)]);
    // Rows without coordinates fill a box in order; numbers are cast if they fit.
    for form in ["parquet", "arrow"] {
        let plain = put(folder.path(), "plain.csv", "value\n8\n9\n");
        let input = folder.path().join(format!("plain.{form}"));
        assert!(tess(&["convert", path(&plain), path(&input)]).status.success());
        json_of(&["tiledb", "write", &array, path(&input), "--region", "0:1,4:6"]);
        assert_eq!(cells("0:1,4:6"), [8, 9].map(Value::from));
    }
    let broken = put(folder.path(), "broken.csv", "value\n8.5\n9\n");
    refused(&["tiledb", "write", &array, path(&broken), "--region", "0:1,4:6"]);
    // A copy of the array itself.
    let copy = folder.path().join("copy.parquet");
    assert!(tess(&["convert", &array, path(&copy)]).status.success());
    json_of(&["tiledb", "write", &array, path(&copy)]);
    assert!(tess(&["diff", &array, path(&copy)]).status.success());
    json_of(&["tiledb", "consolidate", &array]);
    json_of(&["tiledb", "vacuum", &array]);
    assert!(tess(&["diff", &array, path(&copy)]).status.success());
    assert!(tess(&["verify", "--deep", &array]).status.success());
}

#[test]
fn sparse_rows_take_no_region_and_must_be_inside_the_domain() {
    let folder = tempfile::tempdir().unwrap();
    let array = points(folder.path());
    let input = put(folder.path(), "1.csv", "x,y,a\n1,1,1.5\n");
    assert!(refused(&["tiledb", "write", &array, path(&input), "--region", "0:1,0:1"]).contains("--region"));
    let far = put(folder.path(), "far.csv", "x,y,a\n100,1,1.5\n");
    let refusal = refused(&["tiledb", "write", &array, path(&far)]);
    assert!(refusal.contains("outside [0, 99]") && refusal.contains("--set domain.x=LOW:HIGH"), "{refusal}");
    let twice = put(folder.path(), "twice.csv", "x,y,a\n1,1,1.5\n1,1,2.5\n");
    assert!(refused(&["tiledb", "write", &array, path(&twice)]).contains("same coordinates"));
    assert!(rows(&array, &[]).is_empty());
}

#[test]
fn attributes_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let array = points(folder.path());
    let input = put(folder.path(), "1.csv", "x,y,a\n1,1,1.5\n");
    json_of(&["tiledb", "write", &array, path(&input)]);
    let report = json_of(&["tiledb", "evolve", &array, "--add", "w:FLOAT32", "--add", "note:STRING_UTF8"]);
    assert_eq!(report["added"], json!(["w:FLOAT32", "note:STRING_UTF8"]));
    assert_eq!(rows(&array, &[]), [json!({ "x": 1, "y": 1, "a": 1.5, "w": null, "note": null })]);
    let more = put(folder.path(), "2.csv", "x,y,a,w,note\n2,2,2.5,7,hello\n");
    json_of(&["tiledb", "write", &array, path(&more)]);
    assert_eq!(rows(&array, &[])[1], json!({ "x": 2, "y": 2, "a": 2.5, "w": 7.0, "note": "hello" }));
    json_of(&["tiledb", "evolve", &array, "--drop", "a"]);
    assert_eq!(rows(&array, &[])[1], json!({ "x": 2, "y": 2, "w": 7.0, "note": "hello" }));
    refused(&["tiledb", "evolve", &array, "--add", "w2:NUMBER"]);
    refused(&["tiledb", "evolve", &array, "--drop", "x"]);
}

#[test]
fn metadata_and_groups_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let array = points(folder.path());
    json_of(&["tiledb", "meta", &array, "--put", "units=m", "--put", "n=5", "--put", "f=0.5"]);
    let metadata = json_of(&["tiledb", "meta", &array, "--remove", "n"]);
    assert_eq!(metadata["units"]["value"], "m");
    assert_eq!(metadata["f"]["value"], 0.5);
    assert!(metadata.get("n").is_none());

    let group = folder.path().join("group");
    json_of(&["tiledb", "group", path(&group), "--create"]);
    let inner = points(&group);
    let members = json_of(&["tiledb", "group", path(&group), "--add-array", "points"]);
    assert_eq!(members["members"], json!([{ "name": "points", "uri": "points", "type": "array" }]));
    assert_eq!(json_of(&["info", path(&group)])["members"][0]["name"], "points");
    // Paths are relative to the group, and what they name is looked at before anything changes.
    for (flag, wrong) in
        [("--add-array", "group/points"), ("--add-group", "points"), ("--add-array", "nothing")]
    {
        let message = refused(&["tiledb", "group", path(&group), flag, wrong]);
        assert!(message.contains(&format!("'{wrong}'")) && message.contains("relative"), "{message}");
    }
    let other = folder.path().join("other");
    refused(&["tiledb", "group", path(&other), "--create", "--add-array", "nothing"]);
    assert!(!other.exists());
    let members = json_of(&["tiledb", "group", path(&group), "--remove", "points"]);
    assert_eq!(members["members"], json!([]));
    assert!(Path::new(&inner).exists());
}

#[test]
fn an_encrypted_array_is_written_with_its_key_only() {
    let folder = tempfile::tempdir().unwrap();
    let like = put(folder.path(), "like.csv", "x,a\n1,1.5\n");
    let array = folder.path().join("secret");
    let key = "0123456789abcdeF0123456789abcdeF";
    let run = |args: &[&str], key: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tess"));
        command.args(args).env_remove("TESSELLE_KEY");
        key.map(|key| command.env("TESSELLE_KEY", key));
        command.output().unwrap()
    };
    let set = format!("key={key}");
    let create = [
        "tiledb",
        "create",
        path(&array),
        "--like",
        path(&like),
        "--set",
        "dims=x",
        "--set",
        "domain.x=0:9",
        "--set",
        &set,
    ];
    let created = run(&create, None);
    assert!(created.status.success(), "{}", text(&created.stderr));
    let write = ["tiledb", "write", path(&array), path(&like)];
    assert_eq!(run(&write, None).status.code(), Some(1));
    assert_eq!(run(&write, Some(&key.replace('0', "1"))).status.code(), Some(1));
    let written = run(&write, Some(key));
    assert!(written.status.success(), "{}", text(&written.stderr));
    let cat = ["cat", path(&array), "--as", "csv"];
    let read = run(&cat, Some(key));
    assert_eq!(text(&read.stdout), "x,a\n1,1.5\n");
    let blind = run(&cat, None);
    assert_eq!(blind.status.code(), Some(1));
    assert!(blind.stdout.is_empty() && !text(&blind.stderr).contains(key));
}

#[test]
fn every_tool_shows_an_example() {
    let help = text(&tess(&["tiledb", "--help"]).stdout);
    for tool in [
        "create",
        "write",
        "fragments",
        "consolidate",
        "vacuum",
        "delete",
        "delete-fragments",
        "evolve",
        "meta",
        "group",
    ] {
        assert!(help.contains(tool), "tess tiledb --help does not name {tool}");
        let help = text(&tess(&["tiledb", tool, "--help"]).stdout);
        assert!(help.contains("Example") && help.contains(&format!("tess tiledb {tool}")), "{tool}: {help}");
    }
}

#[test]
fn an_empty_array_accepts_rows_anywhere_or_reports_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let like = put(folder.path(), "like.csv", "k,a\n5,20\n-6,10\n");
    let array = folder.path().join("array");
    let create = ["tiledb", "create", path(&array), "--like", path(&like)];
    assert!(refused(&create).contains("dims=x,y"));
    let dense = [&create[..], &["--set", "kind=dense", "--set", "dims=k"]].concat();
    assert!(refused(&dense).contains("domain.k=low:high"));
    // A setting of one column names it.
    let settings = ["--set", "kind=sparse", "--set", "dims=k", "--set", "domain=k:0:100"];
    let unnamed = refused(&[&create[..], &settings].concat());
    assert!(unnamed.contains("domain.k=LOW:HIGH"), "{unnamed}");
    json_of(&[&create[..], &["--set", "kind=sparse", "--set", "dims=k"]].concat());
    assert_eq!(json_of(&["tiledb", "write", path(&array), path(&like)])["cells"], 2);
    assert_eq!(values(path(&array), "a", &[]), [json!(10), json!(20)]);
}

/// Four fragments, at the times 10 to 40.
fn history(folder: &Path) -> String {
    let array = points(folder);
    for time in [10, 20, 30, 40] {
        let input = put(folder, "cells.csv", format!("x,y,a\n{time},1,{time}.5\n{time},2,1.5\n"));
        json_of(&["tiledb", "write", &array, path(&input), "--timestamp", &time.to_string()]);
    }
    array
}

fn names(array: &str) -> Vec<Value> {
    let fragments = json_of(&["tiledb", "fragments", array]);
    fragments["fragments"].as_array().unwrap().iter().map(|f| f["timestamps"].clone()).collect()
}

#[test]
fn times_choose_what_is_merged_and_removed_and_are_refused_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let array = history(folder.path());
    let before = rows(&array, &[]);
    let plan = json_of(&["tiledb", "consolidate", &array, "--between", "10,20", "--dry-run"]);
    assert_eq!(plan["fragments"].as_array().unwrap().len(), 2, "{plan}");
    assert!(plan["bytes"].as_u64().unwrap() > 0, "{plan}");
    assert_eq!(names(&array).len(), 4);
    let merged = json_of(&["tiledb", "consolidate", &array, "--between", "10,20"]);
    assert!(merged["fragments"][0].as_str().unwrap().starts_with("__10_20_"), "{merged}");
    assert_eq!(names(&array), [json!([10, 20]), json!([30, 30]), json!([40, 40])]);
    let removal = json_of(&["tiledb", "vacuum", &array, "--dry-run"]);
    assert_eq!(removal["dry_run"], true);
    assert_eq!(json_of(&["tiledb", "vacuum", &array])["removed"], removal["removed"]);
    let out = tess(&["tiledb", "vacuum", &array]);
    assert!(text(&out.stdout).contains("removed 0 files and folders"), "{}", text(&out.stdout));
    assert_eq!(rows(&array, &[]), before);

    refused(&["tiledb", "delete-fragments", &array]);
    json_of(&["tiledb", "delete-fragments", &array, "--between", "30,35", "--dry-run"]);
    assert_eq!(names(&array).len(), 3);
    json_of(&["tiledb", "delete-fragments", &array, "--between", "30,35"]);
    assert_eq!(names(&array), [json!([10, 20]), json!([40, 40])]);
    assert_eq!(rows(&array, &[]).len(), before.len() - 2);
    assert!(tess(&["verify", "--deep", &array]).status.success());

    let input = put(folder.path(), "more.csv", "x,y,a\n5,5,5.5\n");
    refused(&["tiledb", "write", &array, path(&input), "--at", "10"]);
    refused(&["tiledb", "delete", &array, "--where", "x < 5", "--between", "1,2"]);
    refused(&["tiledb", "evolve", &array, "--add", "b:INT32", "--at", "10"]);
    refused(&["tiledb", "consolidate", &array, "--what", "commits", "--between", "1,2"]);
    let out = tess(&["tiledb", "consolidate", &array, "--what", "commits"]);
    assert_eq!(text(&out.stdout), "2 commits merged into one file\n");
}

#[test]
fn groups_have_metadata_and_members_inside_of_them_only() {
    let folder = tempfile::tempdir().unwrap();
    let group = folder.path().join("group");
    json_of(&["tiledb", "group", path(&group), "--create"]);
    let metadata = json_of(&["tiledb", "meta", path(&group), "--put", "title=study"]);
    assert_eq!(metadata["title"]["value"], "study");
    for outside in ["/etc", "../other", "a/../../b"] {
        refused(&["tiledb", "group", path(&group), "--add-array", outside]);
    }
    points(&group);
    json_of(&["tiledb", "group", path(&group), "--add-array", "points"]);
    // A conversion keeps the group with its members.
    let copy = folder.path().join("copy");
    json_of(&["convert", path(&group), path(&copy), "--to", "tiledb"]);
    let info = json_of(&["info", path(&copy)]);
    assert_eq!((&info["kind"], &info["metadata"]["title"]["value"]), (&json!("group"), &json!("study")));
    assert_eq!(json_of(&["info", path(&copy.join("points"))])["kind"], "sparse");
    let file = put(folder.path(), "x.csv", "a\n1\n");
    assert!(refused(&["tiledb", "fragments", path(&file)]).contains("not a TileDB array"));
    assert!(refused(&["tiledb", "fragments", path(&group)]).contains("is a group"));
    assert!(refused(&["tiledb", "write", path(&group), path(&file)]).contains("is a group"));
}

#[test]
fn a_key_is_used_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = put(folder.path(), "key", [b'k'; 32]);
    let source = put(folder.path(), "rows.csv", "x,v\n1,2\n");
    let at = |name: &str| path(&folder.path().join(name)).to_owned();
    let (plain, secret, again, open) = (at("plain"), at("secret"), at("again"), at("open"));
    let dims = ["--to", "tiledb", "--set", "dims=x"];
    json_of(&[&["convert", path(&source), &plain][..], &dims].concat());
    json_of(&[&["convert", path(&source), &secret, "--key-file", path(&key)][..], &dims].concat());
    let encrypted = |array: &str| json_of(&["info", array, "--key-file", path(&key)])["encrypted"].clone();
    assert_eq!((encrypted(&plain), encrypted(&secret)), (json!(false), json!(true)));
    let from_file = format!("key-file={}", path(&key));
    let other = at("other");
    json_of(&[&["convert", path(&source), &other, "--set", &from_file][..], &dims].concat());
    assert_eq!(encrypted(&other), json!(true));
    // A copy stays encrypted, unless requested otherwise; a setting does not change that.
    json_of(&["convert", &secret, &again, "--to", "tiledb", "--key-file", path(&key)]);
    assert_eq!(encrypted(&again), json!(true));
    let tight = at("tight");
    json_of(&["convert", &secret, &tight, "--to", "tiledb", "--key-file", path(&key), "--set", "capacity=9"]);
    assert_eq!(encrypted(&tight), json!(true));
    let none = ["--set", "encryption=none", "--key-file", path(&key)];
    json_of(&[&["convert", &secret, &open, "--to", "tiledb"][..], &none].concat());
    assert_eq!(encrypted(&open), json!(false));
    let report = json_of(&["convert", &secret, &at("x.parquet"), "--key-file", path(&key)]);
    let lost = report["metadata"]["lost"].as_array().unwrap();
    assert!(lost.iter().any(|line| line.as_str().unwrap().contains("encryption")), "{report}");
    // Formats without encryption refuse a key, unless the other side of the conversion uses it.
    for call in [
        &["cat", path(&source), "--key-file", path(&key)][..],
        &["convert", path(&source), &at("y.parquet"), "--key-file", path(&key)],
        &["convert", &at("x.parquet"), &at("z.parquet"), "--key-file", path(&key)],
        &["verify", &at("x.parquet"), "--key-file", path(&key)],
    ] {
        assert!(refused(call).contains("not encrypted"), "{call:?}");
    }
    // Nothing encrypted is written into a plain array.
    refused(&["tiledb", "write", &plain, path(&source), "--key-file", path(&key)]);
}

#[test]
fn filters_that_do_not_suit_a_column_are_a_wrong_call() {
    let folder = tempfile::tempdir().unwrap();
    let source = put(folder.path(), "rows.csv", "x,v\n1,2\n");
    let target = folder.path().join("array");
    let call = ["convert", path(&source), path(&target), "--to", "tiledb", "--set", "filters.v=dictionary"];
    assert!(refused(&call).contains("'v'"));
}

#[test]
fn a_schema_is_written_by_hand_and_changes() {
    let folder = tempfile::tempdir().unwrap();
    let schema = json!({
        "kind": "sparse", "cell_order": "hilbert", "capacity": 77, "allows_dups": true,
        "offsets_filters": "positive-delta:512,zstd:2",
        "columns": [
            { "name": "x", "role": "dimension", "type": "INT32", "domain": [0, 99], "extent": 10 },
            { "name": "a", "role": "attribute", "type": "FLOAT32", "fill": -1.5,
              "filters": [{ "name": "float-scale", "factor": 0.5, "offset": 1.0, "byte_width": 4 }] },
            { "name": "s", "role": "attribute", "type": "STRING_UTF8", "cell_val_num": "var", "nullable": true },
        ],
        "current_domain": [[0, 49]],
    });
    let file = put(folder.path(), "schema.json", schema.to_string());
    let (array, again) = (folder.path().join("array"), folder.path().join("again"));
    json_of(&["tiledb", "create", path(&array), "--schema", path(&file)]);
    let info = json_of(&["info", path(&array)]);
    assert_eq!((&info["cell_order"], &info["capacity"]), (&json!("hilbert"), &json!(77)));
    let filters = json!([{ "name": "positive-delta", "window": 512 }, { "name": "zstd", "level": 2 }]);
    assert_eq!(info["offsets_filters"], filters);
    assert_eq!(info["tables"][0]["columns"][1]["fill"], json!(-1.5));
    // The output of info is a schema, too.
    let file = put(folder.path(), "info.json", info.to_string());
    json_of(&["tiledb", "create", path(&again), "--schema", path(&file)]);
    assert_eq!(json_of(&["info", path(&again)]), info);
    let wrong = put(folder.path(), "wrong.json", "{\"kind\": \"round\"}");
    refused(&["tiledb", "create", path(&folder.path().join("x")), "--schema", path(&wrong)]);

    let array = path(&array);
    json_of(&[
        "tiledb",
        "evolve",
        array,
        "--add-enumeration",
        "colors=red,green",
        "--add",
        "c:UINT8@colors/rle",
    ]);
    json_of(&["tiledb", "evolve", array, "--extend-enumeration", "colors=blue", "--expand", "x=0:79"]);
    let info = json_of(&["info", array]);
    assert_eq!(info["enumerations"]["colors"]["values"], json!(["red", "green", "blue"]));
    assert_eq!(info["current_domain"], json!([[0, 79]]));
    assert_eq!(info["tables"][0]["columns"][3]["filters"], json!([{ "name": "rle" }]));
    refused(&["tiledb", "evolve", array, "--expand", "x=0:9"]);
    json_of(&["tiledb", "evolve", array, "--drop", "c", "--drop-enumeration", "colors"]);
    assert_eq!(json_of(&["info", array])["enumerations"], json!({}));
}

#[test]
fn a_domain_beyond_all_memory_is_refused_and_its_cells_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| path(&folder.path().join(name)).to_owned();
    let (huge, cells) = (at("huge"), at("cells.csv"));
    let dims = ["--dim", "y:INT64:0:2147483647:1000", "--dim", "x:INT64:0:2147483647:1000"];
    fine(&[&["tiledb", "create", &huge], &dims[..], &["--attr", "v:FLOAT32"]].concat());
    std::fs::write(&cells, "y,x,v\n5,7,1.5\n5,8,2.5\n").unwrap();
    fine(&["tiledb", "write", &huge, &cells]);
    assert_eq!(fine(&["reduce", &huge, "--op", "sum"]), "4.0\n");
    fine(&["cat", &huge, "--as", "npy", "-o", &at("few.npy")]);
    let out = tess(&["cat", &huge, "--full-domain", "--as", "npy", "-o", &at("all.npy")]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("exceeds the address space"), "{}", text(&out.stderr));
    // Nothing is left behind by the one that was refused.
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["cells.csv", "few.npy", "huge"]);
}
