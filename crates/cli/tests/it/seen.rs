//! What `tess info` and the options of every verb show and take.

use std::path::Path;

use crate::support::{fine, json_of, path, tess, text};

fn csv(folder: &Path, name: &str, content: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, content).unwrap();
    path(&file).to_owned()
}

/// A group of an array and of a group with another array.
fn group(folder: &Path) -> String {
    let rows = csv(folder, "members.csv", "x,v\n1,10\n2,20\n3,30\n");
    let group = folder.join("group");
    let outer = path(&group).to_owned();
    let (first, inner) = (format!("{outer}/first"), format!("{outer}/sub"));
    fine(&["tiledb", "group", &outer, "--create"]);
    fine(&["tiledb", "group", &inner, "--create"]);
    for array in [first, format!("{inner}/second")] {
        fine(&["convert", &rows, &array, "--to", "tiledb", "--set", "kind=sparse", "--set", "dims=x"]);
    }
    fine(&["tiledb", "group", &inner, "--add-array", "second"]);
    fine(&["tiledb", "group", &outer, "--add-array", "first", "--add-group", "sub"]);
    outer
}

#[test]
fn resources_are_options_of_every_verb_before_and_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", "x,v\n1,10\n2,20\n");
    let array = path(&folder.path().join("array")).to_owned();
    let limits = ["--threads", "2", "--memory-limit", "64MiB"];
    let create = ["tiledb", "create", &array, "--like", &rows, "--set", "kind=sparse", "--set", "dims=x"];
    let create = [&create[..], &["--set", "domain.x=0:9"]].concat();
    let calls: [&[&str]; 7] = [
        &create,
        &["tiledb", "write", &array, &rows],
        &["tiledb", "fragments", &array],
        &["cat", &rows],
        &["info", &rows],
        &["verify", &array],
        &["diff", &rows, &rows],
    ];
    for call in calls {
        fine(&[&limits[..], call].concat());
        if call[1] == "create" {
            std::fs::remove_dir_all(&array).unwrap();
        }
        fine(&[call, &limits[..]].concat());
        if call.len() > 2 && call[0] == "tiledb" && call[1] != "create" {
            fine(&[&call[..1], &limits[..], &call[1..]].concat());
        }
    }
    let refused = tess(&["cat", &rows, "--threads", "many"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn dialects_of_text_can_be_given_to_the_tools_of_tiledb() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", "x;v\n1;10\n2;NA\n");
    let array = path(&folder.path().join("array")).to_owned();
    let dialect = ["--delimiter", "semicolon", "--null", "NA"];
    let create = ["tiledb", "create", &array, "--like", &rows, "--set", "kind=sparse", "--set", "dims=x"];
    fine(&[&create[..], &["--set", "domain.x=0:9"], &dialect[..]].concat());
    fine(&[&["tiledb", "write", &array, &rows], &dialect[..]].concat());
    assert_eq!(fine(&["cat", &array, "--as", "csv"]), "x,v\n1,10\n2,\n");
}

#[test]
fn chunks_are_counted_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", "time,v,w\n1,10,1.5\n2,20,2.5\n3,30,3.5\n");
    let group = group(folder.path());
    let mut files = vec![group];
    for (name, settings) in [
        ("a.tsfile", &["--set", "device=root.d"][..]),
        ("a.tatami", &[]),
        ("a.tiledb", &["--set", "dims=time"]),
        ("a.parquet", &[]),
    ] {
        let file = path(&folder.path().join(name)).to_owned();
        fine(&[&["convert", &rows, &file], settings].concat());
        files.push(file);
    }
    for file in files {
        let all = json_of(&["info", &file, "--chunks", "-n", "0"]);
        let count = all["chunks"].as_array().unwrap().len();
        let some = json_of(&["info", &file, "--chunks", "-n", "1"]);
        assert_eq!(some["chunk_count"], count, "{file}");
        assert_eq!(some["chunks"].as_array().unwrap().len(), 1, "{file}");
        let shown = fine(&["info", &file, "--chunks", "-n", "1"]);
        assert!(shown.contains(&format!("chunks: 1 of {count}\n")), "{shown}");
        assert_eq!(json_of(&["info", &file, "--all"])["chunks"], all["chunks"], "{file}");
    }
}

#[test]
fn everything_about_a_tsfile_is_shown_without_json() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", "time,v\n1,10\n2,20\n3,30\n");
    let file = path(&folder.path().join("a.tsfile")).to_owned();
    fine(&["convert", &rows, &file, "--set", "device=root.d", "--set", "version=1"]);
    let shown = fine(&["info", &file, "--all"]);
    for fact in [
        "\n    measurement_schemas:\n      v (type INT64",
        "\n    bloom_filter:\n      bytes: ",
        "\n  start_time: 1\n  end_time: 3\n",
        "\n    page 0: offset",
        "count",
        "sum",
    ] {
        assert!(shown.contains(fact), "{fact:?} is missing: {shown}");
    }
    assert!(!shown.contains(['{', '}', '"']), "{shown}");
}

#[test]
fn arrays_of_groups_are_tables_of_info_and_their_tiles_are_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let group = group(folder.path());
    let info = json_of(&["info", &group, "--chunks"]);
    let names: Vec<&str> =
        info["tables"].as_array().unwrap().iter().map(|table| table["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["first", "sub/second"]);
    assert_eq!(info["tables"][1]["columns"][0]["name"], "x");
    assert_eq!(info["chunks"][0]["table"], "first");
    let sql = |query: String| fine(&["sql", &query, "--as", "csv"]);
    let tables = sql(format!("SELECT table_name, column_name FROM tess_tables('{group}') ORDER BY 1, 2"));
    assert_eq!(tables, "table_name,column_name\nfirst,v\nfirst,x\nsub/second,v\nsub/second,x\n");
    let chunks = sql(format!("SELECT count(*) AS n FROM tess_chunks('{group}') WHERE \"table\" = 'first'"));
    assert_eq!(chunks, "n\n2\n");
    std::fs::remove_dir_all(folder.path().join("group/first")).unwrap();
    let info = json_of(&["info", &group]);
    assert!(info["tables"][0]["error"].is_string(), "{info}");
    assert_eq!(info["tables"][1]["name"], "sub/second");
}

#[test]
fn a_missing_file_comes_with_a_similar_name_next_to_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.tet"), "").unwrap();
    let missing = folder.path().join("rum.tet");
    for verb in ["info", "cat", "verify", "sketch"] {
        let out = tess(&[verb, missing.to_str().unwrap()]);
        assert!(text(&out.stderr).contains("did you mean 'run.tet'?"), "{verb}: {}", text(&out.stderr));
    }
}

#[test]
fn a_missing_file_is_named_once_in_words_and_as_data() {
    for verb in ["info", "cat", "search"] {
        let more: &[&str] = if verb == "search" { &["word"] } else { &[] };
        let out = tess(&[&[verb, "nosuch.tatami", "--json"], more].concat());
        assert_eq!(out.status.code(), Some(3));
        let error: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(error["error"]["file"], "nosuch.tatami", "{verb}: {error}");
        let words = "tess: cannot read 'nosuch.tatami': no such file or directory\n";
        assert_eq!(text(&out.stderr), words, "{verb}");
    }
}
