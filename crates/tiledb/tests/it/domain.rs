//! The cells of its domain that a dense array shows as rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use serde_json::{Value as Json, json};
use tesselle_core::array::read_region;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Format, Location, OpenOptions, Region, Scan, Sink, WriteOptions};
use tesselle_tiledb::write::{ArrayWriter, CellOrder, SchemaBuilder};
use tesselle_tiledb::{Attribute, Bounds, Datatype, Dimension, TileDb};

use crate::support;
use crate::support::read;

const HUGE: i32 = 1 << 30;

fn place() -> Location {
    Location::new(Arc::new(MemoryStorage::new()), "array")
}

fn range(low: i32, high: i32) -> Bounds {
    Bounds { low: low.into(), high: high.into() }
}

fn schema() -> SchemaBuilder {
    SchemaBuilder::dense()
        .dimension(Dimension::new("y", Datatype::Int32, 0, HUGE, 4))
        .dimension(Dimension::new("x", Datatype::Int32, -5, HUGE, 3))
        .attribute(Attribute::new("a", Datatype::Int32))
}

fn numbers(values: std::ops::Range<i32>) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int32Array::from_iter_values(values));
    RecordBatch::try_from_iter([("a", column)]).unwrap()
}

/// A huge domain with 2 x 3 cells at time 10 and 1 x 1 cell at time 20.
fn corner() -> Location {
    let location = place();
    let array = ArrayWriter::create(&location, &schema().build().unwrap(), None, Some(1)).unwrap();
    let write = |ranges: &[Bounds], batch: &RecordBatch, at: u64| {
        array.write_dense(ranges, batch, CellOrder::RowMajor, Some(at)).unwrap();
    };
    write(&[range(6, 7), range(0, 2)], &numbers(0..6), 10);
    write(&[range(9, 9), range(4, 4)], &numbers(100..101), 20);
    location
}

fn cells(location: &Location, options: &OpenOptions, scan: &Scan) -> Vec<(i32, i32, i32)> {
    let container = TileDb.open(location, options).unwrap();
    let mut out = Vec::new();
    for batch in read(&*container, scan).unwrap() {
        let column = |i: usize| batch.column(i).as_primitive::<Int32Type>().values().to_vec();
        out.extend(column(0).into_iter().zip(column(1)).zip(column(2)).map(|((y, x), a)| (y, x, a)));
    }
    out
}

fn info(location: &Location, options: &OpenOptions) -> Json {
    TileDb.open(location, options).unwrap().describe().unwrap().to_json()
}

fn until(end: u64) -> OpenOptions {
    OpenOptions::default().with_between((0, end))
}

#[test]
fn rows_are_the_box_written_by_that_time() {
    let location = corner();
    let early = cells(&location, &until(10), &Scan::all());
    assert_eq!(early, [(6, 0, 0), (6, 1, 1), (6, 2, 2), (7, 0, 3), (7, 1, 4), (7, 2, 5)]);
    let all = cells(&location, &OpenOptions::default(), &Scan::all());
    assert_eq!(all.len(), 4 * 5);
    assert_eq!((all[0], all[4], all[19]), ((6, 0, 0), (6, 4, i32::MIN), (9, 4, 100)));
    let info = info(&location, &OpenOptions::default());
    assert_eq!(info["non_empty_domain"], json!([[6, 9], [0, 4]]));
    assert_eq!(info["tables"][0]["rows"], json!(20));
    assert_eq!(info["tables"][0]["columns"][0]["domain"], json!([0, HUGE]));
}

#[test]
fn an_array_without_fragments_has_no_rows() {
    let location = corner();
    let before = until(5);
    assert!(cells(&location, &before, &Scan::all()).is_empty());
    let info = info(&location, &before);
    assert_eq!((&info["non_empty_domain"], &info["tables"][0]["rows"]), (&Json::Null, &json!(0)));
    let view = TileDb.open(&location, &before).unwrap().default_table().unwrap().array("a").unwrap();
    assert_eq!(view.shape(), [0, 0]);
    // An explicitly selected region reads as fill values.
    let slice = Scan::all().select("3:4,-5:-3".parse().unwrap());
    assert_eq!(cells(&location, &before, &slice), [(3, -5, i32::MIN), (3, -4, i32::MIN)]);
}

#[test]
fn slices_reach_the_whole_domain_and_open_ends_are_those_of_the_rows() {
    let location = corner();
    let options = OpenOptions::default();
    let slice = |text: &str| cells(&location, &options, &Scan::all().select(text.parse().unwrap()));
    assert_eq!(slice("5:7,2:3"), [(5, 2, i32::MIN), (6, 2, 2)]);
    assert_eq!(slice("7,:"), [(7, 0, 3), (7, 1, 4), (7, 2, 5), (7, 3, i32::MIN), (7, 4, i32::MIN)]);
    assert_eq!(slice("9:,3:"), [(9, 3, i32::MIN), (9, 4, 100)]);
    assert_eq!(slice(&format!("{HUGE}:{},-5:-4", HUGE + 1)), [(HUGE, -5, i32::MIN)]);
    let table = TileDb.open(&location, &options).unwrap().default_table().unwrap();
    let outside = tesselle_core::Selection::all();
    assert!(table.plan(&Scan::all().select(outside)).is_ok());
    assert!(table.plan(&Scan::all().select(format!("0:{}", HUGE + 2).parse().unwrap())).is_err());
}

#[test]
fn the_array_face_has_the_shape_of_the_rows() {
    let location = corner();
    let table = TileDb.open(&location, &OpenOptions::default()).unwrap().default_table().unwrap();
    let view = table.array("a").unwrap();
    assert_eq!((view.shape(), view.origin()), ([4, 5].as_slice(), vec![6, 0]));
    let mut bytes = vec![0; 20 * 4];
    read_region(&*view, &Region::whole(view.shape()), &mut bytes, &support::driver()).unwrap();
    let values: Vec<i32> = bytes.chunks(4).map(|cell| i32::from_le_bytes(cell.try_into().unwrap())).collect();
    assert_eq!((values[0], values[7], values[19]), (0, 5, 100));
    let whole = table.domain_array("a").unwrap();
    assert_eq!((whole.shape(), whole.origin()), ([1 + HUGE as u64, 6 + HUGE as u64].as_slice(), vec![0, -5]));
}

#[test]
fn a_current_domain_and_the_full_domain_take_precedence_over_the_written_box() {
    let location = place();
    let small = SchemaBuilder::dense()
        .dimension(Dimension::new("y", Datatype::Int32, 0, 9, 4))
        .dimension(Dimension::new("x", Datatype::Int32, 0, 9, 4))
        .attribute(Attribute::new("a", Datatype::Int32))
        .current_domain(vec![range(0, 2), range(1, 3)])
        .build()
        .unwrap();
    let array = ArrayWriter::create(&location, &small, None, Some(1)).unwrap();
    array.write_dense(&[range(1, 1), range(2, 2)], &numbers(7..8), CellOrder::RowMajor, Some(10)).unwrap();
    let rows = cells(&location, &OpenOptions::default(), &Scan::all());
    assert_eq!((rows.len(), rows[4]), (9, (1, 2, 7)));
    let full = OpenOptions::default().with_full_domain(true);
    let rows = cells(&location, &full, &Scan::all());
    assert_eq!((rows.len(), rows[12]), (100, (1, 2, 7)));
    assert_eq!(info(&location, &full)["tables"][0]["rows"], json!(100));
}

#[test]
fn rows_fill_a_box_of_a_larger_domain() {
    let location = place();
    let source = corner();
    let container = TileDb.open(&source, &until(10)).unwrap();
    let batches = read(&*container, &Scan::all()).unwrap();
    let mut options = WriteOptions::default();
    let pairs = [
        ("dims", "y,x"),
        ("kind", "dense"),
        ("domain.y", "0:1000000"),
        ("domain.x", "-5:1000000"),
        ("box.y", "6:7"),
        ("box.x", "0:2"),
        ("extent", "4"),
    ];
    for (name, value) in pairs {
        options.settings.set(name, value);
    }
    let mut sink: Box<dyn Sink> =
        TileDb.create(&location, batches[0].schema(), &options, &support::driver()).unwrap();
    for batch in &batches {
        sink.write(batch).unwrap();
    }
    assert_eq!(sink.finish().unwrap().rows, 6);
    let default = OpenOptions::default();
    assert_eq!(cells(&location, &default, &Scan::all()), cells(&source, &until(10), &Scan::all()));
    assert_eq!(info(&location, &default)["non_empty_domain"], json!([[6, 7], [0, 2]]));
    options.settings.set("box.x", "0:2000000");
    let refused = TileDb.create(&place(), batches[0].schema(), &options, &support::driver());
    assert!(refused.is_err());
}

#[test]
fn a_commit_of_the_old_layout_without_its_folder_is_a_warning() {
    let location = corner();
    let marker = location.join("__5_5_0123456789abcdef0123456789abcdef_10.ok");
    marker.create(false).unwrap().commit().unwrap();
    assert_eq!(cells(&location, &OpenOptions::default(), &Scan::all()).len(), 20);
    let container = TileDb.open(&location, &OpenOptions::default()).unwrap();
    let mut report = tesselle_core::Report::new(tesselle_core::Depth::Deep);
    container.verify(tesselle_core::Depth::Deep, &support::driver(), &mut report).unwrap();
    let findings: Vec<_> = report.findings().iter().map(|finding| (finding.severity, finding.kind)).collect();
    assert_eq!(findings, [(tesselle_core::Severity::Warning, "missing_fragment")]);
}
