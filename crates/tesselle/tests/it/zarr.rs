//! Stores written by the Zarr library, and stores written by us.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use tesselle::foreign::ArrowIpc;
use tesselle::{
    DatasetTable, Driver, DriverOptions, ErrorKind, Format, Location, Settings, WriteOptions, convert, diff,
};
use tesselle_core::testing::copy_folder;

fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(64 << 20)).unwrap()
}

fn store(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/zarr").join(name)
}

fn open(uri: &str) -> tesselle::Result<DatasetTable> {
    tesselle::Opener::new().open_table(uri)
}

/// The values of a column, as doubles.
fn column(source: &DatasetTable, name: &str) -> Vec<f64> {
    let rows = source.scan().columns([name]).on(&driver()).rows().unwrap();
    rows.flat_map(|batch| {
        let column = arrow_cast::cast(batch.unwrap().column(0), &DataType::Float64).unwrap();
        column.as_primitive::<Float64Type>().values().to_vec()
    })
    .collect()
}

fn count(n: usize) -> impl Iterator<Item = f64> {
    (0..n).map(|i| i as f64)
}

#[test]
fn stores_of_the_zarr_library_are_read_as_it_reads_them() {
    let cases: Vec<(&str, Vec<u64>, Vec<f64>)> = vec![
        ("zstd.zarr", vec![7, 10], count(70).map(|i| i / 4.0).collect()),
        ("gzip.zarr", vec![5, 6], count(30).collect()),
        ("crc.zarr", vec![11], count(11).map(|i| i * 1e12).collect()),
        ("raw.zarr", vec![2, 3, 4], count(24).map(|i| f64::from(u8::from(i % 3.0 == 0.0))).collect()),
        ("sharded.zarr", vec![20, 12], count(240).collect()),
        ("blosc.zarr", vec![20, 20], count(400).map(|i| i * 3.0).collect()),
        ("blosc-lz4.zarr", vec![20, 20], count(400).map(|i| i / 7.0).collect()),
        ("blosclz.zarr", vec![30, 100], count(3000).map(|i| i % 17.0).collect()),
        ("transposed.zarr", vec![2, 3, 4], count(24).collect()),
        ("scalar.zarr", vec![1], vec![42.0]),
    ];
    for (name, shape, want) in cases {
        let source = open(store(name).to_str().unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(source.format().name(), "zarr");
        assert_eq!(source.row_count(), Some(shape.iter().product()), "{name}");
        assert_eq!(column(&source, "value"), want, "{name}");
        assert_eq!(source.schema().fields().len(), shape.len() + 1, "{name}");
    }
}

#[test]
fn missing_chunks_have_the_fill_value() {
    let values = column(&open(store("sparse.zarr").to_str().unwrap()).unwrap(), "value");
    assert_eq!(values.iter().filter(|v| v.is_nan()).count(), 75);
    assert_eq!(values[5..10], [0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn axes_have_their_names_and_groups_their_arrays() {
    let names = |source: &DatasetTable| {
        source.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>().join(",")
    };
    assert_eq!(names(&open(store("zstd.zarr").to_str().unwrap()).unwrap()), "y,x,value");
    let group = store("group.zarr");
    let one = open(&format!("{}#temperature", group.display())).unwrap();
    assert_eq!(names(&one), "lat,lon,value");
    assert_eq!(column(&one, "value"), count(12).collect::<Vec<_>>());
    assert_eq!(column(&open(&format!("{}#deep/levels", group.display())).unwrap(), "value").len(), 5);
    let error = open(group.to_str().unwrap()).err().unwrap().to_string();
    assert!(error.contains("temperature"), "{error}");
    let error = open(&format!("{}#nothing", group.display())).err().unwrap().to_string();
    assert!(error.contains("'nothing'"), "{error}");
}

/// The files below a folder, by their paths.
fn files(folder: &Path, path: &str, out: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = format!("{path}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files(&entry.path(), &path, out);
        } else {
            out.push((path, std::fs::read(entry.path()).unwrap()));
        }
    }
    out.sort();
}

#[test]
fn a_hierarchy_is_copied_as_it_is_and_written_again_with_settings() {
    let folder = tempfile::tempdir().unwrap();
    let content = |place: &Path| {
        let mut all = Vec::new();
        files(place, "", &mut all);
        all
    };
    // Arrays of different shapes, codecs that are not written, shards, and chunks that are missing.
    for name in ["group.zarr", "blosc.zarr", "sharded.zarr", "sparse.zarr"] {
        let (source, target) = (store(name), folder.path().join(name));
        for upgrade in [false, true] {
            let conversion = convert(source.to_str().unwrap(), target.to_str().unwrap());
            conversion.upgrade(upgrade).overwrite(upgrade).on(&driver()).run().unwrap();
            assert_eq!(content(&source), content(&target), "{name}");
        }
    }
    let (source, target) = (store("blosc.zarr"), folder.path().join("raw.zarr"));
    let conversion = convert(source.to_str().unwrap(), target.to_str().unwrap()).set("codec", "raw");
    conversion.on(&driver()).run().unwrap();
    assert_ne!(content(&source), content(&target));
    let found = diff(source.to_str().unwrap(), target.to_str().unwrap()).on(&driver()).run().unwrap();
    assert!(found.is_equal(), "{found:?}");
}

#[test]
fn arrays_go_to_zarr_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let go = |from: &str, to: &str, pairs: &[&str]| {
        let conversion = convert(from, to).options(Settings::from_pairs(pairs).unwrap()).on(&driver());
        conversion.run().unwrap_or_else(|error| panic!("{from} {to}: {error}"))
    };
    let same = |a: &str, b: &str| {
        let found = diff(a, b).on(&driver()).run().unwrap();
        assert!(found.is_equal(), "{a} {b}: {found:?}");
    };
    for (name, pairs) in [
        ("zstd.zarr", vec![]),
        ("sharded.zarr", vec!["chunk=7,5", "codec=gzip"]),
        ("blosc.zarr", vec!["codec=raw"]),
        ("transposed.zarr", vec!["chunk=2,2,3", "level=7"]),
        ("raw.zarr", vec!["chunk=1,2,3"]),
    ] {
        let source = store(name).to_str().unwrap().to_owned();
        let copy = path(name);
        go(&source, &copy, &pairs);
        same(&source, &copy);
        if name != "raw.zarr" {
            let tet = path(&format!("{name}.tet"));
            go(&copy, &tet, &[]);
            same(&source, &tet);
            let tiledb = path(&format!("{name}.tiledb"));
            go(&copy, &tiledb, &[]);
            same(&source, &tiledb);
        }
    }
    // Several arrays of one shape are a table, and a table of several columns is a group.
    let table = path("table.csv");
    std::fs::write(
        &table,
        "a,b\n".to_owned() + &(0..5000).map(|i| format!("{i},{}.5", i * 2)).collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    go(&table, &path("table.zarr"), &["chunk=1000"]);
    let group = open(&path("table.zarr")).unwrap();
    assert_eq!(column(&group, "a"), count(5000).collect::<Vec<_>>());
    assert_eq!(column(&group, "b")[4999], 9998.5);
    // Attributes come along.
    let json = std::fs::read_to_string(folder.path().join("zstd.zarr/zarr.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["attributes"], serde_json::json!({"units": "K", "scale": 0.5, "list": [1, 2]}));
    assert_eq!(json["dimension_names"], serde_json::json!(["y", "x"]));
}

/// A file of one column of integers for each name.
fn columns_of(path: &Path, names: &[&str]) {
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Int64, false)).collect();
    let values = |i: usize| Arc::new(Int64Array::from(vec![i as i64, 10])) as ArrayRef;
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), (0..names.len()).map(values).collect()).unwrap();
    let location = Location::local(path).unwrap();
    let mut sink = ArrowIpc.create(&location, schema, &WriteOptions::default(), &driver()).unwrap();
    sink.write(&batch).unwrap();
    sink.finish().unwrap();
}

#[test]
fn a_name_never_leads_outside_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("evil/zarr.json");
    std::fs::create_dir(folder.path().join("evil")).unwrap();
    std::fs::write(&mine, "mine").unwrap();
    let source = folder.path().join("n.arrow");
    let target = folder.path().join("x.zarr");
    let go = |names: &[&str]| {
        let _ = std::fs::remove_file(&source);
        columns_of(&source, names);
        convert(source.to_str().unwrap(), target.to_str().unwrap()).on(&driver()).run()
    };
    for name in ["../evil", "..", ".", "", "/abs", "zarr.json", "k/c/0", "__x", "a\\b"] {
        let error = go(&["k", name]).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name:?}: {error}");
        assert!(error.to_string().contains("cannot be a Zarr array"), "{name:?}: {error}");
        let mut left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["evil", "n.arrow"], "{name:?}");
    }
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
    // Paths through groups are found again, and a single array is the store itself.
    go(&["k", "x/y", "x/z/w", "c"]).unwrap();
    for group in ["x", "x/z"] {
        assert!(target.join(group).join("zarr.json").is_file());
    }
    let read = open(target.to_str().unwrap()).unwrap();
    for (name, first) in [("k", 0.0), ("x/y", 1.0), ("x/z/w", 2.0), ("c", 3.0)] {
        assert_eq!(column(&read, name), [first, 10.0], "{name}");
    }
    std::fs::remove_dir_all(&target).unwrap();
    go(&["../evil"]).unwrap();
    assert_eq!(column(&open(target.to_str().unwrap()).unwrap(), "value"), [0.0, 10.0]);
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "mine");
}

#[test]
fn damage_is_an_error_that_names_the_chunk() {
    let folder = tempfile::tempdir().unwrap();
    for (name, chunk) in [
        ("zstd.zarr", "c/0/0"),
        ("gzip.zarr", "c/0/0"),
        ("crc.zarr", "c/0"),
        ("sharded.zarr", "c/0/0"),
        ("blosc.zarr", "c/0/0"),
        ("blosclz.zarr", "c/0/0"),
    ] {
        let place = folder.path().join(name);
        copy_folder(&store(name), &place);
        let file = place.join(chunk);
        let whole = std::fs::read(&file).unwrap();
        let read = || {
            let source = open(place.to_str().unwrap()).unwrap();
            source.scan().on(&driver()).rows().unwrap().read_all()
        };
        for len in (0..whole.len()).step_by(1 + whole.len() / 40) {
            std::fs::write(&file, &whole[..len]).unwrap();
            let error = read().expect_err(&format!("{name} cut to {len}"));
            assert!(error.to_string().contains("chunk"), "{name}: {error}");
        }
        // Any byte may be wrong: an error or other values, never a panic.
        for at in 0..whole.len() {
            let mut bad = whole.clone();
            bad[at] ^= 0x55;
            std::fs::write(&file, &bad).unwrap();
            let result = read();
            assert!(name != "crc.zarr" || result.is_err(), "byte {at}");
        }
    }
    let place = folder.path().join("old.zarr");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join(".zarray"), "{}").unwrap();
    let error = open(place.to_str().unwrap()).err().unwrap().to_string();
    assert!(error.contains("version 2"), "{error}");
}

#[test]
fn groups_inside_a_hierarchy_are_described_with_their_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    copy_folder(&store("group.zarr"), &folder.path().join("g.zarr/run/one"));
    let group = r#"{"zarr_format": 3, "node_type": "group", "attributes": ATTRIBUTES}"#;
    std::fs::write(path("g.zarr/zarr.json"), group.replace("ATTRIBUTES", r#"{"of": "the root"}"#)).unwrap();
    std::fs::write(path("g.zarr/run/zarr.json"), group.replace("ATTRIBUTES", "{}")).unwrap();
    std::fs::write(path("g.zarr/run/one/zarr.json"), group.replace("ATTRIBUTES", r#"{"of": 1}"#)).unwrap();
    let opened = tesselle::open(&path("g.zarr")).unwrap();
    let info = opened.container().describe().unwrap().to_json();
    assert_eq!(info["metadata"], serde_json::json!({"of": "the root"}));
    assert_eq!(info["groups"], serde_json::json!({"run": {}, "run/one": {"of": 1}, "run/one/deep": {}}));
    let report = convert(path("g.zarr").as_str(), path("g.tet").as_str()).on(&driver()).run().unwrap();
    assert_eq!(report.lost, ["the attribute 'of'", "the attributes of group 'run/one'"]);
}

#[test]
fn arrays_of_other_types_leave_the_others_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    copy_folder(&store("group.zarr"), &folder.path().join("g.zarr"));
    copy_folder(&store("zstd.zarr"), &folder.path().join("g.zarr/words"));
    let file = path("g.zarr/words/zarr.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json["data_type"] = "string".into();
    std::fs::write(&file, json.to_string()).unwrap();
    let opened = tesselle::open(&path("g.zarr")).unwrap();
    let names = opened.table_names();
    assert!(names.len() > 1 && names.contains(&"words".to_owned()));
    for name in &names {
        match opened.table(name) {
            Ok(_) => assert_ne!(name, "words"),
            Err(error) => {
                assert_eq!((name.as_str(), error.kind()), ("words", ErrorKind::Unsupported));
                assert!(error.to_string().contains("\"string\""), "{error}");
            }
        }
    }
    let tables = opened.container().describe().unwrap().tables;
    let words = tables.iter().find(|table| table.name == "words").unwrap();
    assert!(words.extra["error"].as_str().unwrap().contains("is not known"));
    assert!(opened.container().chunks(None).unwrap().iter().all(|chunk| chunk["table"] != "words"));
    let refused = convert(path("g.zarr").as_str(), path("g.tet").as_str()).on(&driver()).run().unwrap_err();
    assert!(refused.to_string().contains("words"), "{refused}");
    let other = names.iter().find(|name| *name != "words").unwrap();
    let source = format!("{}#{other}", path("g.zarr"));
    convert(source.as_str(), path("one.tet").as_str()).on(&driver()).run().unwrap();
}
