//! Every format into every other, compared by `diff`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use tesselle::array::MemoryArray;
use tesselle::foreign::ArrowIpc;
use tesselle::{
    Attribute, Convert, Difference, Driver, DriverOptions, ErrorKind, Format, Location, Opener, Settings,
    WriteOptions, WriteReport, convert, diff,
};

fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(256 << 20)).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn settings(pairs: &[&str]) -> Settings {
    Settings::from_pairs(pairs).unwrap()
}

fn run(from: &Path, to: &Path, change: impl FnOnce(Convert) -> Convert) -> tesselle::Result<WriteReport> {
    change(convert(text(from), text(to))).on(&driver()).run()
}

fn compare(left: &Path, right: &Path) -> Difference {
    diff(text(left), text(right)).on(&driver()).run().unwrap()
}

/// A Parquet file with these columns.
fn parquet(folder: &Path, name: &str, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
    let path = folder.join(name);
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(&path).unwrap();
    let properties =
        parquet::file::properties::WriterProperties::builder().set_max_row_group_row_count(Some(100)).build();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

/// An Arrow file with these columns.
fn arrow(folder: &Path, name: &str, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
    let path = folder.join(name);
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let (location, options) = (Location::local(&path).unwrap(), WriteOptions::default().with_overwrite(true));
    let mut sink = ArrowIpc.create(&location, batch.schema(), &options, &driver()).unwrap();
    sink.write(&batch).unwrap();
    sink.finish().unwrap();
    path
}

const ROWS: i64 = 600;

/// A series that every format can store: a time that counts up from 0, and two numeric columns.
fn series(folder: &Path) -> PathBuf {
    let value = |i: i64| ((i as f64) / 7.0).sin();
    parquet(
        folder,
        "series.parquet",
        vec![
            ("time", Arc::new(TimestampMillisecondArray::from_iter_values(0..ROWS))),
            ("a", Arc::new(Float64Array::from_iter_values((0..ROWS).map(value)))),
            ("b", Arc::new(Int32Array::from_iter_values((0..ROWS).map(|i| (i * 37 % 1000) as i32)))),
        ],
    )
}

/// The same series in each format, converted from Parquet.
fn made(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let series = series(folder);
    let path = |name: &str| folder.join(name);
    run(&series, &path("s.tsfile"), |c| c.table("root.s")).unwrap();
    run(&series, &path("s.tatami"), |c| c.options(settings(&["sort_key=time"]))).unwrap();
    run(&series, &path("s.tiledb"), |c| c.options(settings(&["dims=time"]))).unwrap();
    run(&series, &path("s.tet"), |mut c| {
        c = c.casts(vec![("time".into(), DataType::Int64)]);
        c = c.options(settings(&["axes=time", "chunk=128"]));
        c
    })
    .unwrap();
    let all = ["tsfile", "tatami", "tiledb", "tet"];
    let mut list: Vec<_> = all.into_iter().map(|kind| (kind, path(&format!("s.{kind}")))).collect();
    list.push(("parquet", series));
    list
}

#[test]
fn every_format_becomes_every_other_with_equal_values() {
    let folder = tempfile::tempdir().unwrap();
    for (from, source) in made(folder.path()) {
        for to in ["tsfile", "tatami", "tiledb", "tet", "parquet", "arrow", "csv", "jsonl", "zarr"] {
            let target = folder.path().join(format!("{from}-to.{to}"));
            let converted = run(&source, &target, |mut c| {
                // Tensors have no times; what counts positions is an integer there.
                if matches!(to, "tet" | "zarr") && from != "tet" {
                    let casts = if from == "tatami" { "time=timestamp_ms,time=int64" } else { "time=int64" };
                    c = c.casts(tesselle::parse_types(casts).unwrap());
                    c = c.options(settings(&["axes=time"]));
                }
                // Rows without dimensions get them by name.
                if to == "tiledb" && matches!(from, "tatami" | "parquet") {
                    c = c.options(settings(&["dims=time"]));
                }
                // A tatami file counts microseconds, a TsFile milliseconds.
                if (from, to) == ("tatami", "tsfile") {
                    c = c.casts(tesselle::parse_types("time=timestamp_ms").unwrap());
                }
                c
            });
            let converted = converted.unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
            // A file of several tensors is copied tensor by tensor.
            let tables = if (from, to) == ("tet", "tet") { 2 } else { 1 };
            assert_eq!(converted.summary.rows, tables * ROWS as u64, "{from} to {to}");
            // An integer is compared with a time in the time's own unit, which is another one in a tatami file.
            let counted = from == "tatami" && matches!(to, "tet" | "zarr");
            let same = if counted { folder.path().join("s.tet") } else { source.clone() };
            let found = compare(&same, &target);
            assert_eq!((found.values, found.unmatched), (0, (0, 0)), "{from} to {to}: {found:?}");
            assert_eq!(found.rows, (ROWS as u64, ROWS as u64), "{from} to {to}");
            // Types differ only if the target does not have them, or reports a wider one.
            let reported = |line: &str| {
                converted.changed.iter().any(|change| line.contains(&format!("'{}'", change.column)))
                    || (matches!(to, "tet" | "zarr") && line.contains("'time'"))
                    || ((from, to) == ("tatami", "tsfile") && line.contains("'time'"))
                    || matches!(to, "csv" | "jsonl")
            };
            let silent: Vec<&String> = found.schema.iter().filter(|line| !reported(line)).collect();
            assert!(silent.is_empty(), "{from} to {to}: {silent:?}");
        }
    }
}

#[test]
fn each_format_is_rewritten_with_other_settings() {
    let folder = tempfile::tempdir().unwrap();
    for (from, source) in made(folder.path()) {
        for (number, pairs) in match from {
            "tsfile" => {
                vec![vec!["encoding=PLAIN", "compression=GZIP"], vec!["version=3"], vec!["version=0.8"]]
            }
            "tatami" => vec![vec!["row_group_rows=100", "level=1"], vec!["codec=none"]],
            "tiledb" => vec![vec!["filters=gzip"], vec!["capacity=50"]],
            "tet" => vec![vec!["chunk=7"], vec!["codec=zstd", "level=9"]],
            _ => vec![vec![]],
        }
        .into_iter()
        .enumerate()
        {
            let target = folder.path().join(format!("again-{number}.{from}"));
            run(&source, &target, |c| c.options(settings(&pairs)))
                .unwrap_or_else(|error| panic!("{from} {pairs:?}: {error}"));
            let found = compare(&source, &target);
            assert!(found.is_equal(), "{from} {pairs:?}: {found:?}");
        }
    }
}

/// A grid of two values over dimensions that do not start at 0.
fn grid(folder: &Path) -> PathBuf {
    let cells: Vec<(i32, i32)> = (-3..5).flat_map(|y| (10..22).map(move |x| (y, x))).collect();
    let source = parquet(
        folder,
        "grid.parquet",
        vec![
            ("y", Arc::new(Int32Array::from_iter_values(cells.iter().map(|c| c.0)))),
            ("x", Arc::new(Int32Array::from_iter_values(cells.iter().map(|c| c.1)))),
            ("t", Arc::new(Float32Array::from_iter_values(cells.iter().map(|c| (c.0 * c.1) as f32)))),
            ("n", Arc::new(Int64Array::from_iter_values((0..).take(cells.len())))),
        ],
    );
    let target = folder.join("grid.tiledb");
    run(&source, &target, |mut c| {
        c = c.options(settings(&[
            "kind=dense",
            "dims=y,x",
            "domain.y=-3:4",
            "domain.x=10:21",
            "extent.y=4",
            "extent.x=5",
        ]));
        let exact = Some(("INT32".to_owned(), vec![7, 0, 0, 0]));
        c = c.attributes(vec![
            Attribute { exact, ..Attribute::new("level", 7) },
            Attribute::new("units", "kelvin"),
        ]);
        c
    })
    .unwrap();
    target
}

#[test]
fn dimensions_and_metadata_survive_the_way_through_other_formats() {
    let folder = tempfile::tempdir().unwrap();
    let source = grid(folder.path());
    let about = |path: &Path| {
        let opened = tesselle::open(text(path)).unwrap();
        opened.container().describe().unwrap()
    };
    let want = about(&source);
    for through in ["tiledb", "parquet", "arrow", "tatami"] {
        let middle = folder.path().join(format!("middle.{through}"));
        let converted = run(&source, &middle, |c| c).unwrap();
        assert_eq!(converted.kept, ["level", "units"], "{through}");
        let back = folder.path().join(format!("back-{through}.tiledb"));
        run(&middle, &back, |c| c).unwrap_or_else(|error| panic!("{through}: {error}"));
        let found = compare(&source, &back);
        assert!(found.is_equal(), "{through}: {found:?}");
        let got = about(&back);
        assert_eq!(got.extra["kind"], "dense", "{through}");
        for (a, b) in want.tables[0].columns.iter().zip(&got.tables[0].columns) {
            assert_eq!((&a.name, &a.kind, a.role), (&b.name, &b.kind, b.role), "{through}");
            for key in ["domain", "extent"] {
                assert_eq!(a.extra.get(key), b.extra.get(key), "{through} {key}");
            }
        }
        assert_eq!(got.metadata["units"]["value"], "kelvin", "{through}");
        if through == "tiledb" {
            assert_eq!(got.metadata, want.metadata);
        }
    }
    // A tensor file has attributes, but counts its axes from 0.
    let tet = folder.path().join("grid.tet");
    let converted = run(&source, &tet, |c| c).unwrap();
    assert_eq!(converted.kept, ["level", "units"]);
    let metadata = about(&tet).metadata;
    assert_eq!(metadata["datasets"]["t"]["attrs"]["units"], "kelvin", "{metadata}");
    assert_eq!(metadata["datasets"]["n"]["dim_names"], serde_json::json!(["y", "x"]), "{metadata}");
    // Formats without attributes report their loss.
    let csv = folder.path().join("grid.csv");
    let converted = run(&source, &csv, |c| c).unwrap();
    assert!(converted.kept.is_empty());
    assert!(converted.lost.iter().any(|line| line.contains("'units'")), "{:?}", converted.lost);
}

#[test]
fn an_array_with_a_column_that_is_no_array_keeps_all_columns() {
    let folder = tempfile::tempdir().unwrap();
    let source = parquet(
        folder.path(),
        "mixed.parquet",
        vec![
            ("x", Arc::new(Int32Array::from_iter_values(0..40))),
            ("n", Arc::new(Float64Array::from_iter_values((0..40).map(f64::from)))),
            ("s", Arc::new(StringArray::from_iter_values((0..40).map(|i| format!("s{i}"))))),
        ],
    );
    let array = folder.path().join("mixed.tiledb");
    let dense = settings(&["kind=dense", "dims=x", "domain.x=0:39", "extent.x=8"]);
    run(&source, &array, |c| c.options(dense)).unwrap();
    for to in ["tiledb", "parquet", "tatami"] {
        let target = folder.path().join(format!("copy.{to}"));
        run(&array, &target, |c| c).unwrap();
        let found = compare(&array, &target);
        assert!(found.is_equal(), "{to}: {found:?}");
    }
    // A tensor cannot store a string: it is refused rather than skipped.
    let error = run(&array, &folder.path().join("copy.tet"), |c| c).unwrap_err().to_string();
    assert!(error.contains("'s'"), "{error}");
    let error = run(&array, &array.join("inside.parquet"), |c| c).unwrap_err().to_string();
    assert!(error.contains("must not be inside its source"), "{error}");
    // A source in the folder that is replaced would be gone.
    let inside = array.join("inside.csv");
    std::fs::write(&inside, "a\n1\n").unwrap();
    let error = run(&inside, &array, |c| c.overwrite(true)).unwrap_err().to_string();
    assert!(error.contains("would replace"), "{error}");
    assert!(inside.exists());
    let error = run(&array, &folder.path().join("copy.npy"), |c| c).unwrap_err().to_string();
    assert!(error.contains("npy"), "{error}");
}

/// Files of older versions, written by the original engines.
#[test]
fn old_versions_are_upgraded_with_equal_values() {
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let own =
        [crates.join("tiledb/tests/data/libtiledb-2.30.0"), crates.join("tsfile/tests/data/small/tsfile")];
    let folders = std::env::var_os("TESSELLE_FIXTURES")
        .map_or(own, |root| ["tiledb", "tsfile"].map(|name| Path::new(&root).join(name)));
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for ((format, prefixes), cases) in
        [("tiledb", ["bc_v", "zz"]), ("tsfile", ["v08-", "v2-"])].iter().zip(&folders)
    {
        for case in std::fs::read_dir(cases).unwrap().flatten() {
            let name = case.file_name().to_string_lossy().into_owned();
            if !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            for (number, uri) in tesselle::find_where(text(&case.path()), |format| format.verifies)
                .unwrap()
                .paths
                .iter()
                .enumerate()
            {
                // Some were never closed.
                let Ok(opened) = tesselle::open(uri) else { continue };
                if opened.container().table_names().is_empty() {
                    continue;
                }
                let target = folder.path().join(format!("{name}-{number}.{format}"));
                // Some strings are not UTF-8.
                let opener = Opener::new().strings_as_binary(true);
                let mut conversion = convert(uri, text(&target)).opener(opener.clone());
                if *format == "tsfile" {
                    conversion = conversion.set("version", "4");
                }
                conversion.on(&driver()).run().unwrap_or_else(|error| panic!("{uri}: {error}"));
                let table = if *format == "tsfile" { "#*" } else { "" };
                let (a, b) = (format!("{uri}{table}"), format!("{}{table}", text(&target)));
                let mut found = diff(&a, &b).opener(opener);
                if *format == "tsfile" {
                    found = found.key(["device", "measurement", "time"]);
                }
                let found = found.on(&driver()).run().unwrap();
                assert_eq!((found.values, found.unmatched), (0, (0, 0)), "{uri}: {found:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 2, "{seen}");
}

#[test]
fn types_that_do_not_fit_are_refused_until_they_are_cast() {
    let folder = tempfile::tempdir().unwrap();
    let source = parquet(
        folder.path(),
        "odd.parquet",
        vec![
            ("time", Arc::new(Int64Array::from(vec![1, 2, 3]))),
            ("on", Arc::new(BooleanArray::from(vec![true, false, true]))),
            ("when", Arc::new(arrow_array::TimestampNanosecondArray::from(vec![1_000_000, 2, 3]))),
            ("name", Arc::new(StringArray::from(vec!["x", "y", "7"]))),
        ],
    );
    let only = |names: &[&str]| tesselle::Scan::all().columns(names.iter().copied());
    for (target, columns, column, cast) in [
        ("a.tet", vec!["on"], "on", DataType::UInt8),
        ("c.tsfile", vec!["time", "when"], "when", DataType::Int64),
    ] {
        let target = folder.path().join(target);
        let error = run(&source, &target, |c| c.scan(only(&columns))).unwrap_err().to_string();
        assert!(
            error.contains(&format!("'{column}'")) && error.contains(&format!("casts: {column}=")),
            "{error}"
        );
        assert!(!target.exists());
        run(&source, &target, |mut c| {
            c = c.scan(only(&columns));
            c = c.casts(vec![(column.to_owned(), cast)]);
            c
        })
        .unwrap();
    }
    // A string that is not a number ends the conversion, and nothing is left behind.
    let target = folder.path().join("d.tet");
    let error = run(&source, &target, |mut c| {
        c = c.scan(only(&["name"]));
        c = c.casts(vec![("name".to_owned(), DataType::Int64)]);
        c
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("'name'"), "{error}");
    assert!(!target.exists());
    assert!(run(&source, &target, |c| c.casts(vec![("nome".to_owned(), DataType::Int64)])).is_err());
}

#[test]
fn nulls_become_a_number_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let source =
        parquet(folder.path(), "n.parquet", vec![("v", Arc::new(Float64Array::from(vec![Some(1.0), None])))]);
    let target = folder.path().join("n.tet");
    let error = run(&source, &target, |c| c).unwrap_err().to_string();
    assert!(error.contains("'v'") && error.contains("fill="), "{error}");
    assert!(!target.exists());
    run(&source, &target, |c| c.options(settings(&["fill=-1"]))).unwrap();
}

#[test]
fn json_lines_and_csv_are_read_with_inferred_and_with_given_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    let lines =
        "{\"id\": 1, \"v\": 2}\n{\"id\": 2, \"v\": 2.5, \"tag\": \"late\"}\n{\"id\": 3, \"v\": null}\n";
    std::fs::write(&path, lines).unwrap();
    let out = folder.path().join("rows.parquet");
    assert_eq!(run(&path, &out, |c| c).unwrap().summary.rows, 3);
    let schema = Opener::new().open_table(text(&out)).unwrap().schema();
    let kind = |name: &str| schema.field_with_name(name).unwrap().data_type().clone();
    assert_eq!((kind("id"), kind("v"), kind("tag")), (DataType::Int64, DataType::Float64, DataType::Utf8));
    assert_eq!(compare(&path, &out).values, 0);
    let typed = folder.path().join("typed.parquet");
    run(&path, &typed, |c| {
        c.opener(Opener::new().types(tesselle::parse_types("id=uint8,v=float32").unwrap()))
    })
    .unwrap();
    let schema = Opener::new().open_table(text(&typed)).unwrap().schema();
    assert_eq!(schema.field(0).data_type(), &DataType::UInt8);
    let csv = folder.path().join("rows.csv");
    std::fs::write(&csv, "id,day\n1,2024-05-01\n2,\n").unwrap();
    let typed = folder.path().join("typed.arrow");
    run(&csv, &typed, |c| c.opener(Opener::new().types(tesselle::parse_types("day=date").unwrap()))).unwrap();
    let schema = Opener::new().open_table(text(&typed)).unwrap().schema();
    assert_eq!(schema.field(1).data_type(), &DataType::Date32);
    assert!(
        run(&csv, &folder.path().join("x.arrow"), |c| c
            .opener(Opener::new().types(tesselle::parse_types("dey=date").unwrap())))
        .is_err()
    );
    // Damage names the file and leaves nothing.
    std::fs::write(&path, "{\"id\": 1}\n{\"id\": ").unwrap();
    let bad = folder.path().join("bad.parquet");
    let error = run(&path, &bad, |c| c).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(!bad.exists());
}

#[test]
fn a_whole_tsfile_is_rewritten_with_all_its_devices() {
    let folder = tempfile::tempdir().unwrap();
    let source = parquet(
        folder.path(),
        "fleet.parquet",
        vec![
            ("device", Arc::new(StringArray::from_iter_values((0..90).map(|i| format!("root.t{}", i % 3))))),
            ("time", Arc::new(TimestampMillisecondArray::from_iter_values((0..90).map(|i| i / 3)))),
            ("v", Arc::new(Float64Array::from_iter_values((0..90).map(f64::from)))),
        ],
    );
    let old = folder.path().join("old.tsfile");
    run(&source, &old, |c| c.options(settings(&["device_column=device", "version=000002"]))).unwrap();
    let new = folder.path().join("new.tsfile");
    run(&old, &new, |c| c.options(settings(&["version=4"]))).unwrap();
    let version = |path: &Path| tesselle::open(text(path)).unwrap().container().describe().unwrap().version;
    assert_eq!(version(&new), "4");
    // Without a setting the version stays.
    let same = folder.path().join("same.tsfile");
    run(&old, &same, |c| c).unwrap();
    assert_eq!(version(&same), version(&old));
    for device in ["root.t0", "root.t1", "root.t2"] {
        let (a, b) = (format!("{}#{device}", text(&old)), format!("{}#{device}", text(&new)));
        let found = diff(&a, &b).on(&driver()).run().unwrap();
        assert!(found.is_equal(), "{device}: {found:?}");
        assert_eq!(found.rows.0, 30);
    }
}

#[test]
fn a_failed_conversion_leaves_the_old_target() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("bad.csv");
    std::fs::write(&source, "a,b\n1,2\n1,2,3\n").unwrap();
    for kind in ["parquet", "tet", "tatami", "zarr"] {
        let target = folder.path().join(format!("old.{kind}"));
        std::fs::write(&target, "old").unwrap();
        assert!(run(&source, &target, |c| c.overwrite(true)).is_err(), "{kind}");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "old", "{kind}");
    }
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 5, "{names:?}");
    let error = run(&source, &source, |c| c.overwrite(true)).unwrap_err().to_string();
    assert!(error.contains("must not be its source") || error.contains("cannot be read"), "{error}");
    assert_eq!(std::fs::read_to_string(&source).unwrap(), "a,b\n1,2\n1,2,3\n");
}

#[test]
fn rows_of_nulls_keep_their_time_or_are_reported_as_lost() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("rows.csv");
    std::fs::write(&source, "time,a,b\n1,1,2\n2,,\n3,5,\n").unwrap();
    for (pairs, rows) in [(vec![], 3), (vec!["aligned=false"], 2), (vec!["version=1"], 2)] {
        let target = folder.path().join("rows.tsfile");
        let done = run(&source, &target, |mut c| {
            c = c.options(settings(&pairs));
            c = c.overwrite(true);
            c
        });
        let done = done.unwrap();
        assert_eq!(done.summary.rows, rows, "{pairs:?}");
        assert_eq!(
            done.lost.iter().any(|lost| lost.starts_with("1 rows with only nulls")),
            rows == 2,
            "{pairs:?}"
        );
        let kept = Opener::new().open_table(text(&target)).unwrap();
        let read = kept.scan().on(&driver()).rows().unwrap();
        assert_eq!(read.map(|batch| batch.unwrap().num_rows() as u64).sum::<u64>(), rows, "{pairs:?}");
    }
}

#[test]
fn an_all_null_column_is_kept_or_reported_as_lost() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("rows.csv");
    std::fs::write(&source, "time,a,b\n1,1,\n2,3,\n").unwrap();
    for (pairs, is_lost) in [(vec![], false), (vec!["aligned=false"], true), (vec!["version=1"], true)] {
        let target = folder.path().join("rows.tsfile");
        let done = run(&source, &target, |mut c| {
            c = c.opener(Opener::new().types(vec![("b".to_owned(), DataType::Float64)]));
            c = c.options(settings(&pairs));
            c = c.overwrite(true);
            c
        });
        let lost = done.unwrap().lost;
        assert_eq!(lost.iter().any(|lost| lost.starts_with("column 'b'")), is_lost, "{pairs:?} {lost:?}");
        let kept = Opener::new().open_table(text(&target)).unwrap();
        assert_eq!(kept.schema().index_of("b").is_err(), is_lost, "{pairs:?}");
    }
}

#[test]
fn a_cell_is_null_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let time = || Arc::new(TimestampMillisecondArray::from_iter_values(0..3)) as ArrayRef;
    let pairs = |cells: [Option<Vec<Option<f32>>>; 3]| {
        Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(cells, 2)) as ArrayRef
    };
    // The values of a null cell may be null too, and take space in a list.
    let whole = pairs([Some(vec![Some(1.0), Some(2.0)]), None, Some(vec![Some(3.0), Some(4.0)])]);
    let lists = ListArray::new(
        Arc::new(Field::new_list_field(DataType::Int64, true)),
        OffsetBuffer::new(vec![0, 2, 4, 5].into()),
        Arc::new(Int64Array::from(vec![Some(1), Some(2), None, None, Some(5)])),
        Some(NullBuffer::from(vec![true, false, true])),
    );
    let source =
        arrow(folder.path(), "whole.arrow", vec![("time", time()), ("f", whole), ("l", Arc::new(lists))]);
    let target = folder.path().join("whole.tiledb");
    run(&source, &target, |c| c.options(settings(&["dims=time"]))).unwrap();
    let found = compare(&source, &target);
    assert_eq!((found.values, found.unmatched, found.rows), (0, (0, 0), (3, 3)), "{found:?}");

    let cell = Some(vec![Some(1.0), None]);
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![None]), None, Some(vec![])]);
    for column in [pairs([None, cell, None]), Arc::new(lists)] {
        let source = arrow(folder.path(), "partly.arrow", vec![("time", time()), ("x", column)]);
        let target = folder.path().join("partly.tiledb");
        let error = run(&source, &target, |c| c.options(settings(&["dims=time"]))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("column 'x' has a null among the values"), "{error}");
        assert!(!target.exists());
    }
}

#[test]
fn a_type_without_a_place_is_a_wrong_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut strings = ListBuilder::new(StringBuilder::new());
    strings.values().append_value("a");
    strings.append(true);
    let mut nested = ListBuilder::new(ListBuilder::new(Int64Builder::new()));
    nested.values().values().append_value(1);
    nested.values().append(true);
    nested.append(true);
    let plain = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)])]);
    let cases: [(&str, ArrayRef, &[&str]); 3] = [
        ("tiledb", Arc::new(strings.finish()), &[]),
        ("tatami", Arc::new(nested.finish()), &["profile=extended"]),
        ("tatami", Arc::new(plain), &[]),
    ];
    for (to, column, pairs) in cases {
        let source = arrow(folder.path(), "x.arrow", vec![("x", column)]);
        let target = folder.path().join(format!("x.{to}"));
        let error = run(&source, &target, |c| c.options(settings(pairs))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{to}: {error}");
        assert!(error.to_string().contains("'x'"), "{to}: {error}");
        assert!(!target.exists());
    }
}

#[test]
fn a_dropped_time_zone_is_reported_as_lost() {
    let folder = tempfile::tempdir().unwrap();
    let stamps = TimestampMillisecondArray::from_iter_values(0..3).with_timezone("Europe/Berlin");
    let source = arrow(folder.path(), "z.arrow", vec![("time", Arc::new(stamps))]);
    for (to, changed) in [("tiledb", 0), ("tatami", 1), ("tet", 0), ("zarr", 0), ("parquet", 0)] {
        let done = run(&source, &folder.path().join(format!("z.{to}")), |c| c).unwrap();
        let zone = "the time zone Europe/Berlin of column 'time'".to_owned();
        assert_eq!(done.lost.contains(&zone), to != "parquet", "{to}: {:?}", done.lost);
        assert_eq!(done.changed.len(), changed, "{to}: {:?}", done.changed);
    }
}

#[test]
fn empty_strings_of_a_single_column_are_reported_as_lost_in_csv() {
    let folder = tempfile::tempdir().unwrap();
    let reported = |strings: Vec<Option<&str>>| {
        let strings = Arc::new(StringArray::from(strings)) as ArrayRef;
        let lone = arrow(folder.path(), "t.arrow", vec![("t", Arc::clone(&strings))]);
        let target = folder.path().join("t.csv");
        let done = run(&lone, &target, |c| c.overwrite(true)).unwrap();
        let two = arrow(folder.path(), "two.arrow", vec![("t", Arc::clone(&strings)), ("u", strings)]);
        let other = run(&two, &target, |c| c.overwrite(true)).unwrap();
        assert!(compare(&two, &target).is_equal());
        assert_eq!(other.lost.len(), 1);
        done.lost.iter().any(|line| line.contains("the empty strings of column 't'"))
    };
    assert!(reported(vec![Some("a"), Some(""), None]));
    assert!(!reported(vec![Some("a"), None]));
}

#[test]
fn an_empty_table_stays_empty() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("none.csv");
    std::fs::write(&source, "time,a\n").unwrap();
    for to in ["tiledb", "tatami", "tsfile", "parquet", "arrow", "csv"] {
        let target = folder.path().join(format!("copy.{to}"));
        let done = run(&source, &target, |mut c| {
            c = c.opener(
                Opener::new()
                    .types(vec![("time".to_owned(), DataType::Int64), ("a".to_owned(), DataType::Int32)]),
            );
            c
        });
        let done = done.unwrap_or_else(|error| panic!("{to}: {error}"));
        assert_eq!(done.summary.rows, 0, "{to}");
        if to == "tsfile" {
            // A series without points does not exist.
            assert!(
                done.lost.iter().any(|lost| lost.starts_with("column 'a': the table is empty")),
                "{:?}",
                done.lost
            );
            continue;
        }
        let copy = Opener::new().open_table(text(&target)).unwrap();
        let rows = copy.scan().on(&driver()).rows().unwrap();
        assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0, "{to}");
    }
}

#[test]
fn points_of_equal_time_and_origins_are_reported_as_lost() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("twice.csv");
    std::fs::write(&source, "time,a\n10,1\n5,2\n10,9\n").unwrap();
    let target = folder.path().join("twice.tsfile");
    let error = run(&source, &target, |c| c).unwrap_err();
    assert!(error.to_string().contains("order=sort"), "{error}");
    let done = run(&source, &target, |c| c.options(settings(&["order=sort"]))).unwrap();
    assert!(
        done.lost.iter().any(|lost| lost.starts_with("1 points (of aligned devices, rows) replaced")),
        "{:?}",
        done.lost
    );

    let source = folder.path().join("off.csv");
    std::fs::write(&source, "k,a\n5,1.5\n6,2.5\n8,3.5\n").unwrap();
    let target = folder.path().join("off.tet");
    for pairs in [&["axes=k"][..], &["axes=k", "order=any"]] {
        let error = run(&source, &target, |c| c.options(settings(pairs))).unwrap_err();
        assert!(error.hint_text().is_some(), "holes are not filled unasked: {error}");
    }
    let done = run(&source, &target, |c| c.options(settings(&["axes=k", "order=any", "fill=NaN"])));
    let done = done.unwrap();
    assert!(done.lost.iter().any(|lost| lost.starts_with("the start of the axes, [5]")), "{:?}", done.lost);
}

#[test]
fn one_column_of_an_array_keeps_its_shape() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("grid.csv");
    std::fs::write(&source, "y,x,a,b\n0,0,1,2\n0,1,3,4\n0,2,5,6\n1,0,7,8\n1,1,9,10\n1,2,11,12\n").unwrap();
    let array = folder.path().join("grid.tiledb");
    run(&source, &array, |mut c| {
        c = c.options(settings(&["kind=dense", "dims=y,x", "domain.y=0:1", "domain.x=0:2"]));
        c
    })
    .unwrap();
    // Columns of a CSV file may be null, which tensors cannot be.
    let done = run(&array, &folder.path().join("flat.npy"), |mut c| {
        c = c.scan(tesselle::Scan::all().columns(["b"]));
        c
    });
    assert!(done.unwrap().lost.iter().any(|lost| lost.starts_with("the axes y, x")));
    let whole = folder.path().join("grid.tet");
    run(&array, &whole, |c| c).unwrap();
    for to in ["npy", "tet", "zarr", "tiledb"] {
        let target = folder.path().join(format!("b.{to}"));
        run(&whole, &target, |c| c.scan(tesselle::Scan::all().columns(["b"]))).unwrap();
        let copy = Opener::new().open_table(text(&target)).unwrap();
        assert_eq!(copy.array().unwrap().shape(), [2, 3], "{to}");
    }
}

#[test]
fn settings_of_rows_are_refused_for_an_array() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("grid.npy");
    let cells: Vec<f32> = (0..6).map(|i| i as f32).collect();
    tesselle::create_array(text(&source), MemoryArray::from_slice(&cells, [2, 3]).unwrap()).write().unwrap();
    for to in ["tet", "zarr"] {
        let target = folder.path().join(format!("grid.{to}"));
        for pair in ["axes=y,x", "axes=1", "order=any", "fill=0", "shape=3,2"] {
            let error = run(&source, &target, |c| c.options(settings(&[pair]))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{to} {pair}: {error}");
            assert!(!target.exists(), "{to} {pair}");
        }
        run(&source, &target, |c| c.options(settings(&["axes=2", "shape=2,3"]))).unwrap();
    }
}
