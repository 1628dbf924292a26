//! `tess tsfile` and the other verbs on TsFiles, as a script sees them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{fine, path, tess, text};

fn parsed(args: &[&str]) -> Value {
    serde_json::from_str(&fine(args)).unwrap()
}

/// A file of two series with a few pages each, converted from CSV.
fn sample(folder: &Path, version: &str) -> PathBuf {
    let csv = folder.join("in.csv");
    let rows: Vec<String> = (0..25).map(|i| format!("{},{},{}.5\n", 1000 + i * 10, i * i, i)).collect();
    let rows = rows.concat();
    std::fs::write(&csv, format!("time,a,b\n{rows}")).unwrap();
    let file = folder.join(format!("v{version}.tsfile"));
    let version = format!("version={version}");
    let set = [&version, "page_points=10", "device=root.sg.d1", "aligned=false"];
    let set: Vec<&str> = set.into_iter().flat_map(|setting| ["--set", setting]).collect();
    fine(&[&["convert", path(&csv), path(&file), "--force"][..], &set].concat());
    file
}

#[test]
fn read_lists_the_records_of_every_version() {
    let folder = tempfile::tempdir().unwrap();
    for version in ["0.8", "1", "2", "3", "4"] {
        let file = sample(folder.path(), version);
        let dump = parsed(&["tsfile", "read", path(&file), "--points", "--json"]);
        assert_eq!(dump["stopped"], Value::Null, "version {version}");
        let chunks: Vec<&Value> =
            dump["records"].as_array().unwrap().iter().filter(|r| r["record"] == "chunk").collect();
        assert_eq!(chunks.len(), 2, "version {version}");
        let a = chunks.iter().find(|c| c["measurement"] == "a").unwrap();
        assert_eq!(a["pages"].as_array().unwrap().len(), 3);
        assert_eq!(a["pages"][1]["points"][0], json!([1100, 100]), "version {version}");
        let text = fine(&["tsfile", "read", path(&file)]);
        assert!(text.contains("measurement b"), "{text}");
    }
}

#[test]
fn stats_come_from_statistics_where_they_cover_the_time() {
    let folder = tempfile::tempdir().unwrap();
    for version in ["1", "3", "4"] {
        let file = sample(folder.path(), version);
        let all = parsed(&["tsfile", "stats", path(&file), "--json"]);
        let a = &all["series"][0];
        assert_eq!((a["device"].as_str(), a["measurement"].as_str()), (Some("root.sg.d1"), Some("a")));
        assert_eq!((&a["count"], &a["min"], &a["max"]), (&json!(25), &json!(0), &json!(576)));
        assert_eq!(a["last"], json!({ "time": 1240, "value": 576 }));
        let is_old = version == "1";
        assert_eq!(a["effort"]["pages_decoded"], json!(if is_old { 3 } else { 0 }), "version {version}");
        // From the middle of the first page of ten points on.
        let part = ["--series", "root.sg.d1.a", "--from", "1050", "--json"];
        let part = parsed(&[&["tsfile", "stats", path(&file)][..], &part].concat());
        let a = &part["series"][0];
        assert_eq!((&a["count"], &a["sum"]), (&json!(20), &json!(4870.0)));
        assert_eq!(a["effort"]["pages_decoded"], json!(if is_old { 3 } else { 1 }), "version {version}");
    }
    let file = sample(folder.path(), "4");
    let text = fine(&["tsfile", "stats", path(&file), "--from", "-5", "--to", "1000"]);
    assert!(text.contains("root.sg.d1.b") && text.contains("0.5"), "{text}");
    assert_eq!(tess(&["tsfile", "stats", path(&file), "--series", "root.sg.x"]).status.code(), Some(2));
}

#[test]
fn read_reports_where_a_truncated_file_stops() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample(folder.path(), "4");
    let bytes = std::fs::read(&file).unwrap();
    let cut = folder.path().join("cut.tsfile");
    std::fs::write(&cut, &bytes[..100]).unwrap();
    let dump = parsed(&["tsfile", "read", path(&cut), "--json"]);
    assert!(dump["stopped"].as_str().unwrap().contains("byte"), "{dump}");
    // A file that is not a TsFile is an error.
    std::fs::write(&cut, b"something else entirely").unwrap();
    assert_eq!(tess(&["tsfile", "read", path(&cut)]).status.code(), Some(1));
    assert_eq!(tess(&["tsfile", "read", "/nowhere.tsfile"]).status.code(), Some(3));
}

/// A resource file of 0.9: first times, then last times.
fn resource(device: &str, start: i64, end: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for time in [start, end] {
        bytes.extend(1_i32.to_be_bytes());
        bytes.extend((device.len() as i32).to_be_bytes());
        bytes.extend(device.as_bytes());
        bytes.extend(time.to_be_bytes());
    }
    bytes
}

#[test]
fn a_data_directory_is_listed_file_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample(folder.path(), "1");
    let data = folder.path().join("data");
    for (part, name) in [("sequence", "1-1-0"), ("unsequence", "2-2-0")] {
        let group = data.join(part).join("root.sg");
        std::fs::create_dir_all(&group).unwrap();
        std::fs::copy(&file, group.join(format!("{name}.tsfile"))).unwrap();
        let resource = resource("root.sg.d1", 1000, 1240);
        std::fs::write(group.join(format!("{name}.tsfile.resource")), resource).unwrap();
    }
    let mods = data.join("sequence/root.sg/1-1-0.tsfile.mods");
    std::fs::write(mods, "DELETION,root.sg.d1.a,5,1050\n").unwrap();

    let files = parsed(&["tsfile", "resource", path(&data), "--json"]);
    let expected = json!({ "file": "sequence/root.sg/1-1-0.tsfile.resource", "devices": { "root.sg.d1": [1000, 1240] } });
    assert_eq!(files["files"][0], expected);
    let overview = parsed(&["tsfile", "data-dir", path(&data), "--json"]);
    let (first, second) = (&overview["files"][0], &overview["files"][1]);
    assert_eq!((&first["sequence"], &second["sequence"]), (&json!(true), &json!(false)));
    assert_eq!(first["version"], "000001");
    assert_eq!(first["deletions"][0]["end"], 1050);
    assert_eq!(second["devices"]["root.sg.d1"], json!([1000, 1240]));
    assert!(fine(&["tsfile", "data-dir", path(&data)]).contains("unsequence/root.sg/2-2-0.tsfile"));
    assert!(fine(&["tsfile", "resource", path(&data)]).contains("root.sg.d1"));
    // A file is not a data directory: the call is invalid.
    assert_eq!(tess(&["tsfile", "data-dir", path(&file)]).status.code(), Some(2));
}

#[test]
fn a_sketch_ends_at_chunks_unless_pages_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample(folder.path(), "3");
    let brief = fine(&["sketch", path(&file)]);
    assert!(brief.contains("chunk of a") && brief.contains("3 pages"), "{brief}");
    assert!(!brief.contains("page 0"), "{brief}");
    let full = fine(&["sketch", path(&file), "--pages"]);
    assert!(full.contains("page 2"), "{full}");
    let pages = |map: &Value| {
        let extents = map["files"][0]["extents"].as_array().unwrap();
        extents.iter().filter(|e| e["content"].as_str().unwrap().starts_with("page ")).count()
    };
    assert_eq!(pages(&parsed(&["sketch", path(&file), "--json"])), 0);
    assert_eq!(pages(&parsed(&["sketch", path(&file), "--json", "--pages"])), 6);
}

#[test]
fn a_cut_file_is_repaired_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample(folder.path(), "1");
    let bytes = std::fs::read(&file).unwrap();
    let cut = folder.path().join("cut.tsfile");
    std::fs::write(&cut, &bytes[..bytes.len() - 40]).unwrap();
    assert_eq!(tess(&["verify", path(&cut), "--deep"]).status.code(), Some(1));
    let whole = folder.path().join("whole.tsfile");
    let report = parsed(&["repair", path(&cut), path(&whole), "--json"]);
    assert!(report["kept_bytes"].as_u64().unwrap() > 0, "{report}");
    fine(&["verify", path(&whole), "--deep"]);
    fine(&["diff", path(&file), path(&whole)]);
}

#[test]
fn deletions_of_the_binary_form_are_applied() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample(folder.path(), "4");
    let before = fine(&["cat", path(&file), "--as", "csv"]).lines().count();
    let mods = folder.path().join("v4.tsfile.mods2");
    let mut bytes = vec![1];
    bytes.extend(i64::MIN.to_be_bytes());
    bytes.extend(i64::MAX.to_be_bytes());
    bytes.extend([14]);
    bytes.extend(b"root.**");
    std::fs::write(&mods, &bytes).unwrap();
    let after = fine(&["cat", path(&file), "--as", "csv"]).lines().count();
    assert!(before > 1 && after == 1, "{before} {after}");
    std::fs::write(&mods, &bytes[..20]).unwrap();
    assert_eq!(fine(&["cat", path(&file), "--as", "csv"]).lines().count(), before);
    assert!(fine(&["verify", path(&file)]).contains("torn_deletion"));
}

#[test]
fn deletions_that_are_not_understood_are_not_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample(folder.path(), "4");
    std::fs::write(folder.path().join("v4.tsfile.mods2"), [9, 2, 3]).unwrap();
    let out = tess(&["cat", path(&file)]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains(".mods2"));
}

#[test]
fn files_name_their_creator_and_properties() {
    let folder = tempfile::tempdir().unwrap();
    let source = sample(folder.path(), "1");
    let target = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (old, new, back) = (target("old.tsfile"), target("new.tsfile"), target("back.tsfile"));
    fine(&["convert", path(&source), &old, "--set", "created_by=the plant"]);
    let info = parsed(&["info", &old, "--json"]);
    assert_eq!(info["file_metadata"][0]["created_by"], "the plant", "{info}");
    assert!(fine(&["info", &old, "--all"]).contains("created_by: the plant"));
    fine(&["convert", path(&source), &new, "--set", "version=4", "--set", "properties=site:north,shift:2"]);
    let info = parsed(&["info", &new, "--json"]);
    assert_eq!(
        (&info["metadata"]["site"], &info["metadata"]["shift"]),
        (&json!("north"), &json!("2")),
        "{info}"
    );
    // The creator of a rewritten file stays; properties that a version cannot store are reported.
    fine(&["convert", &old, &back]);
    assert_eq!(parsed(&["info", &back, "--json"])["file_metadata"][0]["created_by"], "the plant");
    let report = parsed(&["convert", &new, &back, "--set", "version=3", "--force", "--json"]);
    assert!(report.to_string().contains("site"), "{report}");
    for wrong in
        [["version=4", "created_by=x"], ["version=3", "properties=a:b"], ["version=4", "properties=a"]]
    {
        let set = ["--set", wrong[0], "--set", wrong[1], "--force"];
        let out = tess(&[&["convert", path(&source), &back], &set[..]].concat());
        assert_eq!(out.status.code(), Some(2), "{wrong:?}: {}", text(&out.stderr));
    }
}
