//! Schemas of arrays on the command line, and what a fragment stores.

use serde_json::{Value, json};

use crate::support::{fine, json_of, path, tess, text};

fn refused(args: &[&str]) -> String {
    let out = tess(args);
    assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stderr));
    text(&out.stderr)
}

#[test]
fn dimensions_and_attributes_are_stated_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let (grid, points) = (folder.path().join("grid"), folder.path().join("points"));
    let dims = ["--dim", "y:INT32:0:99:10", "--dim", "x:INT32:-50:49:25/zstd:3"];
    let attrs = ["--attr", "t:FLOAT32?/byteshuffle,zstd:5", "--attr", "n:INT16", "--attr", "s:STRING_UTF8"];
    let sets = ["--set", "cell_order=col-major", "--set", "fill.n=-7", "--set", "offsets_filters=zstd:2"];
    fine(&[&["tiledb", "create", path(&grid)][..], &dims, &attrs, &sets].concat());
    let info = json_of(&["info", path(&grid)]);
    assert_eq!((&info["kind"], &info["cell_order"]), (&json!("dense"), &json!("col-major")));
    assert_eq!(info["offsets_filters"], json!([{ "name": "zstd", "level": 2 }]));
    let columns = info["tables"][0]["columns"].as_array().unwrap();
    let names: Vec<&Value> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(names, ["y", "x", "t", "n", "s"]);
    assert_eq!((&columns[1]["domain"], &columns[1]["extent"]), (&json!([-50, 49]), &json!(25)));
    assert_eq!(columns[1]["filters"], json!([{ "name": "zstd", "level": 3 }]));
    assert_eq!((&columns[2]["nullable"], &columns[3]["nullable"]), (&json!(true), &json!(false)));
    assert_eq!((&columns[3]["fill"], &columns[4]["cell_val_num"]), (&json!(-7), &json!("var")));

    let columns = ["--dim", "id:string_ascii", "--attr", "color:UINT8@colors"];
    let sets = ["--enumeration", "colors=red,green", "--set", "kind=sparse", "--set", "dups=true"];
    fine(&[&["tiledb", "create", path(&points)][..], &columns, &sets].concat());
    let info = json_of(&["info", path(&points)]);
    assert_eq!((&info["kind"], &info["allows_dups"]), (&json!("sparse"), &json!(true)));
    assert_eq!(info["enumerations"]["colors"]["values"], json!(["red", "green"]));
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, "id,color\na,red\nb,green\n").unwrap();
    fine(&["tiledb", "write", path(&points), path(&rows)]);
    assert_eq!(fine(&["cat", path(&points), "--as", "csv"]), "id,color\na,red\nb,green\n");
    std::fs::write(&rows, "id,color\nc,blue\n").unwrap();
    let message = refused(&["tiledb", "write", path(&points), path(&rows)]);
    assert!(message.contains("blue") && message.contains("extend"), "{message}");

    let new = folder.path().join("new");
    let new = path(&new);
    refused(&["tiledb", "create", new, "--dim", "x:INT32:0:9"]);
    refused(&["tiledb", "create", new, "--dim", "x", "--attr", "a:INT32"]);
    refused(&["tiledb", "create", new, "--dim", "x:INT32:0:9", "--attr", "a:INT99"]);
    let unknown = refused(&[
        "tiledb",
        "create",
        new,
        "--dim",
        "x:INT32:0:9:5",
        "--attr",
        "a:INT32",
        "--set",
        "fill.b=1",
    ]);
    assert!(unknown.contains("fill.b") && unknown.contains("fill.a"), "{unknown}");
    assert!(!folder.path().join("new").exists());
}

#[test]
fn the_schema_of_an_array_makes_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    fine(&["tiledb", "create", path(&first), "--dim", "x:INT32:0:9:5", "--attr", "a:FLOAT64/gzip:3"]);
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, "x,a\n2,1.5\n3,2.5\n").unwrap();
    fine(&["tiledb", "write", path(&first), path(&rows)]);
    let schema = fine(&["info", path(&first), "--schema"]);
    assert!(!schema.contains("fragments") && !schema.contains("non_empty_domain"), "{schema}");
    let file = folder.path().join("schema.json");
    std::fs::write(&file, &schema).unwrap();
    fine(&["tiledb", "create", path(&second), "--schema", path(&file)]);
    assert_eq!(fine(&["info", path(&second), "--schema"]), schema);
    let message = refused(&["info", path(&rows), "--schema"]);
    assert!(message.contains("not a TileDB array"), "{message}");
}

#[test]
fn domains_of_a_dense_array_are_shown_in_cells_and_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("array");
    let array = path(&array);
    fine(&["tiledb", "create", array, "--dim", "x:INT32:0:999999:100", "--attr", "a:FLOAT64?"]);
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, "x,a\n2,1.5\n3,2.5\n").unwrap();
    fine(&["tiledb", "write", array, path(&rows)]);
    let sizes = |cells: u64| json!({ "cells": cells, "bytes": cells * 9 });
    let shown = json_of(&["info", array])["tables"][0]["sizes"].clone();
    assert_eq!(
        shown,
        json!({ "domain": sizes(1_000_000), "current_domain": null, "non_empty_domain": sizes(2) })
    );
    fine(&["tiledb", "evolve", array, "--expand", "x=0:49"]);
    assert_eq!(json_of(&["info", array])["tables"][0]["sizes"]["current_domain"], sizes(50));
}

#[test]
fn tiles_and_trees_of_fragments_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("array");
    let array = path(&array);
    let columns = ["--dim", "x:INT32:0:999:10", "--attr", "a:INT64?"];
    let sets = ["--set", "kind=sparse", "--set", "capacity=2"];
    fine(&[&["tiledb", "create", array][..], &columns, &sets].concat());
    let rows: Vec<String> = (0..24).map(|x| format!("{x},{}", x * 10)).collect();
    let file = folder.path().join("rows.csv");
    std::fs::write(&file, format!("x,a\n{}\n", rows.join("\n"))).unwrap();
    fine(&["tiledb", "write", array, path(&file)]);
    let plain = json_of(&["tiledb", "fragments", array]);
    let fragment = &plain["fragments"][0];
    assert_eq!((&fragment["rtree"]["mbrs"], &fragment["tile_list"]), (&Value::Null, &Value::Null));
    let fragment = json_of(&["tiledb", "fragments", array, "--tiles", "--rtree"])["fragments"][0].clone();
    // Twelve tiles of two cells, below two nodes, below the root.
    let levels: Vec<usize> = fragment["rtree"]["mbrs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|level| level.as_array().unwrap().len())
        .collect();
    assert_eq!(json!(levels), fragment["rtree"]["levels"]);
    assert_eq!(levels, [1, 2, 12]);
    assert_eq!(fragment["rtree"]["mbrs"][0], json!([[[0, 23]]]));
    assert_eq!(fragment["rtree"]["mbrs"][2][1], json!([[2, 3]]));
    let tiles = fragment["tile_list"].as_array().unwrap();
    assert_eq!(tiles.len(), 24);
    let second = tiles.iter().find(|tile| tile["column"] == "a" && tile["tile"] == 1).unwrap();
    let stated = ["cells", "mbr", "min", "max", "sum", "nulls"].map(|key| second[key].clone());
    assert_eq!(stated, [json!(2), json!([[2, 3]]), json!(20), json!(30), json!(50), json!(0)]);
    let shown = fine(&["tiledb", "fragments", array, "--tiles", "--rtree"]);
    assert!(shown.contains("level 0, MBR 0: [[0, 23]]") && !shown.contains('{'), "{shown}");
}

/// The domain, the extent and the fill value of the columns of an array.
fn stated(array: &str) -> Vec<(Value, Value, Value)> {
    let info = json_of(&["info", array]);
    let columns = info["tables"][0]["columns"].as_array().unwrap().iter();
    columns
        .map(|column| (column["domain"].clone(), column["extent"].clone(), column["fill"].clone()))
        .collect()
}

#[test]
fn domains_and_boxes_of_times_are_dates_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (rows, by_hand, dense) = (at("rows.csv"), at("by_hand"), at("dense"));
    std::fs::write(&rows, "time,day,v\n2024-01-02T06:00:00,2024-01-02,1\n").unwrap();
    let create = |name: &str, sets: &[&str]| {
        let array = at(name);
        let mut args = vec!["tiledb", "create", &array, "--like", &rows, "--set", "kind=sparse"];
        args.extend(sets.iter().flat_map(|set| ["--set", set]));
        (tess(&args), array.clone())
    };
    let both = "dims=time,day";
    let sets =
        [both, "domain.time=2024-01-01T00:00:00:2024-12-31T23:59:59", "domain.day=2024-01-01:2024-12-31"];
    let (done, array) = create("sparse", &[&sets[..], &["extent.time=7 days", "extent.day=7 days"]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    let (day, seconds) = (19_723, 86_400);
    let columns = stated(&array);
    assert_eq!(columns[1].0, json!([day, day + 365]));
    assert_eq!(columns[1].1, json!(7));
    let unit = columns[0].1.as_i64().unwrap() / (7 * seconds);
    assert_eq!(columns[0].0, json!([day * seconds * unit, ((day + 366) * seconds - 1) * unit]));
    // As numbers of the unit, as before.
    let (done, numbers) = create("numbers", &[both, "domain.day=19723:20088", "domain.time=0:99"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(stated(&numbers)[1].0, json!([19_723, 20_088]));
    for wrong in [
        "domain.day=2024-01-01T06:00:00:2024-12-31",
        "domain.day=2024-13-01:2024-12-31",
        "domain.v=2024-01-01:2024-12-31",
        "extent.day=90 minutes",
        "extent.day=1 month",
    ] {
        let (done, _) = create("wrong", &["dims=day,v", "domain.day=0:9", "domain.v=0:9", wrong]);
        assert_eq!(done.status.code(), Some(2), "{wrong}");
        assert!(!text(&done.stderr).contains("panicked"), "{wrong}");
    }

    // The same language by hand, in boxes to write and to read, and in fill values.
    let dims = ["--dim", "time:DATETIME_MS:2024-01-01T00:00:00:2024-01-01T00:00:59.999:1 second"];
    let day_dim = ["--dim", "day:DATETIME_DAY:2024-01-01:2024-01-31:7 days"];
    let attrs =
        ["--attr", "v:INT32", "--attr", "when:DATETIME_SEC", "--set", "fill.when=1970-01-01T00:01:00"];
    fine(&[&["tiledb", "create", &by_hand, "--set", "kind=sparse"], &dims[..], &day_dim, &attrs].concat());
    let columns = stated(&by_hand);
    let milliseconds = day * seconds * 1000;
    assert_eq!((&columns[0].0, &columns[0].1), (&json!([milliseconds, milliseconds + 59_999]), &json!(1000)));
    assert_eq!((&columns[1].0, &columns[1].1), (&json!([day, day + 30]), &json!(7)));
    assert_eq!(columns[3].2, json!(60));

    fine(&[&["tiledb", "create", &dense][..], &day_dim, &["--attr", "v:INT64"]].concat());
    std::fs::write(&rows, "v\n1\n2\n3\n").unwrap();
    fine(&["tiledb", "write", &dense, &rows, "--region", "2024-01-05:2024-01-08"]);
    let shown = fine(&["cat", &dense, "--as", "csv"]);
    assert_eq!(shown, "day,v\n2024-01-05,1\n2024-01-06,2\n2024-01-07,3\n");
    let read = |how: &[&str]| fine(&[&["cat", &dense, "--as", "csv", "--columns", "v"], how].concat());
    assert_eq!(read(&["--slice", "2024-01-06:"]), "v\n2\n3\n");
    assert_eq!(read(&["--slice", "2024-01-05:2024-01-08:2"]), "v\n1\n3\n");
    assert_eq!(read(&["--slice", "2024-01-06"]), "v\n2\n");
    assert_eq!(read(&["--range", "day=2024-01-06:2024-01-07"]), "v\n2\n3\n");
    assert_eq!(read(&["--where", "day BETWEEN '2024-01-06' AND '2024-01-07'"]), "v\n2\n3\n");
    let sum = json_of(&["reduce", &dense, "--op", "sum", "--slice", "2024-01-06:2024-01-08"]);
    assert!(sum.to_string().contains('5'), "{sum}");
    refused(&["tiledb", "write", &dense, &rows, "--region", "2023-01-05:2023-01-08"]);
    let wrong = refused(&["cat", &numbers, "--slice", "2024-01-05:2024-01-08"]);
    assert!(wrong.contains("--slice") || wrong.contains("sparse") || wrong.contains("grid"), "{wrong}");

    // A current domain grows in the same words.
    let file = folder.path().join("schema.json");
    let schema = json!({
        "kind": "dense", "current_domain": [["2024-01-01", "2024-01-07"]],
        "columns": [
            { "name": "day", "role": "dimension", "type": "DATETIME_DAY", "domain": ["2024-01-01", "2024-12-31"], "extent": "7 days" },
            { "name": "v", "role": "attribute", "type": "INT32" },
        ],
    });
    std::fs::write(&file, schema.to_string()).unwrap();
    let growing = at("growing");
    fine(&["tiledb", "create", &growing, "--schema", path(&file)]);
    fine(&["tiledb", "evolve", &growing, "--expand", "day=2024-01-01:2024-02-29"]);
    assert_eq!(json_of(&["info", &growing])["current_domain"], json!([[day, day + 59]]));
}

#[test]
fn columns_without_numbers_are_no_arrays_and_the_error_states_their_type() {
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("array");
    let attrs =
        ["--attr", "v:INT64", "--attr", "ok:BOOL", "--attr", "at:DATETIME_MS", "--attr", "s:STRING_UTF8"];
    fine(&[&["tiledb", "create", path(&array), "--dim", "y:INT32:0:3:2"][..], &attrs].concat());
    for (column, type_name) in [("ok", "bool"), ("at", "timestamp_ms"), ("s", "utf8")] {
        let message = refused(&["reduce", path(&array), "--op", "max", "--column", column]);
        assert!(message.contains(&format!("column '{column}' of type {type_name} is not")), "{message}");
    }
    assert!(refused(&["reduce", path(&array), "--op", "max", "--column", "w"]).contains("does not exist"));
}
