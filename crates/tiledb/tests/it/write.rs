//! Written data reads back; invalid writes fail; an interrupted write leaves the old or the new state.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::FaultyStorage;
use tesselle_core::{
    ArrayRequest, Comparison, Container, Format, Location, OpenOptions, Predicate, RepairRequest, Result,
    Scan, Secret, Settings, Storage, WriteOptions, WriteRequest, WriteTarget,
};
use tesselle_tiledb::filter::{Filter, Key};
use tesselle_tiledb::write::{
    ArrayWriter, CellOrder, Consolidation, GroupWriter, NewSchema, OnDuplicate, OnNull, SchemaBuilder,
    SparseOptions, Vacuum,
};
use tesselle_tiledb::{
    Attribute, Bounds, DataOrder, Datatype, Dimension, Enumeration, Layout, Member, MemberKind,
    MetadataValue, TileDb,
};

use crate::support;
use crate::support::read;

fn place() -> Location {
    Location::new(Arc::new(MemoryStorage::new()), "array")
}

fn range(low: i32, high: i32) -> Bounds {
    Bounds { low: low.into(), high: high.into() }
}

fn dim(name: &str, low: i32, high: i32, extent: i32) -> Dimension {
    Dimension::new(name, Datatype::Int32, low, high, extent)
}

fn ints(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

fn at(timestamp: u64) -> SparseOptions {
    SparseOptions::default().with_timestamp(timestamp)
}

fn batch<'a>(columns: impl IntoIterator<Item = (&'a str, ArrayRef)>) -> RecordBatch {
    let nullable = |column: &ArrayRef| column.null_count() > 0;
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| {
        let nullable = nullable(&column);
        (name, column, nullable)
    }))
    .unwrap()
}

fn open(location: &Location, options: &OpenOptions) -> Arc<dyn Container> {
    TileDb.open(location, options).unwrap()
}

/// The cells of a sparse array of one dimension and one attribute, sorted.
fn cells(location: &Location, options: &OpenOptions) -> Vec<(i32, i32)> {
    let mut out = Vec::new();
    for batch in read(&*open(location, options), &Scan::all()).unwrap() {
        let column = |i: usize| batch.column(i).as_primitive::<Int32Type>().values().to_vec();
        out.extend(column(0).into_iter().zip(column(1)));
    }
    out.sort_unstable();
    out
}

fn line(capacity: u64) -> NewSchema {
    SchemaBuilder::sparse()
        .dimension(dim("x", 0, 999, 10))
        .attribute(Attribute::new("a", Datatype::Int32))
        .capacity(capacity)
        .build()
        .unwrap()
}

fn rows(x: &[i32], add: i32) -> RecordBatch {
    batch([("x", ints(x.iter().copied())), ("a", ints(x.iter().map(|x| x + add)))])
}

#[test]
fn dense_boxes_come_back_in_every_order() {
    for tile in [Layout::RowMajor, Layout::ColMajor] {
        for cell in [Layout::RowMajor, Layout::ColMajor] {
            let schema = SchemaBuilder::dense()
                .dimension(dim("y", -2, 6, 4))
                .dimension(dim("x", 0, 9, 3))
                .attribute(
                    Attribute::new("a", Datatype::Int32).with_filters([Filter::Bitshuffle, Filter::lz4()]),
                )
                .attribute(
                    Attribute::new("s", Datatype::StringUtf8).var().with_filters([Filter::Rle { level: -1 }]),
                )
                .tile_order(tile)
                .cell_order(cell)
                .build()
                .unwrap();
            let location = place();
            let array = ArrayWriter::create(&location, &schema, None, None).unwrap();
            let strings: ArrayRef =
                Arc::new(StringArray::from_iter_values((0..90).map(|i| "é".repeat(i / 20))));
            let given = batch([("a", ints(0..90)), ("s", strings)]);
            array.write_dense(&[range(-2, 6), range(0, 9)], &given, CellOrder::RowMajor, None).unwrap();
            let found = read(&*open(&location, &OpenOptions::default()), &Scan::all()).unwrap();
            let found = concat_batches(&found[0].schema(), &found).unwrap();
            assert_eq!(found.column_by_name("a").unwrap(), given.column(0));
            assert_eq!(
                found.column_by_name("s").unwrap().as_string::<i32>(),
                given.column(1).as_string::<i32>()
            );
        }
    }
}

#[test]
fn encrypted_arrays_need_their_key() {
    let location = place();
    let key = Key::new([7; 32]);
    let array = ArrayWriter::create(&location, &line(4), Some(key.clone()), Some(1)).unwrap();
    array.write_sparse(&[rows(&[3, 1, 2], 10)], &at(2)).unwrap();
    let with_key = OpenOptions::default().with_key(Secret::new([7; 32]));
    assert_eq!(cells(&location, &with_key), [(1, 11), (2, 12), (3, 13)]);
    assert!(TileDb.open(&location, &OpenOptions::default()).is_err());
    assert!(ArrayWriter::open(&location, None).is_err());
    ArrayWriter::open(&location, Some(key)).unwrap().consolidate_commits().unwrap();
}

#[test]
fn time_travel_sees_each_state() {
    let location = place();
    let array = ArrayWriter::create(&location, &line(4), None, Some(1)).unwrap();
    array.write_sparse(&[rows(&[1, 2], 0)], &at(10)).unwrap();
    array.write_sparse(&[rows(&[2, 3], 100)], &at(20)).unwrap();
    array.delete(&Predicate::compare("x", Comparison::Eq, 1), OnNull::Refuse, Some(30)).unwrap();
    array.consolidate(&Consolidation::default()).unwrap();
    let when = |time| OpenOptions::default().with_between((0, time));
    for vacuum in [false, true] {
        if vacuum {
            array.vacuum(Vacuum::Fragments).unwrap();
        }
        assert_eq!(cells(&location, &when(15)), [(1, 1), (2, 2)], "vacuumed: {vacuum}");
        assert_eq!(cells(&location, &when(25)), [(1, 1), (2, 102), (3, 103)], "vacuumed: {vacuum}");
        assert_eq!(cells(&location, &when(35)), [(2, 102), (3, 103)], "vacuumed: {vacuum}");
    }
}

#[test]
fn duplicates_and_disorder_are_refused_or_handled() {
    let location = place();
    let array = ArrayWriter::create(&location, &line(2), None, None).unwrap();
    assert!(array.write_sparse(&[rows(&[1, 1], 0)], &SparseOptions::default()).is_err());
    let last = SparseOptions::default().with_on_duplicate(OnDuplicate::KeepLast);
    let twice = batch([("x", ints([1, 0, 1])), ("a", ints([5, 6, 7]))]);
    array.write_sparse(&[twice], &last).unwrap();
    assert_eq!(cells(&location, &OpenOptions::default()), [(0, 6), (1, 7)]);
    let global = SparseOptions::default().with_in_global_order(true);
    assert!(array.write_sparse(&[rows(&[5, 4], 0)], &global).is_err());
    assert!(
        array.write_sparse(&[rows(&[1000], 0)], &SparseOptions::default()).is_err(),
        "outside the domain"
    );
    // Nothing of the refused writes is left.
    assert_eq!(location.join("__fragments").list().unwrap().len(), 1);
}

#[test]
fn schemas_that_break_the_rules_are_refused() {
    let dense = || SchemaBuilder::dense().attribute(Attribute::new("a", Datatype::Int32));
    let refused = |builder: SchemaBuilder, why: &str| {
        assert!(builder.build().is_err(), "{why}");
    };
    refused(dense(), "no dimension");
    refused(dense().dimension(dim("x", 0, 9, 0)), "extent 0");
    refused(dense().dimension(dim("x", 0, 9, 11)), "extent larger than the domain");
    refused(dense().dimension(dim("x", 0, i32::MAX, 10)), "last tile exceeds the type");
    refused(dense().dimension(Dimension::string("x")), "string dimension");
    refused(dense().dimension(dim("a", 0, 9, 5)), "duplicate name");
    refused(dense().dimension(dim("__x", 0, 9, 5)), "reserved name");
    refused(dense().dimension(dim("x", 0, 9, 5)).cell_order(Layout::Hilbert), "dense Hilbert");
    refused(SchemaBuilder::dense().dimension(dim("x", 0, 9, 5)), "no attribute");
    refused(dense().dimension(dim("x", 0, 9, 5)).current_domain([range(0, 10)]), "current domain too wide");
    let attribute =
        |attribute: Attribute| SchemaBuilder::dense().dimension(dim("x", 0, 9, 5)).attribute(attribute);
    let dictionary = Filter::Dictionary { level: -1 };
    refused(
        attribute(Attribute::new("b", Datatype::Int32).with_filters([dictionary])),
        "dictionary of numbers",
    );
    refused(
        attribute(Attribute::new("b", Datatype::Int32).with_fill([0; 3], true)),
        "fill of a different size",
    );
    refused(attribute(Attribute::new("b", Datatype::Int32).with_enumeration("e")), "unknown enumeration");
    let double = Filter::DoubleDelta { level: -1, reinterpret: None };
    refused(
        attribute(Attribute::new("b", Datatype::Float64).with_filters([double])),
        "double delta of floats",
    );
    assert!(Enumeration::of_strings("e", ["a", "a"], false).is_err());
}

#[test]
fn columns_that_do_not_fit_are_refused() {
    let location = place();
    let schema =
        SchemaBuilder::dense().dimension(dim("x", 0, 2, 3)).attribute(Attribute::new("a", Datatype::Int32));
    let array = ArrayWriter::create(&location, &schema.build().unwrap(), None, None).unwrap();
    let write = |column: ArrayRef| {
        array.write_dense(&[range(0, 2)], &batch([("a", column)]), CellOrder::RowMajor, None)
    };
    assert!(write(Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]))).is_err());
    assert!(write(Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]))).is_err());
    assert!(write(ints(0..2)).is_err());
    assert!(
        array.write_dense(&[range(0, 3)], &batch([("a", ints(0..4))]), CellOrder::RowMajor, None).is_err()
    );
    assert!(
        array.write_dense(&[range(0, 2)], &batch([("b", ints(0..3))]), CellOrder::RowMajor, None).is_err()
    );
    write(ints(0..3)).unwrap();
}

#[test]
fn groups_and_metadata_change_in_steps() {
    let location = place();
    let group = GroupWriter::create(&location, None).unwrap();
    ArrayWriter::create(&location.join("one"), &line(3), None, Some(1)).unwrap();
    group.change(&[Member::relative(MemberKind::Array, "one", "first")], &[], Some(1)).unwrap();
    assert!(group.change(&[], &["second"], Some(2)).is_err());
    group.change(&[Member::relative(MemberKind::Group, "two", "second")], &["first"], Some(2)).unwrap();
    assert_eq!(group.members().unwrap().into_keys().collect::<Vec<_>>(), ["second"]);
    group.write_metadata(&vec![(b"k".to_vec(), Some(MetadataValue::integer(4)))], Some(3)).unwrap();
    let info = open(&location, &OpenOptions::default()).describe().unwrap().to_json();
    assert_eq!(info["members"][0]["name"], "second");
    assert_eq!(info["metadata"]["k"]["value"], 4);
}

#[test]
fn nested_groups_are_described_with_their_metadata() {
    let location = place();
    let group = GroupWriter::create(&location, None).unwrap();
    let inner = GroupWriter::create(&location.join("two"), None).unwrap();
    GroupWriter::create(&location.join("two/three"), None).unwrap();
    group.change(&[Member::relative(MemberKind::Group, "two", "second")], &[], Some(1)).unwrap();
    inner.change(&[Member::relative(MemberKind::Group, "three", "third")], &[], Some(1)).unwrap();
    inner.write_metadata(&vec![(b"k".to_vec(), Some(MetadataValue::integer(4)))], Some(2)).unwrap();
    let opened = open(&location, &OpenOptions::default());
    let info = opened.describe().unwrap().to_json();
    assert_eq!(info["groups"]["second"]["k"]["value"], 4);
    assert_eq!(info["groups"]["second/third"], serde_json::json!({}));
    assert_eq!(opened.unkept().unwrap(), ["the metadata of group 'second'"]);
}

#[test]
fn members_that_cannot_be_reached_are_named_and_fail() {
    let location = place();
    let group = GroupWriter::create(&location, None).unwrap();
    ArrayWriter::create(&location.join("one"), &line(3), None, Some(1)).unwrap();
    let elsewhere = Member { relative: false, ..Member::relative(MemberKind::Array, "s3://bucket/a", "far") };
    let missing = Member::relative(MemberKind::Group, "sub", "sub");
    let near = Member::relative(MemberKind::Array, "one", "near");
    group.change(&[near, elsewhere, missing], &[], Some(1)).unwrap();
    let opened = open(&location, &OpenOptions::default());
    assert_eq!(opened.table_names(), ["far", "near", "sub"]);
    opened.table("near").unwrap();
    let error = opened.table("far").err().unwrap().to_string();
    assert!(error.contains("another storage"), "{error}");
    assert!(opened.table("sub").is_err());
}

#[test]
fn a_sink_that_is_dropped_or_fails_leaves_nothing() {
    let location = place();
    let given = rows(&[1, 2, 3], 0);
    let mut options = WriteOptions::default();
    options.settings.set("dims", "x");
    let mut sink = TileDb.create(&location, given.schema(), &options, &support::driver()).unwrap();
    sink.write(&given).unwrap();
    drop(sink);
    assert!(!location.exists().unwrap());
    let mut sink = TileDb.create(&location, given.schema(), &options, &support::driver()).unwrap();
    sink.write(&given).unwrap();
    sink.write(&given).unwrap();
    assert!(sink.finish().is_err(), "duplicates");
    assert!(!location.exists().unwrap());
    let mut sink = TileDb.create(&location, given.schema(), &options, &support::driver()).unwrap();
    sink.write(&given).unwrap();
    assert_eq!(sink.finish().unwrap().rows, 3);
    assert_eq!(cells(&location, &OpenOptions::default()), [(1, 1), (2, 2), (3, 3)]);
    assert!(
        TileDb.create(&location, given.schema(), &options, &support::driver()).is_err(),
        "the target exists"
    );
    options.overwrite = true;
    let mut sink = TileDb.create(&location, given.schema(), &options, &support::driver()).unwrap();
    sink.write(&rows(&[7], 1)).unwrap();
    assert_eq!(cells(&location, &OpenOptions::default()).len(), 3, "the old array exists until the end");
    sink.finish().unwrap();
    assert_eq!(cells(&location, &OpenOptions::default()), [(7, 8)]);
}

/// Runs `change` on copies of an array, stopped after each number of steps; reads then return the old or the new state.
fn old_or_new(change: fn(&ArrayWriter) -> Result<()>, old: &[(i32, i32)], new: &[(i32, i32)]) {
    for steps in 0.. {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let location = Location::new(Arc::clone(&storage), "array");
        let array = ArrayWriter::create(&location, &line(3), None, Some(1)).unwrap();
        array.write_sparse(&[rows(&[1, 2, 3, 4, 5], 0)], &at(10)).unwrap();
        array.write_sparse(&[rows(&[4, 5, 6, 7], 100)], &at(20)).unwrap();
        let faulty = Location::new(Arc::new(FaultyStorage::stopping(storage, steps)), "array");
        let outcome = ArrayWriter::open(&faulty, None).and_then(|array| change(&array));
        let found = cells(&location, &OpenOptions::default());
        assert!(found == old || found == new, "after {steps} steps: {found:?}");
        if outcome.is_ok() {
            assert_eq!(found, new);
            return;
        }
        assert!(steps < 500, "{outcome:?}");
    }
}

#[test]
fn a_write_that_is_cut_short_leaves_the_old_state_or_the_new() {
    let old = [(1, 1), (2, 2), (3, 3), (4, 104), (5, 105), (6, 106), (7, 107)];
    old_or_new(
        |array| array.write_sparse(&[rows(&[1, 8], 200)], &at(30)).map(drop),
        &old,
        &[(1, 201), (2, 2), (3, 3), (4, 104), (5, 105), (6, 106), (7, 107), (8, 208)],
    );
    old_or_new(
        |array| array.delete(&Predicate::compare("x", Comparison::Gt, 2), OnNull::Refuse, Some(30)).map(drop),
        &old,
        &[(1, 1), (2, 2)],
    );
    old_or_new(|array| array.consolidate(&Consolidation::default()).map(drop), &old, &old);
    old_or_new(
        |array| {
            array.consolidate(&Consolidation::default())?;
            array.vacuum(Vacuum::Fragments).map(drop)
        },
        &old,
        &old,
    );
    old_or_new(
        |array| {
            array.consolidate_commits()?;
            array.vacuum(Vacuum::Commits)?;
            array.consolidate(&Consolidation::default())?;
            array.vacuum(Vacuum::Fragments)?;
            array.consolidate_commits()?;
            array.vacuum(Vacuum::Commits).map(drop)
        },
        &old,
        &old,
    );
}

#[test]
fn repair_keeps_whole_fragments_and_leaves_the_source_alone() {
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage.clone()), "array");
    let array = ArrayWriter::create(&location, &line(3), None, Some(1)).unwrap();
    array.write_sparse(&[rows(&[1, 2, 3, 4], 0)], &at(10)).unwrap();
    let middle = array.write_sparse(&[rows(&[4, 5, 6], 100)], &at(20)).unwrap();
    array.delete(&Predicate::compare("x", Comparison::Eq, 1), OnNull::Refuse, Some(25)).unwrap();
    array.write_metadata(&vec![(b"k".to_vec(), Some(MetadataValue::integer(1)))], Some(25)).unwrap();
    array.write_sparse(&[rows(&[7], 200)], &at(30)).unwrap();
    let damage = |path: String| {
        let mut bytes = storage.get(&path).unwrap().to_vec();
        let at = bytes.len() / 2;
        bytes[at] ^= 0xff;
        bytes.truncate(bytes.len() - 1);
        storage.put(path, bytes);
    };
    damage(format!("array/__fragments/{}/a0.tdb", middle.fragments[0]));
    let before = storage.paths();
    let saved = Location::new(Arc::new(storage.clone()), "saved");
    let outcome = TileDb
        .repair(RepairRequest::new(&location, &saved, &OpenOptions::default()), &support::driver())
        .unwrap();
    assert_eq!(cells(&saved, &OpenOptions::default()), [(2, 2), (3, 3), (4, 4), (7, 207)]);
    assert!(outcome.kept_bytes > 0 && outcome.dropped_bytes > 0, "{outcome:?}");
    assert_eq!(outcome.notes.len(), 1, "{outcome:?}");
    let info = open(&saved, &OpenOptions::default()).describe().unwrap().to_json();
    assert_eq!(info["metadata"]["k"]["value"], 1);
    let untouched: Vec<String> =
        storage.paths().into_iter().filter(|path| path.starts_with("array/")).collect();
    assert_eq!(untouched, before);
}

#[test]
fn repair_falls_back_to_the_sources_of_a_damaged_consolidation() {
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage.clone()), "array");
    let array = ArrayWriter::create(&location, &line(3), None, Some(1)).unwrap();
    array.write_sparse(&[rows(&[1, 2], 0)], &at(10)).unwrap();
    array.write_sparse(&[rows(&[2, 3], 100)], &at(20)).unwrap();
    let merged = array.consolidate(&Consolidation::default()).unwrap();
    storage.put(format!("array/__fragments/{}/a0.tdb", merged.fragments[0]), vec![0; 3]);
    let saved = Location::new(Arc::new(storage), "saved");
    TileDb
        .repair(RepairRequest::new(&location, &saved, &OpenOptions::default()), &support::driver())
        .unwrap();
    assert_eq!(cells(&saved, &OpenOptions::default()), [(1, 1), (2, 102), (3, 103)]);
}

#[test]
fn arrays_of_other_formats_come_over_tile_by_tile() {
    use tesselle_core::DType;
    use tesselle_core::testing::TiledArray;

    let cells: Vec<u8> = (0..11 * 7 * 3).flat_map(|i: i32| i.to_le_bytes()).collect();
    let source = TiledArray::try_new(DType::I32, &[11, 7, 3], &[4, 3, 2], &cells).unwrap();
    let location = place();
    let mut options = WriteOptions::default().with_table("t".to_owned());
    options.settings.set("filters", "byteshuffle,zstd:3");
    let write = |location: Location, options: &WriteOptions| {
        let request = ArrayRequest::new(WriteTarget::Location(location), &source, options.clone());
        TileDb.write_array(request, &support::driver())
    };
    let summary = write(location.clone(), &options).unwrap().summary;
    assert_eq!((summary.rows, summary.pieces), (231, 18));
    let found = read(&*open(&location, &OpenOptions::default()), &Scan::all()).unwrap();
    let found = concat_batches(&found[0].schema(), &found).unwrap();
    let values = found.column_by_name("t").unwrap().as_primitive::<Int32Type>();
    assert_eq!(values.values().to_vec(), (0..231).collect::<Vec<i32>>());
    options.settings.set("color", "red");
    assert!(write(place(), &options).is_err(), "unknown setting");
}

#[test]
fn labels_name_the_positions_of_a_dimension() {
    let place = place();
    let builder = || {
        SchemaBuilder::dense().dimension(dim("x", 1, 10, 4)).attribute(Attribute::new("a", Datatype::Int32))
    };
    let schema = builder()
        .label("x", "depth", Datatype::Float64, DataOrder::Increasing)
        .and_then(|schema| schema.label("x", "word", Datatype::StringAscii, DataOrder::Decreasing))
        .and_then(SchemaBuilder::build)
        .unwrap();
    let array = ArrayWriter::create(&place, &schema, None, Some(1)).unwrap();
    let depths: ArrayRef = Arc::new(Float64Array::from_iter_values((0..10).map(f64::from)));
    array.write_label("depth", &range(1, 10), &depths, Some(2)).unwrap();
    let words: ArrayRef = Arc::new(StringArray::from_iter_values(["c", "b", "b", "a"]));
    array.write_label("word", &range(3, 6), &words, Some(2)).unwrap();
    // Unordered values and unknown label types are errors.
    let refused = array.write_label("word", &range(3, 6), &depths.slice(0, 4), None);
    assert!(refused.unwrap_err().to_string().contains("does not fit"));
    let refused =
        array.write_label("depth", &range(1, 2), &(Arc::new(Float64Array::from(vec![2.0, 1.0])) as _), None);
    assert!(refused.unwrap_err().to_string().contains("order"));
    assert!(
        array.write_label("deepth", &range(1, 10), &depths, None).unwrap_err().to_string().contains("depth")
    );
    assert!(builder().label("y", "l", Datatype::Int32, DataOrder::Increasing).is_err());
    assert!(builder().label("x", "a", Datatype::Int32, DataOrder::Increasing).unwrap().build().is_err());
    assert!(builder().label("x", "l", Datatype::Blob, DataOrder::Increasing).unwrap().build().is_err());
    assert!(builder().label("x", "l", Datatype::Int32, DataOrder::Unordered).unwrap().build().is_err());
    let container = open(&place, &OpenOptions::default());
    let info = container.describe().unwrap().to_json();
    assert_eq!(info["labels"]["word"]["uri"], "__labels/l1");
    assert_eq!(info["labels"]["word"]["order"], "decreasing");
    let inner = open(&place.join("__labels/l0"), &OpenOptions::default());
    let batches = read(&*inner, &Scan::all()).unwrap();
    assert_eq!(batches[0].column_by_name("label").unwrap(), &depths);
}

#[test]
fn rows_with_coordinates_fill_a_box_in_any_order() {
    let place = place();
    let schema = SchemaBuilder::dense()
        .dimension(dim("x", -2, 5, 3))
        .dimension(dim("y", 0, 5, 2))
        .attribute(Attribute::new("a", Datatype::Int32))
        .build()
        .unwrap();
    let array = ArrayWriter::create(&place, &schema, None, Some(1)).unwrap();
    let rows = batch([("y", ints([2, 1, 1, 2])), ("a", ints([2, 1, 3, 4])), ("x", ints([-1, -1, 0, 0]))]);
    let written = array.write_dense_rows(None, std::slice::from_ref(&rows), Some(2)).unwrap();
    assert_eq!(written.cells, 4);
    let region: tesselle_core::Selection = "-1:1,1:3".parse().unwrap();
    let ranges = array.dense_box(Some(&region)).unwrap();
    assert_eq!(ranges, [range(-1, 0), range(1, 2)]);
    array.write_dense_rows(Some(&ranges), std::slice::from_ref(&rows), Some(3)).unwrap();
    let container = open(&place, &OpenOptions::default());
    let scan = Scan::all().with_selection(region);
    let batches = read(&*container, &scan).unwrap();
    assert_eq!(batches[0].column_by_name("a").unwrap(), &ints([1, 2, 3, 4]));
    // A hole, a duplicate position, a position outside.
    for (x, y) in
        [([-1, -1, 0, 1], [1, 2, 1, 2]), ([-1, -1, 0, 0], [1, 2, 1, 1]), ([-1, -1, 0, 9], [1, 2, 1, 2])]
    {
        let rows = batch([("x", ints(x)), ("y", ints(y)), ("a", ints([1, 2, 3, 4]))]);
        assert!(array.write_dense_rows(None, &[rows], None).is_err());
    }
}

#[test]
fn a_box_is_written_as_its_rows_come() {
    let schema = SchemaBuilder::dense()
        .dimension(dim("x", -2, 9, 3))
        .dimension(dim("y", 0, 5, 4))
        .attribute(Attribute::new("a", Datatype::Int32))
        .build()
        .unwrap();
    // The box starts and ends inside of tiles.
    let cells: Vec<(i32, i32)> = (-1..=8).flat_map(|x| (1..=5).map(move |y| (x, y))).collect();
    let rows = |from: usize, to: usize| {
        let part = &cells[from..to];
        let column = |of: fn(&(i32, i32)) -> i32| ints(part.iter().map(of));
        batch([("x", column(|c| c.0)), ("y", column(|c| c.1)), ("a", column(|c| c.0 * 100 + c.1))])
    };
    let parts = |step: usize| {
        let parts = (0..cells.len()).step_by(step).map(|from| Ok(rows(from, (from + step).min(cells.len()))));
        parts.collect::<Vec<Result<RecordBatch>>>()
    };
    let all = |location: &Location| read(&*open(location, &OpenOptions::default()), &Scan::all()).unwrap();
    let whole = place();
    let array = ArrayWriter::create(&whole, &schema, None, Some(1)).unwrap();
    array.write_dense_rows(None, &[rows(0, cells.len())], Some(2)).unwrap();
    for step in [1, 7, 15, 50] {
        let place = place();
        let array = ArrayWriter::create(&place, &schema, None, Some(1)).unwrap();
        let placement = array.placement(parts(step)).unwrap().unwrap();
        assert!(placement.ordered && placement.region == [range(-1, 8), range(1, 5)]);
        let written = array.write_dense_stream(&placement.region, parts(step), Some(2)).unwrap();
        assert_eq!((written.cells, written.tiles), (50, 8));
        assert_eq!(all(&place), all(&whole), "{step}");
    }
    // Rows that are missing, too many, or elsewhere leave nothing behind.
    let other = place();
    let array = ArrayWriter::create(&other, &schema, None, Some(1)).unwrap();
    let swapped = || vec![Ok(rows(5, 10)), Ok(rows(0, 5))];
    assert!(!array.placement(swapped()).unwrap().unwrap().ordered);
    assert!(array.write_dense_stream(&[range(-1, 0), range(1, 5)], swapped(), None).is_err());
    assert!(array.write_dense_stream(&[range(-1, 8), range(1, 5)], vec![Ok(rows(0, 45))], None).is_err());
    assert!(array.write_dense_stream(&[range(-1, 0), range(1, 5)], parts(50), None).is_err());
    assert_eq!(all(&other).iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
}

#[test]
fn string_conditions_prune_tiles_that_cannot_match() {
    let place = place();
    let schema = SchemaBuilder::sparse()
        .dimension(dim("x", 0, 999, 100))
        .attribute(Attribute::new("s", Datatype::StringAscii).var().nullable())
        .capacity(10)
        .build()
        .unwrap();
    let array = ArrayWriter::create(&place, &schema, None, Some(1)).unwrap();
    let strings = (0..100).map(|i| (i % 10 != 3).then(|| format!("{:02}-{}", i / 10, "x".repeat(i % 4))));
    let strings: ArrayRef = Arc::new(strings.collect::<StringArray>());
    let rows =
        RecordBatch::try_from_iter_with_nullable([("x", ints(0..100), false), ("s", strings, true)]).unwrap();
    array.write_sparse(&[rows], &at(2)).unwrap();
    let container = open(&place, &OpenOptions::default());
    let plan =
        container.default_table().unwrap().plan(&Scan::all().filter("s = '04-xx'".parse().unwrap())).unwrap();
    assert_eq!((plan.pieces, plan.pruned), (10, 9));
    let found = read(&*container, &Scan::all().filter("s > '08-x' AND s < '09-x'".parse().unwrap())).unwrap();
    let found: usize = found.iter().map(RecordBatch::num_rows).sum();
    let expected = (0..100).filter(|i| i % 10 != 3).map(|i| format!("{:02}-{}", i / 10, "x".repeat(i % 4)));
    assert_eq!(found, expected.filter(|s| s.as_str() > "08-x" && s.as_str() < "09-x").count());
}

#[test]
fn an_empty_sparse_array_takes_cells_anywhere() {
    use arrow_schema::{DataType, Field, Schema, TimeUnit};
    let types = [
        DataType::Int8,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt64,
        DataType::Float32,
        DataType::Float64,
        DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Date32,
        DataType::Utf8,
    ];
    for kind in types {
        let location = place();
        let schema = Arc::new(Schema::new(vec![
            Field::new("k", kind.clone(), false),
            Field::new("a", DataType::Int32, true),
        ]));
        let mut options = WriteOptions::default();
        options.settings.set("dims", "k");
        let sink = TileDb.create(&location, Arc::clone(&schema), &options, &support::driver()).unwrap();
        assert_eq!(sink.finish().unwrap().rows, 0);
        let strings: ArrayRef = Arc::new(StringArray::from(vec!["0", "5", "100"]));
        let numbers = arrow_cast::cast(&strings, &DataType::Int32).unwrap();
        let keys = match &kind {
            DataType::Utf8 => Arc::clone(&strings),
            DataType::Timestamp(..) => {
                arrow_cast::cast(&arrow_cast::cast(&numbers, &DataType::Int64).unwrap(), &kind).unwrap()
            }
            kind => arrow_cast::cast(&numbers, kind).unwrap(),
        };
        let batch = RecordBatch::try_new(schema, vec![keys, numbers]).unwrap();
        let array = ArrayWriter::open(&location, None).unwrap();
        array.write_sparse(&[batch], &SparseOptions::default()).unwrap();
        assert_eq!(array.schema().dimensions[0].extent, None);
        let container = open(&location, &OpenOptions::default());
        let found: usize = read(&*container, &Scan::all()).unwrap().iter().map(RecordBatch::num_rows).sum();
        assert_eq!(found, 3, "{kind}");
    }
}

#[test]
fn a_dense_array_without_a_domain_suggests_a_setting() {
    let mut options = WriteOptions::default();
    options.settings.set("dims", "x");
    options.settings.set("kind", "dense");
    let error = TileDb.create(&place(), rows(&[1], 0).schema(), &options, &support::driver()).err().unwrap();
    assert!(error.to_string().contains("domain.x=low:high"), "{error}");
}

#[test]
fn columns_of_nulls_fit_every_nullable_attribute_and_no_other() {
    let all = [
        Attribute::new("i", Datatype::Int64),
        Attribute::new("f", Datatype::Float32).with_values(3),
        Attribute::new("s", Datatype::StringUtf8).var(),
        Attribute::new("b", Datatype::Bool),
        Attribute::new("t", Datatype::DatetimeMs),
    ];
    let mut schema = SchemaBuilder::sparse().dimension(Dimension::new("x", Datatype::Int32, 0, 9, 5));
    for attribute in all.clone() {
        schema = schema.attribute(attribute.nullable());
    }
    let location = place();
    let array = ArrayWriter::create(&location, &schema.build().unwrap(), None, None).unwrap();
    let nulls: ArrayRef = Arc::new(arrow_array::NullArray::new(3));
    let mut columns: Vec<(&str, ArrayRef)> = vec![("x", Arc::new(Int32Array::from(vec![1, 2, 3])))];
    columns.extend(all.iter().map(|attribute| (attribute.name.as_str(), Arc::clone(&nulls))));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    array.write_sparse(&[array.fit(&batch).unwrap()], &SparseOptions::default()).unwrap();
    for batch in read(&*open(&location, &OpenOptions::default()), &Scan::all()).unwrap() {
        assert_eq!(batch.num_rows(), 3);
        assert!(batch.columns().iter().skip(1).all(|column| column.null_count() == 3));
    }
    let strict = SchemaBuilder::sparse().dimension(Dimension::new("x", Datatype::Int32, 0, 9, 5));
    let strict = strict.attribute(Attribute::new("i", Datatype::Int64)).build().unwrap();
    let array = ArrayWriter::create(&place(), &strict, None, None).unwrap();
    let error = array.write_sparse(&[batch], &SparseOptions::default()).unwrap_err();
    assert!(error.to_string().contains("not nullable"), "{error}");
}

#[test]
fn a_list_of_metadata_to_vacuum_removes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::local(folder.path().join("array")).unwrap();
    let array = ArrayWriter::create(&location, &line(10), None, None).unwrap();
    for (at, value) in [(1, 5), (2, 7)] {
        let entry = (b"k".to_vec(), Some(MetadataValue::integer(value)));
        array.write_metadata(&vec![entry], Some(at)).unwrap();
    }
    array.consolidate_metadata().unwrap();
    let meta = folder.path().join("array/__meta");
    std::fs::write(meta.join("list.vac"), "...\n/__meta/...\n/__schema/x\n./\n").unwrap();
    array.vacuum(Vacuum::Metadata).unwrap();
    assert_eq!(std::fs::read_dir(&meta).unwrap().count(), 1);
    let read = open(&location, &OpenOptions::default()).describe().unwrap().metadata;
    assert_eq!(read["k"]["value"], 7, "{read}");
}

#[test]
fn strings_that_repeat_are_written_with_a_dictionary() {
    let text = |value: &dyn Fn(usize) -> Option<String>| -> ArrayRef {
        Arc::new((0..1030).map(value).collect::<StringArray>())
    };
    let rows = batch([
        ("few", text(&|row| Some(format!("{:>width$}", row % 5, width = row % 5 * 12)))),
        ("nullable", text(&|row| (row % 3 > 0).then(|| format!("value {}", row % 7)))),
        ("later_empty", text(&|row| Some(if row < 250 { format!("{}", row % 2) } else { String::new() }))),
        ("later_distinct", text(&|row| Some(if row < 500 { "same".to_owned() } else { format!("{row}") }))),
        ("distinct", text(&|row| Some(format!("row {row}")))),
        ("number", ints(0..1030)),
    ]);
    let chosen = |settings: &[&str]| {
        let location = place();
        let options = WriteOptions::default().with_settings(Settings::from_pairs(settings).unwrap());
        let request = WriteRequest::new(WriteTarget::Location(location.clone()), rows.schema(), options);
        let mut sink = TileDb.start(request, &support::driver()).unwrap().sink;
        for start in (0..1030).step_by(103) {
            sink.write(&rows.slice(start, 103)).unwrap();
        }
        sink.finish().unwrap();
        let array = open(&location, &OpenOptions::default());
        let names: Vec<&str> = rows.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        let read = read(&*array, &Scan::all().columns(names)).unwrap();
        assert_eq!(concat_batches(&rows.schema(), &read).unwrap(), rows);
        let info = array.describe().unwrap().to_json().to_string();
        info.matches("dictionary").count()
    };
    assert_eq!(chosen(&["extent=100"]), 4);
    assert_eq!(chosen(&["extent=100", "filters.few=zstd"]), 3);
    assert_eq!(chosen(&["extent=100", "filters=zstd"]), 0);
}
