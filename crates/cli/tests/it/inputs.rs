//! Every verb takes every format.

use std::path::PathBuf;

use crate::support::{fine, json_of, path, tess, text};

/// A grid of 3 by 4 cells, and its conversions into every other format.
fn files(folder: &std::path::Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let csv = folder.join("a.csv");
    let rows: Vec<String> = (0..12).map(|i| format!("{},{},{}", i / 4, i % 4, f64::from(i) / 2.0)).collect();
    std::fs::write(&csv, format!("y,x,value\n{}\n", rows.join("\n"))).unwrap();
    let made = |name: &str, flags: &[&str]| {
        let target = folder.join(name);
        fine(&[&["convert", path(&csv), path(&target)], flags].concat());
        target
    };
    let mut rows = vec![csv.clone()];
    rows.extend(["a.parquet", "a.arrow", "a.jsonl", "a.tatami"].map(|name| made(name, &[])));
    let zarr = made("a.zarr", &["--set", "axes=y,x", "--set", "shape=3,4"]);
    let tet = made("a.tet", &["--set", "axes=2"]);
    let tiledb = folder.join("a.tiledb");
    fine(&["convert", path(&tet), path(&tiledb), "--into", "value"]);
    let npy = folder.join("a.npy");
    fine(&["convert", path(&tet), path(&npy)]);
    (rows, vec![zarr, tet, tiledb, npy])
}

#[test]
fn every_verb_takes_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, arrays) = files(folder.path());
    for file in rows.iter().chain(&arrays) {
        let name = path(file);
        let lines = fine(&["cat", name, "--as", "csv"]);
        assert_eq!(lines.lines().count(), 13, "{name}");
        assert_eq!(lines.lines().last().unwrap().rsplit(',').next(), Some("5.5"), "{name}");
        let few =
            fine(&["cat", name, "--as", "jsonl", "--where", "value > 2 AND value < 4", "--columns", "value"]);
        assert_eq!(few.lines().count(), 3, "{name}: {few}");
        let info = json_of(&["info", name, "--chunks"]);
        assert_eq!(info["tables"][0]["rows"], 12, "{name}: {info}");
        assert!(!info["chunks"].as_array().unwrap().is_empty(), "{name}: {info}");
        let columns = info["tables"][0]["columns"].as_array().unwrap();
        assert_eq!(columns.last().unwrap()["name"], "value", "{name}: {info}");
        assert_eq!(json_of(&["verify", "--deep", name])["ok"], true, "{name}");
        assert!(fine(&["sketch", name]).contains("POSITION"), "{name}");
        assert_eq!(
            json_of(&["diff", name, path(&rows[1]), "--columns", "value"])["differing_values"],
            0,
            "{name}"
        );
    }
    for file in &arrays {
        assert_eq!(fine(&["reduce", path(file), "--op", "sum"]), "33.0\n", "{}", file.display());
    }
}

#[test]
fn damage_in_files_of_other_formats_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, _) = files(folder.path());
    for file in
        rows.iter().filter(|file| file.extension().is_some_and(|end| end == "parquet" || end == "arrow"))
    {
        let mut bytes = std::fs::read(file).unwrap();
        bytes.truncate(bytes.len() - 9);
        std::fs::write(file, bytes).unwrap();
        let out = tess(&["verify", path(file), "--json"]);
        assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
        let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(report["ok"], false, "{report}");
    }
}

#[test]
fn an_arrow_stream_is_read_like_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, _) = files(folder.path());
    let stream = folder.path().join("s.arrows");
    let out = tess(&["cat", path(&rows[1]), "--as", "arrow"]);
    std::fs::write(&stream, out.stdout).unwrap();
    assert_eq!(fine(&["cat", path(&stream), "--as", "csv"]), fine(&["cat", path(&rows[1]), "--as", "csv"]));
    assert_eq!(json_of(&["info", path(&stream)])["version"], "stream");
}

#[test]
fn all_columns_that_do_not_fit_are_named_with_one_cast() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.csv");
    std::fs::write(&source, "time,on,off,v\n1,true,false,1\n2,false,true,2\n").unwrap();
    let target = folder.path().join("a.tet");
    let out = tess(&["convert", path(&source), path(&target)]);
    assert_eq!(out.status.code(), Some(2));
    let error = text(&out.stderr);
    assert!(error.contains("'on'") && error.contains("'off'"), "{error}");
    assert!(error.contains("--cast on=uint8 --cast off=uint8"), "{error}");
    fine(&["convert", path(&source), path(&target), "--cast", "on=uint8", "--cast", "off=uint8"]);
}
