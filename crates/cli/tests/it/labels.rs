//! Dimension labels and ranges of `tess`, from creation to selection.

use std::fmt::Write as _;
use std::path::Path;

use crate::support::{fine, json_of, path, tess, text};

fn put(folder: &Path, name: &str, content: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, content).unwrap();
    path(&file).to_owned()
}

/// A dense array of four rows and three columns with the label `lat` of its rows.
fn weather(folder: &Path) -> String {
    let mut cells = "y,x,t\n".to_owned();
    for y in 0..4 {
        for x in 0..3 {
            writeln!(cells, "{y},{x},{}", y * 10 + x).unwrap();
        }
    }
    let cells = put(folder, "cells.csv", &cells);
    let array = path(&folder.join("weather")).to_owned();
    let create = ["convert", &cells, &array, "--to", "tiledb", "--set", "kind=dense", "--set", "dims=y,x"];
    let domain = ["--set", "domain.y=0:3", "--set", "domain.x=0:2"];
    fine(
        &[&create[..], &domain[..], &["--set", "labels=lat:y:FLOAT64,day:x:DATETIME_DAY:decreasing"]]
            .concat(),
    );
    let latitudes = put(folder, "lat.csv", "degrees\n40\n41.5\n43\n52\n");
    fine(&["tiledb", "write", &array, &latitudes, "--label", "lat"]);
    array
}

fn values(array: &str, more: &[&str]) -> Vec<i64> {
    let rows = fine(&[&["cat", array, "--columns", "t", "--as", "csv"], more].concat());
    rows.lines().skip(1).map(|line| line.parse().unwrap()).collect()
}

#[test]
fn rows_are_selected_by_labels() {
    let folder = tempfile::tempdir().unwrap();
    let array = weather(folder.path());
    assert_eq!(values(&array, &["--range", "lat=41:43", "--range", "x=0:1"]), [10, 11, 20, 21]);
    assert_eq!(values(&array, &["--range", "lat=:40", "--range", "lat=50:", "--range", "x=2"]), [2, 32]);
    assert_eq!(values(&array, &["--range", "lat=44:45"]), [] as [i64; 0]);
    let both = ["--range", "lat=40:42", "--where", "t > 10"];
    assert_eq!(values(&array, &both), [11, 12]);
    // The values of another label are not written yet.
    assert_eq!(values(&array, &["--range", "day=2024-01-01:2024-02-01"]), [] as [i64; 0]);
}

#[test]
fn labels_in_falling_order_take_times() {
    let folder = tempfile::tempdir().unwrap();
    let array = weather(folder.path());
    let days = put(folder.path(), "days.csv", "index,label\n0,2024-01-03\n1,2024-01-02\n2,2024-01-01\n");
    fine(&["tiledb", "write", &array, &days, "--label", "day"]);
    assert_eq!(values(&array, &["--range", "day=2024-01-02:", "--range", "y=3"]), [30, 31]);
    let rising = put(folder.path(), "wrong.csv", "label\n2024-01-01\n2024-01-02\n2024-01-03\n");
    let refused = tess(&["tiledb", "write", &array, &rising, "--label", "day"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn a_schema_carries_its_labels_to_another_array() {
    let folder = tempfile::tempdir().unwrap();
    let array = weather(folder.path());
    let schema = put(folder.path(), "schema.json", &fine(&["info", &array, "--json"]));
    let copy = path(&folder.path().join("copy")).to_owned();
    fine(&["tiledb", "create", &copy, "--schema", &schema]);
    assert_eq!(json_of(&["info", &copy])["labels"], json_of(&["info", &array])["labels"]);
}

#[test]
fn names_and_values_of_ranges_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let array = weather(folder.path());
    for (range, word) in
        [("latt=1:2", "'lat'"), ("x=a:b", "not a value"), ("x", "NAME=LOW:HIGH"), ("day=soon:", "not a time")]
    {
        let out = tess(&["cat", &array, "--range", range]);
        assert_eq!(out.status.code(), Some(2), "{range}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(word), "{range}: {}", text(&out.stderr));
    }
    let cells = format!("{}/cells.csv", path(folder.path()));
    for labels in ["lat:z:FLOAT64", "lat:y:STRING_UTF8", "lat"] {
        let setting = format!("labels={labels}");
        let target = format!("{}/refused", path(folder.path()));
        let out = tess(&[
            "convert",
            &cells,
            &target,
            "--to",
            "tiledb",
            "--set",
            "kind=dense",
            "--set",
            "dims=y,x",
            "--set",
            &setting,
        ]);
        assert_eq!(out.status.code(), Some(2), "{labels}: {}", text(&out.stderr));
        assert!(!Path::new(&target).exists());
    }
}

#[test]
fn ranges_apply_to_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let cells = put(folder.path(), "names.csv", "name,v\nada,1\nbob,2\ncleo,3\ndan,4\n");
    let file = path(&folder.path().join("names.tatami")).to_owned();
    fine(&["convert", &cells, &file]);
    let rows = fine(&[
        "cat",
        &file,
        "--range",
        "name=a:bz",
        "--range",
        "name=d:",
        "--range",
        "v=2:9",
        "--as",
        "csv",
    ]);
    assert_eq!(rows, "name,v\nbob,2\ndan,4\n");
}
