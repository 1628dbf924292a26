//! Answers into every format, and back.

use std::sync::Arc;

use arrow_array::{Float64Array, Int64Array, StringArray};
use tesselle::tet::WriterOptions;
use tesselle::tiledb::write::GroupWriter;
use tesselle::tiledb::{Member, MemberKind};
use tesselle::{Driver, DriverOptions, ErrorKind, Location, OpenOptions};

use crate::support::{self, rows};

#[test]
fn every_format_stores_a_result_and_returns_it() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    let tsfile = "to_timestamp_millis(1704067200000 + y * 1000) AS time, value AS v";
    for (target, select, options) in [
        ("out.tatami", "y, x, value", ""),
        ("out.tet", "y, x, value", "OPTIONS ('chunk' '4,4', 'table' 'copy')"),
        (
            "out.tiledb",
            "y, x, value",
            "OPTIONS ('kind' 'dense', 'dims' 'y,x', 'domain.y' '0:19', 'domain.x' '0:19')",
        ),
        ("out.tsfile", tsfile, "OPTIONS ('device' 'root.copy')"),
        ("out.parquet", "y, x, value", ""),
        ("out.arrow", "y, x, value", ""),
        ("out.csv", "y, x, value", ""),
        ("out.jsonl", "y, x, value", ""),
        ("out.json", "y, x, value", ""),
        ("out.zarr", "y, x, value", "OPTIONS ('axes' 'y,x', 'shape' '20,20', 'chunk' '7,20')"),
    ] {
        let filter = if target == "out.tsfile" { "x = 0" } else { "true" };
        let query = format!(
            "SELECT {select} FROM '{root}/grid.tet' WHERE {filter} AND NOT isnan(value) ORDER BY y, x"
        );
        let query = if ["out.tet", "out.tiledb", "out.zarr"].contains(&target) {
            // A grid has no holes.
            format!("SELECT {select} FROM '{root}/grid.tet' ORDER BY y, x")
        } else {
            query
        };
        let sql = format!("COPY ({query}) TO '{root}/{target}' {options}");
        let count = rows(&session, &sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let names = match target {
            "out.tsfile" => "v",
            // Infinities are strings in JSON, which DataFusion does not accept as numbers.
            "out.jsonl" | "out.json" => "y, x",
            _ => "y, x, value",
        };
        let want = rows(&session, &format!("SELECT {names} FROM ({query})")).unwrap();
        assert_eq!(count, [want.len().to_string()], "{target}");
        let got = rows(&session, &format!("SELECT {names} FROM '{root}/{target}'"));
        assert_eq!(got.unwrap_or_else(|error| panic!("{target}: {error}")), want, "{target}");
    }
}

#[test]
fn a_copy_that_fails_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    let before = names(root);
    for sql in [
        // Fails while rows are read.
        format!("COPY (SELECT 1 / (y - 3) AS q FROM '{root}/grid.tet') TO '{root}/new.tatami'"),
        format!("COPY (SELECT 1 / (y - 3) AS q FROM '{root}/grid.tet') TO '{root}/new.parquet'"),
        // Fails because the format does not support the columns.
        format!("COPY (SELECT 'text' AS value) TO '{root}/new.tet'"),
        format!("COPY (SELECT 1 AS a) TO '{root}/new.csv' OPTIONS ('chunk' '3')"),
    ] {
        assert!(rows(&session, &sql).is_err(), "{sql}");
        assert_eq!(names(root), before, "{sql}");
    }
    let error = rows(&session, &format!("COPY (SELECT 1 AS a) TO '{root}/mixed.tatami'")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let replace = format!("COPY (SELECT 1 AS a) TO '{root}/mixed.tatami' OPTIONS ('overwrite' 'true')");
    assert_eq!(rows(&session, &replace).unwrap(), ["1"]);
    assert_eq!(rows(&session, &format!("SELECT * FROM '{root}/mixed.tatami'")).unwrap(), ["1"]);
}

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The bytes of a file, or of every file of a folder by its path, without the second in which a file was made.
fn content(path: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    if path.is_file() {
        return vec![(String::new(), undated(std::fs::read(path).unwrap()))];
    }
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        all.extend(
            content(&entry.path()).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)),
        );
    }
    all.sort();
    all
}

/// Blanks the Unix seconds of `created_at` in the JSON of a file's metadata.
fn undated(mut bytes: Vec<u8>) -> Vec<u8> {
    let key = b"\"created_at\":\"";
    let places: Vec<usize> =
        bytes.windows(key.len()).enumerate().filter(|(_, window)| window == key).map(|(at, _)| at).collect();
    for at in places {
        let digits = bytes[at + key.len()..].iter_mut().take_while(|byte| byte.is_ascii_digit());
        digits.for_each(|digit| *digit = b'0');
    }
    bytes
}

/// The content of an array without the names that are random: those of fragments, schemas and commits.
fn array_content(path: &str) -> Vec<(String, Vec<u8>)> {
    let folder = std::path::Path::new(path);
    let schema = names(&format!("{path}/__schema")).into_iter().find(|name| name.starts_with("__1")).unwrap();
    let blank = "x".repeat(schema.len()).into_bytes();
    let mut all = Vec::new();
    for (name, bytes) in content(folder) {
        let plain = |part: &str| if part.starts_with("__1") { "random".to_owned() } else { part.to_owned() };
        let name = name.split('/').map(plain).collect::<Vec<_>>().join("/");
        let mut bytes = bytes;
        while let Some(at) = bytes.windows(schema.len()).position(|window| window == schema.as_bytes()) {
            bytes[at..at + schema.len()].copy_from_slice(&blank);
        }
        all.push((name, bytes));
    }
    all.sort();
    all
}

#[test]
fn only_the_second_of_a_file_is_ignored() {
    let dated = |second: &str, name: &str| {
        undated(format!("data{{\"created_at\":\"{second}\",\"name\":\"{name}\"}}").into_bytes())
    };
    assert_eq!(dated("1794879414", "a"), dated("1794879415", "a"));
    assert_ne!(dated("1794879414", "a"), dated("1794879414", "b"));
}

#[test]
fn copies_of_a_file_keep_what_the_file_knows_of_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let source = format!("{root}/grid.tet");
    let dense = format!("{root}/dense.tiledb");
    tesselle::convert(&source, &dense).on(&driver).run().unwrap();
    let mut number = 0;
    for source in [&source, &dense] {
        for format in ["tet", "tiledb", "zarr", "tatami", "parquet", "arrow", "csv", "jsonl", "json"] {
            for condition in ["", "WHERE y >= 3 LIMIT 50"] {
                number += 1;
                let one = format!("{root}/{number}.convert.{format}");
                let other = format!("{root}/{number}.copy.{format}");
                let mut conversion = tesselle::convert(source, &one).on(&driver);
                if !condition.is_empty() {
                    conversion = conversion.filter("y >= 3").unwrap().limit(50);
                }
                let converted = conversion.run();
                let sql = format!("COPY (SELECT * FROM '{source}' {condition}) TO '{other}'");
                let copied = rows(&session, &sql);
                let Ok(converted) = converted else {
                    assert!(copied.is_err(), "{sql}");
                    continue;
                };
                assert_eq!(
                    copied.unwrap_or_else(|e| panic!("{sql}: {e}")),
                    [converted.summary.rows.to_string()]
                );
                let same = match format {
                    "tiledb" => array_content(&one) == array_content(&other),
                    _ => content(one.as_ref()) == content(other.as_ref()),
                };
                assert!(same, "{sql}");
            }
        }
    }
    let facts = |path: &str| tesselle::open(path).unwrap().default_table().unwrap().facts().unwrap();
    let copy = format!("{root}/again.tiledb");
    session
        .query(&format!("COPY (SELECT * FROM '{dense}') TO '{copy}'"))
        .and_then(tesselle_sql::Answer::finish)
        .unwrap();
    assert!(facts(&copy).is_dense() && facts(&copy).grid == facts(&dense).grid);
}

#[test]
fn copy_and_convert_write_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let source = format!("{root}/source.parquet");
    let times: Vec<i64> = (0..500).collect();
    let values: Vec<f64> = times.iter().map(|time| *time as f64 / 4.0).collect();
    let names: Vec<String> = times.iter().map(|time| format!("n{}", time % 7)).collect();
    let rows = support::batch(vec![
        ("time", Arc::new(Int64Array::from(times)), false),
        ("a", Arc::new(Float64Array::from(values)), false),
        ("n", Arc::new(StringArray::from(names)), false),
    ]);
    support::write_foreign(std::path::Path::new(&source), &rows);
    let session = support::session(true);
    let driver = Driver::try_new(&DriverOptions::default().with_threads(1)).unwrap();
    let cases = [
        ("tet", "time,a", &[("chunk", "100")][..]),
        ("zarr", "time,a", &[("chunk", "100")]),
        ("tsfile", "time,a,n", &[("device", "root.d"), ("compression", "SNAPPY")]),
        ("tatami", "time,a,n", &[("sort_key", "time"), ("row_group_rows", "100")]),
        ("parquet", "time,a,n", &[]),
        ("arrow", "time,a,n", &[]),
        ("csv", "time,a,n", &[]),
        ("tsv", "time,a,n", &[]),
        ("jsonl", "time,a,n", &[]),
        ("npy", "a", &[]),
        ("tiledb", "time,a,n", &[("dims", "time")]),
    ];
    for format in tesselle::formats().iter().filter(|format| format.capabilities().rows_in) {
        assert!(cases.iter().any(|(name, ..)| *name == format.name()), "{} is not compared", format.name());
    }
    for (format, columns, settings) in cases {
        let (one, other) = (format!("{root}/convert.{format}"), format!("{root}/copy.{format}"));
        let mut conversion = tesselle::convert(&source, &one).columns(columns.split(',')).on(&driver);
        for (name, value) in settings {
            conversion = conversion.set(*name, *value);
        }
        conversion.run().unwrap_or_else(|e| panic!("{format}: {e}"));
        let options: Vec<String> =
            settings.iter().map(|(name, value)| format!("'{name}' '{value}'")).collect();
        let options =
            if options.is_empty() { String::new() } else { format!("OPTIONS ({})", options.join(", ")) };
        let sql = format!("COPY (SELECT {columns} FROM '{source}' ORDER BY time) TO '{other}' {options}");
        session.query(&sql).and_then(tesselle_sql::Answer::finish).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let same = match format {
            "tiledb" => array_content(&one) == array_content(&other),
            _ => content(one.as_ref()) == content(other.as_ref()),
        };
        assert!(same, "{format}");
    }
}

/// One container of each format that has several tables, with tables of different columns and shapes.
fn containers(root: &str, driver: &Driver) -> [String; 5] {
    let (grid, points) = (format!("{root}/grid.tet"), format!("{root}/points.tiledb"));
    let to = |name: &str| format!("{root}/{name}");
    let fleet = to("fleet.csv");
    std::fs::write(&fleet, "time,device,speed\n1,root.a,2.5\n2,root.b,3.5\n3,root.a,4.5\n").unwrap();
    let tsfile = to("whole.tsfile");
    let conversion = tesselle::convert(&fleet, &tsfile).set("device_column", "device").set("time", "time");
    conversion.on(driver).run().unwrap();

    let group = to("whole.tiledb");
    let writer = GroupWriter::create(&Location::local(&group).unwrap(), None).unwrap();
    tesselle::convert(&grid, format!("{group}/dense")).format("tiledb").on(driver).run().unwrap();
    tesselle::convert(&points, format!("{group}/sparse")).format("tiledb").on(driver).run().unwrap();
    let member = |name: &str| Member::relative(MemberKind::Array, name, name);
    writer.change(&[member("dense"), member("sparse")], &[], None).unwrap();

    let tet = to("whole.tet");
    std::fs::copy(&grid, &tet).unwrap();
    tesselle::convert(&fleet, to("speed.npy")).columns(["speed"]).on(driver).run().unwrap();
    let vector = tesselle::open(&to("speed.npy")).unwrap().default_table().unwrap().array().unwrap();
    let spec = tesselle::tet::DatasetSpec::new("speed", vector.dtype(), vector.shape());
    let place = Location::local(&tet).unwrap();
    let mut writer =
        tesselle::tet::Writer::append(&place, &[spec], WriterOptions::default(), driver).unwrap();
    writer.put_array(1, &*vector).unwrap();
    writer.finish().unwrap();

    let zarr = to("whole.zarr");
    tesselle::convert(&grid, format!("{zarr}/sub/heat")).format("zarr").on(driver).run().unwrap();
    tesselle::convert(&fleet, format!("{zarr}/speed"))
        .format("zarr")
        .columns(["speed"])
        .on(driver)
        .run()
        .unwrap();
    for place in ["", "/sub"] {
        let group = r#"{"zarr_format": 3, "node_type": "group", "attributes": {"title": "all"}}"#;
        std::fs::write(format!("{zarr}{place}/zarr.json"), group).unwrap();
    }

    let collection = to("whole.tatamis");
    std::fs::create_dir(&collection).unwrap();
    for name in ["one", "two"] {
        std::fs::copy(to("mixed.tatami"), format!("{collection}/{name}.tatami")).unwrap();
    }
    let place = Location::local(&collection).unwrap();
    let mut members = tesselle::tatami::Collection::open(&place, &OpenOptions::default()).unwrap();
    members.add(&["one.tatami", "two.tatami"]).unwrap();
    [tsfile, group, tet, zarr, collection]
}

#[test]
fn copies_of_whole_containers_are_those_of_convert() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let session = support::session(true);
    for source in containers(root, &driver) {
        let tables = tesselle::open(&source).unwrap().table_names();
        let format = tesselle::open(&source).unwrap().format().name();
        // A collection of several files is one table.
        assert!(tables.len() > 1 || format == "tatami", "{source}: {tables:?}");
        let (one, other) = (format!("{root}/convert.{format}"), format!("{root}/copy.{format}"));
        let converted = tesselle::convert(&source, &one).on(&driver).run().unwrap();
        let sql = format!("COPY '{source}' TO '{other}'");
        let copied = rows(&session, &sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert_eq!(copied, [converted.summary.rows.to_string()], "{sql}");
        assert!(content(one.as_ref()) == content(other.as_ref()), "{sql}");
        assert_eq!(tesselle::open(&other).unwrap().table_names(), tables, "{sql}");
        let found = tesselle::diff(&source, &other).on(&driver).run().unwrap();
        assert!(found.is_equal(), "{sql}: {found:?}");
    }
    // Tables that a format cannot store together go into a folder.
    let sql = format!("COPY '{root}/whole.tsfile' TO '{root}/devices' STORED AS PARQUET");
    rows(&session, &sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    for table in tesselle::open(&format!("{root}/whole.tsfile")).unwrap().table_names() {
        let (one, other) =
            (format!("{root}/whole.tsfile#{table}"), format!("{root}/devices/{table}.parquet"));
        assert!(tesselle::diff(&one, &other).on(&driver).run().unwrap().is_equal(), "{table}");
    }
    // Settings are those of a conversion.
    let (one, other) = (format!("{root}/old.convert.tsfile"), format!("{root}/old.copy.tsfile"));
    tesselle::convert(format!("{root}/whole.tsfile"), &one).set("version", "3").on(&driver).run().unwrap();
    rows(&session, &format!("COPY '{root}/whole.tsfile' TO '{other}' OPTIONS ('version' '3')")).unwrap();
    assert!(content(one.as_ref()) == content(other.as_ref()));
    // A table of the session is no file.
    session.query("CREATE TABLE ones AS SELECT 1 AS one").and_then(tesselle_sql::Answer::finish).unwrap();
    assert_eq!(rows(&session, &format!("COPY \"ones\" TO '{root}/one.csv'")).unwrap(), ["1"]);
    assert_eq!(std::fs::read_to_string(format!("{root}/one.csv")).unwrap(), "one\n1\n");
}
