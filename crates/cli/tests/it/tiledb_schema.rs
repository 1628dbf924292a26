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
