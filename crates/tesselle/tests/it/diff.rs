//! Comparison of tables: by position, time, dimensions, sort key and key; across formats; within a memory limit.

use std::path::{Path, PathBuf};

use tesselle::array::MemoryArray;
use tesselle::{Diff, Difference, Opener, diff};

use crate::support::{csv, driver, into};

fn run(left: &Path, right: &Path, change: impl FnOnce(Diff) -> Diff) -> tesselle::Result<Difference> {
    change(diff(left.to_str().unwrap(), right.to_str().unwrap())).on(&driver()).run()
}

#[test]
fn by_position_the_first_differences_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let a = csv(folder.path(), "a.csv", "v,w", (0..1000).map(|i| format!("{i},x{i}")));
    let b = csv(
        folder.path(),
        "b.csv",
        "v,w",
        (0..1003).map(|i| format!("{},x{i}", if i % 100 == 7 { -1 } else { i })),
    );
    let found = run(&a, &b, |d| d.shown(3)).unwrap();
    assert!(!found.is_equal());
    assert_eq!((found.rows, found.values, found.unmatched), ((1000, 1003), 10, (0, 3)));
    assert_eq!(found.first.len(), 3);
    assert_eq!(
        found.first[1].to_json(),
        serde_json::json!({"row": 107, "column": "v", "left": "107", "right": "-1"})
    );
    assert_eq!(run(&a, &b, |d| d.columns(["w"])).unwrap().values, 0);
    assert!(run(&a, &b, |d| d.columns(["q"])).is_err());
}

#[test]
fn by_key_rows_match_wherever_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let a = csv(folder.path(), "a.csv", "id,v", (0..500).map(|i| format!("{i},{}", i * 2)));
    let b = csv(
        folder.path(),
        "b.csv",
        "id,v",
        (1..501).rev().map(|i| format!("{i},{}", if i == 42 { 0 } else { i * 2 })),
    );
    let found = run(&a, &b, |d| d.key(["id"])).unwrap();
    assert_eq!((found.values, found.unmatched, found.rows), (1, (1, 1), (500, 500)));
    assert_eq!(
        found.first[0].to_json(),
        serde_json::json!({"key": {"id": "42"}, "column": "v", "left": "84", "right": "0"})
    );
    assert!(run(&a, &b, |d| d.key(["ident"])).is_err());
}

/// Rows of a file without a key are matched by that of the other side, whichever it is.
#[test]
fn either_side_states_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..60).rev().map(|i| format!("{},truck{},{}.1", i / 3 * 1000, i % 3, i));
    let source = csv(folder.path(), "s.csv", "time,truck,speed", rows);
    let series = into(&source, "s.tsfile", &["tags=truck", "order=sort", "model=table"]);
    let narrow = folder.path().join("n.tsfile");
    let conversion = tesselle::convert(series.to_str().unwrap(), narrow.to_str().unwrap());
    conversion.casts(tesselle::parse_types("speed=float32").unwrap()).on(&driver()).run().unwrap();
    for (a, b) in [(&source, &narrow), (&narrow, &source)] {
        let found = run(a, b, |d| d).unwrap();
        assert_eq!((found.unmatched, found.rows), ((0, 0), (60, 60)), "{found:?}");
        assert!(found.values > 0, "{found:?}");
        assert_eq!(run(a, b, |d| d.tolerance("0.0001%".parse().unwrap())).unwrap().values, 0);
    }
}

#[test]
fn sparse_arrays_match_by_their_dimensions() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |step: usize| (0..400).map(move |i| format!("{},{},{}", i * step % 401, i % 7, i));
    let a = csv(folder.path(), "a.csv", "x,y,v", rows(1));
    let a = into(&a, "a.tiledb", &["dims=x,y", "kind=sparse"]);
    let b = csv(folder.path(), "b.csv", "x,y,v", rows(1).collect::<Vec<_>>().into_iter().rev());
    // Against an array in another order, and against rows in another order.
    let array = into(
        &b,
        "b.tiledb",
        &["dims=x,y", "kind=sparse", "cell_order=hilbert", "domain.x=0:400", "domain.y=0:6"],
    );
    assert!(run(&a, &array, |d| d).unwrap().is_equal());
    assert!(run(&a, &b, |d| d).unwrap().is_equal());
    // A time applies to the side that keeps earlier states; one must.
    let at = |time| move |d: Diff| d.opener(Opener::new().at(time));
    assert!(run(&b, &a, at(u64::MAX)).unwrap().is_equal());
    assert_eq!(run(&a, &b, at(1)).unwrap().rows, (0, 400));
    assert!(run(&b, &b, at(1)).is_err());
    let c = csv(folder.path(), "c.csv", "x,y,v", rows(3));
    let found = run(&a, &c, |d| d).unwrap();
    assert!(found.unmatched.0 > 0 && found.unmatched.0 == found.unmatched.1, "{found:?}");
}

#[test]
fn times_and_sort_keys_match_across_formats() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..3000).map(|i| format!("{},{}.25", i * 60_000, i % 90));
    let source = csv(folder.path(), "s.csv", "time,v", rows);
    let tsfile = into(&source, "s.tsfile", &[]);
    let tatami = into(&source, "s.tatami", &["sort_key=time"]);
    for (a, b) in [(&tsfile, &tatami), (&tsfile, &source), (&tatami, &source)] {
        let found = run(a, b, |d| d).unwrap();
        assert_eq!((found.values, found.unmatched), (0, (0, 0)), "{found:?}");
        let found = run(a, b, |d| d.key(["time"])).unwrap();
        assert_eq!((found.values, found.unmatched, found.rows), (0, (0, 0), (3000, 3000)), "{found:?}");
    }
}

#[test]
fn a_key_matches_more_rows_than_fit_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let rows =
        |salt: i64| (0..60_000_i64).map(move |i| format!("{},{}", (i * 48_271 + salt) % 60_013, i % 5));
    let a = csv(folder.path(), "a.csv", "id,v", rows(0));
    let b = csv(folder.path(), "b.csv", "id,v", rows(0).collect::<Vec<_>>().into_iter().rev());
    let found = run(&a, &b, |d| d.key(["id"]).memory(200_000)).unwrap();
    assert!(found.is_equal(), "{found:?}");
    assert_eq!(found.rows.0, 60_000);
}

#[test]
fn equal_rows_pair_up_before_rows_of_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    let rows = || (0..9000).map(|i| format!("{},{i},{}", i % 4000, i % 13));
    let a = csv(folder.path(), "a.csv", "id,v,w", rows());
    // The same rows, some of them elsewhere.
    let moved = rows().skip(3000).take(2000).chain(rows().take(3000)).chain(rows().skip(5000));
    let b = csv(folder.path(), "b.csv", "id,v,w", moved);
    assert!(run(&a, &b, |d| d.key(["id"])).unwrap().is_equal());
    // Another value and one row more, although keys repeat.
    let changed = rows().map(|row| if row == "17,4017,0" { "17,-1,0".to_owned() } else { row });
    let c = csv(folder.path(), "c.csv", "id,v,w", changed.chain(["5000,5,99".to_owned()]));
    let found = run(&a, &c, |d| d.key(["id"])).unwrap();
    assert_eq!((found.values, found.unmatched, found.rows), (1, (0, 1), (9000, 9001)), "{found:?}");
}

#[test]
fn columns_that_differ_in_type_are_reported_and_still_compared() {
    let folder = tempfile::tempdir().unwrap();
    let a = csv(folder.path(), "a.csv", "n,only_a", (0..10).map(|i| format!("{i},1")));
    let b = csv(folder.path(), "b.csv", "n,only_b", (0..10).map(|i| format!("{i}.0,1")));
    let found = run(&a, &b, |d| d).unwrap();
    assert_eq!(found.values, 0);
    assert_eq!(found.schema.len(), 3, "{:?}", found.schema);
    assert!(!found.is_equal());
    let text = csv(folder.path(), "t.csv", "n", (0..10).map(|i| format!("x{i}")));
    assert!(run(&a, &text, |d| d).is_err() || !run(&a, &text, |d| d).unwrap().is_equal());
}

/// Axes and values without names in a file match those that have one elsewhere.
#[test]
fn arrays_match_by_their_cells_under_any_names_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let cells: Vec<f32> = (0..12).map(|n| n as f32).collect();
    let write = |name: &str, cells: &[f32]| {
        let field = MemoryArray::from_slice(cells, [4, 3]).unwrap().with_axis_names(["y", "x"]).unwrap();
        let uri = at(name);
        tesselle::create_array(uri.to_str().unwrap(), field).table("heat").write().unwrap();
        uri
    };
    let all = ["a.tiledb", "a.tet", "a.zarr", "a.npy"].map(|name| write(name, &cells));
    let mut other = cells.clone();
    other[7] = 70.0;
    let others = ["b.tiledb", "b.tet", "b.zarr", "b.npy"].map(|name| write(name, &other));
    for left in &all {
        for right in &all {
            let found = run(left, right, |d| d).unwrap();
            assert!(found.is_equal(), "{left:?} {right:?}: {found:?}");
            assert_eq!(found.rows, (12, 12), "{left:?} {right:?}");
        }
        for right in &others {
            let found = run(left, right, |d| d).unwrap();
            assert_eq!((found.values, found.schema.len()), (1, 0), "{left:?} {right:?}: {found:?}");
        }
    }
    // Columns are selected by the name on either side, and names that are given on both sides have to agree.
    let values = |name: &str| run(&all[3], &others[0], |d| d.columns([name])).unwrap().values;
    assert_eq!((values("value"), values("heat"), values("y")), (1, 1, 0));
    let field = MemoryArray::from_slice(&cells, [4, 3]).unwrap().with_axis_names(["lat", "lon"]).unwrap();
    let named = at("c.zarr");
    tesselle::create_array(named.to_str().unwrap(), field).write().unwrap();
    assert_eq!(run(&all[1], &named, |d| d).unwrap().schema.len(), 4);
}

#[test]
fn containers_are_compared_table_by_table() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |odd: i64| {
        (0..900).map(move |i| format!("root.d{},{},{}", i % 3, i, if i == odd { -1 } else { i * 2 }))
    };
    let a = csv(folder.path(), "a.csv", "device,time,n", rows(-1));
    let b = csv(folder.path(), "b.csv", "device,time,n", rows(301));
    let pairs = |version: &'static str| ["device_column=device", "time=time", "aligned=false", version];
    let (old, new) = (into(&a, "a.tsfile", &pairs("version=1")), into(&a, "b.tsfile", &pairs("version=4")));
    let found = run(&old, &new, |d| d).unwrap();
    assert!(found.is_equal(), "{}", found.to_json());
    assert_eq!((found.tables, found.rows), (3, (900, 900)));
    let other = into(&b, "c.tsfile", &pairs("version=4"));
    let found = run(&old, &other, |d| d).unwrap();
    assert_eq!((found.values, found.first.len()), (1, 1));
    assert_eq!(found.first[0].table.as_deref(), Some("root.d1"));
    // A table of one side alone is a difference.
    let fewer =
        csv(folder.path(), "d.csv", "device,time,n", rows(-1).filter(|row| !row.starts_with("root.d2")));
    let fewer = into(&fewer, "d.tsfile", &pairs("version=4"));
    let found = run(&old, &fewer, |d| d).unwrap();
    assert!(!found.is_equal() && found.schema == ["table 'root.d2' is only on the left"]);
}

#[test]
fn points_of_many_series_match_by_series_and_time() {
    let folder = tempfile::tempdir().unwrap();
    let rows = || (0..600).map(|i| format!("root.d{},{i},{},{}", i % 3, i * 2, i % 5));
    let a = csv(folder.path(), "a.csv", "device,time,n,m", rows());
    let pairs = ["device_column=device", "time=time", "aligned=false"];
    let (grouped, apart) = (
        into(&a, "a.tsfile", &[&pairs[..], &["group_bytes=2000", "page_points=10"]].concat()),
        into(&a, "b.tsfile", &pairs),
    );
    let long = |path: &Path| PathBuf::from(format!("{}#*", path.display()));
    let found = run(&long(&grouped), &long(&apart), |d| d).unwrap();
    assert!(found.is_equal(), "{}", found.to_json());
    assert_eq!(found.rows, (1200, 1200));
}

#[test]
fn floats_within_the_tolerance_are_equal() {
    let folder = tempfile::tempdir().unwrap();
    let a = csv(folder.path(), "a.csv", "i,x", (0..100).map(|i| format!("{i},{i}.5")));
    let b = csv(folder.path(), "b.csv", "i,x", (0..100).map(|i| format!("{i},{i}.501")));
    let with = |text: &str| run(&a, &b, |d| d.tolerance(text.parse().unwrap())).unwrap().values;
    assert_eq!(run(&a, &b, |d| d).unwrap().values, 100);
    assert_eq!((with("0.0011"), with("0.0009")), (0, 100));
    // A thousandth is one percent of 0.1.
    assert_eq!(with("1%"), 0);
    assert_eq!(with("0.01%"), 10);
}

/// Rows that are paired wherever they are, and rows that are sorted because they exceed the memory: the same answer.
#[test]
fn shuffled_rows_are_compared_alike_in_memory_and_beyond_it() {
    let folder = tempfile::tempdir().unwrap();
    let row = |id: u64, changed: bool| {
        let text = if id.is_multiple_of(11) { String::new() } else { format!("text of {}", id % 50) };
        format!("{id},{text},{}.5,{}", if changed { 7 } else { id % 13 }, id.is_multiple_of(2))
    };
    let header = "id,text,number,flag";
    let a = csv(folder.path(), "a.csv", header, (0..4001).map(|id| row(id, false)));
    // Every id once, in another order; some rows differ, some are on one side alone.
    let shuffled = (0..4001).map(|i| i * 1733 % 4001).filter(|id| id % 500 != 3);
    let more = (9000..9004).map(|id| row(id, false));
    let b = csv(folder.path(), "b.csv", header, shuffled.map(|id| row(id, id % 97 == 5)).chain(more));
    let found = run(&a, &b, |d| d.key(["id"])).unwrap();
    let differing = (0..4001u64).filter(|id| id % 500 != 3 && id % 97 == 5 && id % 13 != 7).count();
    assert_eq!((found.rows, found.unmatched), ((4001, 3997), (8, 4)));
    assert_eq!((found.values, found.first.len()), (differing as u64, 20));
    for memory in [0, 20_000, 200_000] {
        assert_eq!(run(&a, &b, |d| d.key(["id"]).memory(memory)).unwrap(), found, "{memory}");
    }
    let equal = csv(folder.path(), "c.csv", header, (0..4001).rev().map(|id| row(id, false)));
    let found = run(&a, &equal, |d| d.key(["id"])).unwrap();
    assert!(found.is_equal() && found.rows == (4001, 4001));
    // A row more often on one side than on the other is one row too many.
    let twice = csv(folder.path(), "d.csv", header, (0..4001).chain([5, 5]).rev().map(|id| row(id, false)));
    let found = run(&a, &twice, |d| d.key(["id"])).unwrap();
    assert_eq!((found.values, found.unmatched, found.rows), (0, (0, 2), (4001, 4003)));
}
