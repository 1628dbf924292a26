//! Adding to containers that exist: what was there stays, what came is there too, and what does not fit changes nothing.

use std::path::Path;

use tesselle::tiledb::write::{ArrayWriter, SchemaBuilder};
use tesselle::tiledb::{Attribute, Datatype, Dimension, Layout};
use tesselle::{
    Append, Depth, Driver, DriverOptions, ErrorKind, Location, Opener, append, convert, diff, verify,
};

use crate::support::{csv, driver, into};

fn add(source: &Path, target: &str) -> tesselle::Result<u64> {
    add_with(source, target, |append| append)
}

fn add_with(source: &Path, target: &str, change: impl FnOnce(Append) -> Append) -> tesselle::Result<u64> {
    change(append(text(source), target)).on(&driver()).run().map(|appended| appended.summary.rows)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn assert_equal(left: &Path, right: &Path) {
    let found = diff(text(left), text(right)).on(&driver()).run().unwrap();
    assert!(found.is_equal(), "{}", found.to_json());
}

fn assert_sound(path: &Path) {
    let report = verify(text(path)).depth(Depth::Deep).on(&driver()).run().unwrap();
    assert!(report.ok(), "{:?}", report.findings());
}

fn series(range: std::ops::Range<i64>) -> impl Iterator<Item = String> {
    range.map(|i| {
        format!("{},{},{}", 1_000 * i, i % 7, if i % 5 == 0 { String::new() } else { format!("{i}.5") })
    })
}

#[test]
fn a_tsfile_of_every_version_goes_on_in_time() {
    for version in ["0.8", "1", "2", "3", "4"] {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (
            csv(folder.path(), "a.csv", "time,n,x", series(0..3_000)),
            csv(folder.path(), "b.csv", "time,n,x", series(3_000..4_000)),
        );
        let all = csv(folder.path(), "all.csv", "time,n,x", series(0..4_000));
        let version = format!("version={version}");
        let pairs = [version.as_str(), "time=time", "device=root.d1", "page_points=500"];
        let (grown, whole) = (into(&a, "a.tsfile", &pairs), into(&all, "all.tsfile", &pairs));
        assert_eq!(add(&b, text(&grown)).unwrap(), 1_000, "{version}");
        assert_sound(&grown);
        assert_equal(&grown, &whole);
        // Times that are there already are refused, and change nothing.
        let before = std::fs::read(&grown).unwrap();
        assert!(add(&b, text(&grown)).is_err());
        assert_eq!(std::fs::read(&grown).unwrap(), before);
    }
}

#[test]
fn aligned_devices_and_tables_of_a_tsfile_grow() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |range: std::ops::Range<i64>| range.map(|i| format!("{i},p{},{}", i % 3, i * 2));
    let a = csv(folder.path(), "a.csv", "time,plant,n", rows(0..900));
    let b = csv(folder.path(), "b.csv", "time,plant,n", rows(900..1_200));
    let all = csv(folder.path(), "all.csv", "time,plant,n", rows(0..1_200));
    let pairs = ["model=table", "tags=plant", "device=t1"];
    let (grown, whole) = (into(&a, "a.tsfile", &pairs), into(&all, "all.tsfile", &pairs));
    assert_eq!(add(&b, text(&grown)).unwrap(), 300);
    assert_sound(&grown);
    assert_equal(&grown, &whole);
    // A device that is new.
    let other = csv(folder.path(), "c.csv", "time,plant,n", (0..10).map(|i| format!("{i},new,{i}")));
    assert_eq!(add(&other, text(&grown)).unwrap(), 10);
    assert_sound(&grown);

    let a = csv(folder.path(), "d.csv", "time,x,y", (0..100).map(|i| format!("{i},{i},")));
    let b = csv(folder.path(), "e.csv", "time,y", (100..150).map(|i| format!("{i},{i}")));
    let all = csv(
        folder.path(),
        "f.csv",
        "time,x,y",
        (0..150).map(|i| if i < 100 { format!("{i},{i},") } else { format!("{i},,{i}") }),
    );
    let types = vec![("y".to_owned(), arrow_schema::DataType::Int64)];
    let conversion = |target: &Path, source: &Path| {
        let conversion = convert(text(source), text(target)).opener(Opener::new().types(types.clone()));
        let conversion = conversion.set("aligned", "true").set("device", "root.a");
        conversion.on(&driver()).run().unwrap();
    };
    let (grown, whole) = (folder.path().join("g.tsfile"), folder.path().join("h.tsfile"));
    conversion(&grown, &a);
    conversion(&whole, &all);
    assert_eq!(add(&b, text(&grown)).unwrap(), 50);
    assert_sound(&grown);
    assert_equal(&grown, &whole);
}

#[test]
fn a_new_device_and_points_of_many_series_join_a_tsfile() {
    let folder = tempfile::tempdir().unwrap();
    let a = csv(folder.path(), "a.csv", "time,n,x", series(0..50));
    let grown = into(&a, "a.tsfile", &["time=time", "device=root.d1", "aligned=false"]);
    add(&a, &format!("{}#root.d2", text(&grown))).unwrap();
    let points = csv(
        folder.path(),
        "p.csv",
        "device,measurement,time,value_int64",
        (0..20).map(|i| format!("root.d{},n,{},{i}", 1 + i % 3, 1_000_000 + i)),
    );
    add(&points, text(&grown)).unwrap();
    assert_sound(&grown);
    let names = tesselle::open(text(&grown)).unwrap().table_names();
    assert_eq!(names, ["root.d1", "root.d2", "root.d3"]);
}

#[test]
fn a_tatami_file_gets_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |range: std::ops::Range<i64>| {
        range.map(|i| format!("{i},name {},{}", i % 11, "long blob ".repeat(1 + i as usize % 5)))
    };
    let a = csv(folder.path(), "a.csv", "id,name,body", rows(0..4_000));
    let b = csv(folder.path(), "b.csv", "id,name,body", rows(4_000..5_000));
    let all = csv(folder.path(), "all.csv", "id,name,body", rows(0..5_000));
    for pairs in [
        &["sort_key=id", "bloom=name", "blob=body", "row_group_rows=1500", "page_rows=400"][..],
        &["profile=extended", "codec=lz4"],
    ] {
        let (grown, whole) = (into(&a, "a.tatami", pairs), into(&all, "all.tatami", pairs));
        assert_eq!(add(&b, text(&grown)).unwrap(), 1_000);
        assert_sound(&grown);
        assert_equal(&grown, &whole);
        if pairs.contains(&"sort_key=id") {
            let before = std::fs::read(&grown).unwrap();
            assert!(add(&a, text(&grown)).is_err(), "keys go back");
            assert_eq!(std::fs::read(&grown).unwrap(), before);
        }
        std::fs::remove_file(&grown).unwrap();
        std::fs::remove_file(&whole).unwrap();
    }
}

#[test]
fn arrays_grow_by_cells_and_along_axes() {
    let folder = tempfile::tempdir().unwrap();
    let cells = |rows: std::ops::Range<i64>| {
        rows.flat_map(|y| (0..7).map(move |x| format!("{y},{x},{}", 10 * y + x)))
    };
    let a = csv(folder.path(), "a.csv", "y,x,v", cells(0..10));
    let b = csv(folder.path(), "b.csv", "y,x,v", cells(10..15));
    let all = csv(folder.path(), "all.csv", "y,x,v", cells(0..15));
    for kind in ["kind=sparse", "kind=dense"] {
        let pairs = [kind, "dims=y,x", "domain.y=0:99", "domain.x=0:6", "extent.y=4", "extent.x=4"];
        let (grown, whole) = (into(&a, "a.tiledb", &pairs), into(&all, "all.tiledb", &pairs));
        assert_eq!(add(&b, text(&grown)).unwrap(), 35, "{kind}");
        assert_sound(&grown);
        assert_equal(&grown, &whole);
        if kind == "kind=dense" {
            // Values alone go behind the rows, in their order.
            let values = csv(folder.path(), "v.csv", "v", (0..14).map(|i| i.to_string()));
            assert_eq!(add(&values, text(&grown)).unwrap(), 14);
            let odd = csv(folder.path(), "w.csv", "v", (0..13).map(|i| i.to_string()));
            assert!(add(&odd, text(&grown)).is_err());
            assert_eq!(tesselle::open(text(&grown)).unwrap().default_table().unwrap().row_count(), Some(119));
        }
        std::fs::remove_dir_all(&grown).unwrap();
        std::fs::remove_dir_all(&whole).unwrap();
    }
    let pairs = ["axes=2", "shape=10,7", "chunk=4,4"];
    let grown = into(&a, "a.tet", &pairs);
    let added = into(&a, "again.tet", &pairs);
    assert_eq!(add_with(&added, text(&grown), |append| append.axis("1")).unwrap(), 70);
    assert_sound(&grown);
    let array = tesselle::open(text(&grown)).unwrap().default_table().unwrap().array().unwrap();
    assert_eq!(array.shape(), [10, 14]);
    assert!(add(&a, text(&grown)).is_err(), "rows are no tensor");
}

/// A driver with little memory.
fn small() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(1 << 20)).unwrap()
}

/// How many fragments an array has, committed or not.
fn fragments(array: &Path) -> usize {
    std::fs::read_dir(array.join("__fragments")).unwrap().count()
}

#[test]
fn dense_rows_that_exceed_the_memory_are_written_in_bands_of_tiles() {
    let folder = tempfile::tempdir().unwrap();
    let cells = |rows: std::ops::Range<i64>| {
        rows.flat_map(|y| (0..200).map(move |x| format!("{y},{x},{}", 1_000 * y + x)))
    };
    let first = csv(folder.path(), "first.csv", "y,x,v", cells(0..3));
    let all = csv(folder.path(), "all.csv", "y,x,v", cells(0..403));
    let more = csv(folder.path(), "more.csv", "y,x,v", cells(3..403));
    let values = csv(
        folder.path(),
        "values.csv",
        "v",
        cells(3..403).map(|row| row.rsplit_once(',').unwrap().1.to_owned()),
    );
    for order in [Layout::RowMajor, Layout::ColMajor] {
        let pairs =
            ["kind=dense", "dims=y,x", "domain.y=0:999", "domain.x=0:199", "extent.y=8", "extent.x=60"];
        let begin = || {
            let grown = folder.path().join("grown.tiledb");
            let schema = SchemaBuilder::dense()
                .tile_order(order)
                .dimension(Dimension::new("y", Datatype::Int64, 0, 999, 8))
                .dimension(Dimension::new("x", Datatype::Int64, 0, 199, 60))
                .attribute(Attribute::new("v", Datatype::Int64));
            let place = Location::local(&grown).unwrap();
            ArrayWriter::create(&place, &schema.build().unwrap(), None, None).unwrap();
            add(&first, text(&grown)).unwrap();
            grown
        };
        let whole = into(&all, "whole.tiledb", &pairs);
        for source in [&more, &values] {
            let grown = begin();
            let added = append(text(source), text(&grown)).on(&small()).run().unwrap();
            assert_eq!(added.summary.rows, 80_000);
            assert!(fragments(&grown) > 3, "{} {}", source.display(), fragments(&grown));
            // They became visible together.
            let lists = std::fs::read_dir(grown.join("__commits")).unwrap().flatten();
            assert_eq!(
                lists.filter(|entry| entry.file_name().to_string_lossy().ends_with(".con")).count(),
                1
            );
            assert_sound(&grown);
            assert_equal(&grown, &whole);
            std::fs::remove_dir_all(&grown).unwrap();
        }
        // A row too many, or rows that go back behind a band, leave the array as it was.
        let grown = begin();
        let odd = csv(folder.path(), "odd.csv", "v", (0..80_001).map(|i| i.to_string()));
        let back = csv(folder.path(), "back.csv", "y,x,v", cells(3..403).chain(cells(0..1)));
        let hole = csv(folder.path(), "hole.csv", "y,x,v", cells(3..200).chain(cells(208..403)));
        let large = csv(folder.path(), "large.csv", "v", (0..200_000).map(|i| i.to_string()));
        for wrong in [&odd, &back, &hole, &large] {
            assert!(append(text(wrong), text(&grown)).on(&small()).run().is_err(), "{}", wrong.display());
            assert_eq!(fragments(&grown), 1, "{}", wrong.display());
        }
        std::fs::remove_dir_all(&grown).unwrap();
        std::fs::remove_dir_all(&whole).unwrap();
    }
    // Along another axis: the shape of an array determines where its rows belong.
    let pairs = |rows: &'static str| {
        ["kind=dense", "dims=y,x", "domain.y=0:402", "domain.x=0:999", "extent.y=8", "extent.x=60", rows]
    };
    let grown = into(&all, "wide.tiledb", &pairs("box.x=0:199"));
    let again = into(&all, "again.tet", &["axes=2", "shape=403,200", "chunk=16,200"]);
    append(text(&again), text(&grown)).axis("x").on(&small()).run().unwrap();
    assert!(fragments(&grown) > 3);
    assert_sound(&grown);
    let shifted = (0..403).flat_map(|y| (0..400).map(move |x| format!("{y},{x},{}", 1_000 * y + x % 200)));
    let whole =
        into(&csv(folder.path(), "shifted.csv", "y,x,v", shifted), "shifted.tiledb", &pairs("box.x=0:399"));
    assert_equal(&grown, &whole);
    // Rows without a shape are counted first, which takes memory.
    let many = csv(folder.path(), "many.csv", "v", (0..403 * 500).map(|i| i.to_string()));
    let before = fragments(&grown);
    let error = append(text(&many), text(&grown)).axis("x").on(&small()).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("counted before they are placed"), "{error}");
    assert_eq!(fragments(&grown), before);
}

#[test]
fn what_cannot_grow_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let a = csv(folder.path(), "a.csv", "time,n", (0..5).map(|i| format!("{i},{i}")));
    let parquet = into(&a, "a.parquet", &[]);
    assert!(add(&a, text(&parquet)).unwrap_err().to_string().contains("appended"));
    let missing = folder.path().join("none.tsfile");
    let error = add(&a, text(&missing)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("no such file"));
    let tsfile = into(&a, "a.tsfile", &["time=time", "aligned=true"]);
    let text_column = csv(folder.path(), "b.csv", "time,n", (10..15).map(|i| format!("{i},word")));
    assert!(add(&text_column, text(&tsfile)).is_err());
    let more = csv(folder.path(), "c.csv", "time,n,z", (10..15).map(|i| format!("{i},{i},{i}")));
    assert!(add(&more, text(&tsfile)).is_err());
}
