//! Deleted documents are not rows: not in scans, counts, limits, single rows, merges or collections.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;
use tesselle_core::driver::{Order, scan};
use tesselle_core::{
    Comparison, Depth, Format, Known, Location, OpenOptions, Predicate, RepairRequest, Report, Scan, Sink,
    Table,
};
use tesselle_tatami::search::{Deletion, DictionaryKind, IndexOptions, SearchOptions, delete, index};
use tesselle_tatami::{Collection, File, Tatami, Writer, WriterOptions};

use crate::documents::*;

const WORDS: [&str; 4] = ["river", "stone", "bridge", "paper"];

/// Documents `from..to` with an id, a number and a body.
fn documents(rows: std::ops::Range<usize>) -> RecordBatch {
    let text = |f: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.clone().map(f)))
    };
    let body = |row: usize| format!("{} and {} é {row}", WORDS[row % 4], WORDS[row * 3 % 4]);
    RecordBatch::try_from_iter([
        ("doc_id", text(&|row| format!("d{row:03}"))),
        ("body", text(&body)),
        ("n", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row as i64))) as ArrayRef),
    ])
    .unwrap()
}

fn options() -> IndexOptions {
    IndexOptions::text(["body"]).stored(["body", "n"])
}

fn table(location: &Location, deleted: bool) -> Arc<dyn Table> {
    let options = OpenOptions::default().with_deleted(deleted);
    Tatami.open(location, &options).unwrap().default_table().unwrap()
}

/// The numbers and bodies of the rows that a scan returns.
fn rows(table: &dyn Table, request: &Scan) -> Vec<(i64, String)> {
    let request = request.clone().columns(["n", "body"]);
    let mut out = Vec::new();
    for batch in scan(table, &request, &driver(), Order::Plan).unwrap() {
        let batch = batch.unwrap();
        let (n, body) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string::<i32>());
        out.extend((0..batch.num_rows()).map(|row| (n.value(row), body.value(row).to_owned())));
    }
    out
}

fn wanted(rows: impl Iterator<Item = usize>) -> Vec<(i64, String)> {
    rows.map(|row| (row as i64, documents(row..row + 1).column(1).as_string::<i32>().value(0).to_owned()))
        .collect()
}

/// A segment of several row groups and pages: two parts merged.
fn small_groups(place: &Place, name: &str, docs: usize) {
    place.make_folder("parts");
    let folder = place.location("parts");
    let mut collection = Collection::open(&folder, &OpenOptions::default()).unwrap();
    for (part, docs) in [("a.tatami", 0..docs / 2), ("b.tatami", docs / 2..docs)] {
        let batch = documents(docs);
        index([Ok(batch.clone())], &batch.schema(), &folder.join(part), &options(), &driver()).unwrap();
    }
    collection.add(&["a.tatami", "b.tatami"]).unwrap();
    let options = WriterOptions::default().with_row_group_rows(7).with_page_rows(3).with_blob_run_bytes(64);
    collection.merge(&[], name, options, false, &driver()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn scans_return_only_live_documents(
        docs in 1usize..50,
        gone in prop::collection::vec(0usize..50, 0..40),
        from in 0i64..50,
        limit in prop::option::of(0u64..60),
    ) {
        let place = Place::new();
        small_groups(&place, "all.tatami", docs);
        let location = place.location("parts/all.tatami");
        let gone: Vec<u32> = gone.into_iter().filter(|doc| *doc < docs).map(|doc| doc as u32).collect();
        delete(&location, &location, &Deletion::Docs(gone.clone()), false, &driver()).unwrap();
        let live = |row: &usize| !gone.contains(&(*row as u32));
        let table = table(&location, false);
        let everything = wanted((0..docs).filter(live));
        prop_assert_eq!(rows(&*table, &Scan::all()), everything.clone());
        prop_assert_eq!(table.stats().rows, Known::Exact(everything.len() as u64));
        let some = Scan::all().filter(Predicate::compare("n", Comparison::Ge, from));
        prop_assert_eq!(rows(&*table, &some), wanted((0..docs).filter(live).filter(|row| *row as i64 >= from)));
        if let Some(limit) = limit {
            let limited = rows(&*table, &Scan::all().with_limit(limit));
            prop_assert_eq!(&limited[..], &everything[..everything.len().min(limit as usize)]);
        }
        prop_assert_eq!(rows(&*self::table(&location, true), &Scan::all()), wanted(0..docs));
        let collection = self::table(&place.location("parts"), false);
        prop_assert_eq!(rows(&*collection, &Scan::all()), everything.clone());
        prop_assert_eq!(collection.stats().rows, Known::Exact(everything.len() as u64));
        let file = File::open(&location, &OpenOptions::default()).unwrap();
        for doc in 0..docs {
            prop_assert_eq!(file.take(&[doc as u64], Some(&["body"])).is_ok(), live(&doc));
        }
    }

    #[test]
    fn a_merge_searches_like_a_segment_of_the_live_documents(
        parts in prop::collection::vec((1usize..20, prop::collection::vec(0u32..20, 0..12)), 1..4),
        positions in any::<bool>(),
    ) {
        let options = options().with_positions(positions);
        let place = Place::new();
        place.make_folder("c");
        let folder = place.location("c");
        let mut collection = Collection::open(&folder, &OpenOptions::default()).unwrap();
        let (mut at, mut kept) = (0, Vec::new());
        for (i, (docs, gone)) in parts.iter().enumerate() {
            let (name, batch) = (format!("{i}.tatami"), documents(at..at + docs));
            index([Ok(batch.clone())], &batch.schema(), &folder.join(&name), &options, &driver()).unwrap();
            collection.add(&[&name]).unwrap();
            let gone: Vec<u32> = gone.iter().copied().filter(|doc| (*doc as usize) < *docs).collect();
            delete(&folder.join(&name), &folder.join(&name), &Deletion::Docs(gone.clone()), false, &driver()).unwrap();
            kept.extend((0..*docs).filter(|doc| !gone.contains(&(*doc as u32))).map(|doc| documents(at + doc..at + doc + 1)));
            at += docs;
        }
        let merged = collection.merge(&[], "all.tatami", WriterOptions::default(), false, &driver()).unwrap();
        prop_assert_eq!(merged.summary.rows, kept.len() as u64);
        let together = arrow_select::concat::concat_batches(&documents(0..0).schema(), &kept).unwrap();
        place.index("together.tatami", &together, &options);
        prop_assert_eq!(place.bytes("c/all.tatami"), place.bytes("together.tatami"));
        prop_assert_eq!(
            place.search("c/all.tatami", "river é", &SearchOptions::default()).hits.len(),
            place.search("together.tatami", "river é", &SearchOptions::default()).hits.len()
        );
        place.verify("c");
    }
}

#[test]
fn bounds_of_a_column_are_not_exact_if_a_row_is_deleted() {
    let place = Place::new();
    place.index("a.tatami", &documents(0..5), &options());
    let location = place.location("a.tatami");
    let column = |location: &Location| table(location, false).stats().columns["n"].clone();
    assert!(matches!(column(&location).max, Known::Exact(_)));
    delete(&location, &location, &Deletion::Docs(vec![4]), false, &driver()).unwrap();
    assert!(matches!(column(&location).max, Known::Bound(_)));
    assert!(matches!(column(&location).min, Known::Bound(_)));
}

#[test]
fn a_deletion_updates_the_manifest_and_all_segments_of_a_collection() {
    let place = Place::new();
    place.make_folder("c");
    let folder = place.location("c");
    let mut collection = Collection::open(&folder, &OpenOptions::default()).unwrap();
    for (name, docs) in [("a.tatami", 0..4), ("b.tatami", 4..9)] {
        let batch = documents(docs);
        index([Ok(batch.clone())], &batch.schema(), &folder.join(name), &options(), &driver()).unwrap();
    }
    collection.add(&["a.tatami", "b.tatami"]).unwrap();
    collection.set_tier(&["b.tatami"], 3).unwrap();
    let ids = Deletion::Ids(vec![b"d001".to_vec(), b"d007".to_vec(), b"none".to_vec()]);
    let deleted = delete(&folder, &folder, &ids, false, &driver()).unwrap();
    assert_eq!((deleted.deleted, deleted.live), (2, 7));
    let a = folder.join("a.tatami");
    let deleted = delete(&a, &a, &Deletion::Ids(vec![b"d002".to_vec()]), false, &driver()).unwrap();
    assert_eq!((deleted.deleted, deleted.live), (1, 2));
    let again = Collection::open(&place.location("c"), &OpenOptions::default()).unwrap();
    let members: Vec<_> = again.members().iter().map(|m| (m.path.as_str(), m.tier)).collect();
    assert_eq!(members, [("a.tatami", 0), ("b.tatami", 3)]);
    place.verify("c");
    assert_eq!(
        rows(&*table(&place.location("c"), false), &Scan::all()),
        wanted([0, 3, 4, 5, 6, 8].into_iter())
    );
}

#[test]
fn a_merge_that_would_lose_an_index_is_refused() {
    let place = Place::new();
    place.make_folder("c");
    let folder = place.location("c");
    place.index("c/a.tatami", &documents(0..4), &options());
    // The same columns as a plain table.
    let plain = OpenOptions::default().with_text_as_binary(true);
    let source = File::open(&folder.join("a.tatami"), &plain).unwrap();
    let batch = source.take(&[0, 1], None).unwrap();
    let settings = WriterOptions::default().with_bloom(vec!["doc_id".to_owned()]);
    let mut writer = Box::new(
        Writer::create(&folder.join("b.tatami"), &batch.schema(), settings, false, &driver()).unwrap(),
    );
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let mut collection = Collection::open(&folder, &OpenOptions::default()).unwrap();
    collection.add(&["a.tatami", "b.tatami"]).unwrap();
    let error = collection.merge(&[], "all.tatami", WriterOptions::default(), false, &driver()).unwrap_err();
    assert!(error.to_string().contains("has no index"), "{error}");
    assert!(!folder.join("all.tatami").exists().unwrap());
    assert_eq!(collection.members().len(), 2);
}

#[test]
fn a_merge_replaces_a_file_only_on_request_and_never_a_member() {
    let place = Place::new();
    place.make_folder("c");
    let folder = place.location("c");
    for (name, docs) in [("a.tatami", 0..4), ("b.tatami", 4..9)] {
        place.index(&format!("c/{name}"), &documents(docs), &options());
    }
    place.put("c/all.tatami", b"left by a crash");
    let mut collection = Collection::open(&folder, &OpenOptions::default()).unwrap();
    collection.add(&["a.tatami", "b.tatami"]).unwrap();
    let mut merge = |output: &str, overwrite: bool| {
        collection.merge(&["a.tatami"], output, WriterOptions::default(), overwrite, &driver())
    };
    assert!(merge("all.tatami", false).unwrap_err().to_string().contains("already exists"));
    assert!(merge("b.tatami", true).unwrap_err().to_string().contains("is a member"));
    merge("all.tatami", true).unwrap();
    place.verify("c");
}

#[test]
fn a_repair_without_the_index_drops_deleted_documents() {
    let place = Place::new();
    let flat = options().with_dictionary(DictionaryKind::Flat);
    place.index("a.tatami", &documents(0..6), &flat);
    let location = place.location("a.tatami");
    delete(&location, &location, &Deletion::Docs(vec![2, 3]), false, &driver()).unwrap();
    // A flipped byte in the middle of the term dictionary: the index is lost, the rows are not.
    let mut bytes = place.bytes("a.tatami");
    let at = find(&bytes, b"\x05river").unwrap();
    bytes[at] ^= 0x40;
    place.put("a.tatami", &bytes);
    let mut report = Report::new(Depth::Deep);
    let container = Tatami.open(&location, &OpenOptions::default()).unwrap();
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(!report.ok());
    let target = place.location("repaired.tatami");
    Tatami.repair(RepairRequest::new(&location, &target, &OpenOptions::default()), &driver()).unwrap();
    assert_eq!(rows(&*table(&target, true), &Scan::all()), wanted([0, 1, 4, 5].into_iter()));
}

/// The last occurrence of some bytes: the dictionary follows the rows.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    (0..bytes.len()).rev().find(|at| bytes[*at..].starts_with(wanted))
}

#[test]
fn strings_in_blobs_are_strings() {
    let place = Place::new();
    let long = |row: usize| format!("{} é", "hello world ".repeat(20 + row));
    let bodies: ArrayRef = Arc::new(StringArray::from_iter_values((0..30).map(long)));
    let raw: ArrayRef =
        Arc::new(arrow_array::BinaryArray::from_iter_values((0..30).map(|row| vec![0xff; 100 + row])));
    let batch = RecordBatch::try_from_iter([("body", bodies), ("raw", raw)]).unwrap();
    let settings = WriterOptions::default()
        .with_blobs(vec!["body".to_owned(), "raw".to_owned()])
        .with_blob_run_bytes(700)
        .with_row_group_rows(12);
    let location = place.location("a.tatami");
    let mut writer =
        Box::new(Writer::create(&location, &batch.schema(), settings, false, &driver()).unwrap());
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let read = |text_as_binary: bool| {
        let options = OpenOptions::default().with_text_as_binary(text_as_binary);
        let table = Tatami.open(&location, &options).unwrap().default_table().unwrap();
        let batches: Vec<_> =
            scan(&*table, &Scan::all(), &driver(), Order::Plan).unwrap().collect::<Result<_, _>>().unwrap();
        arrow_select::concat::concat_batches(&table.schema(), &batches).unwrap()
    };
    let strings = read(false);
    assert_eq!(strings.column(0).as_ref(), batch.column(0).as_ref());
    assert_eq!(strings.column(1).as_ref(), batch.column(1).as_ref());
    let bytes = read(true);
    // A cast checks every byte of the buffer: it may contain only values.
    let cast = arrow_cast::cast(bytes.column(0), &arrow_schema::DataType::Utf8).unwrap();
    assert_eq!(cast.as_ref(), batch.column(0).as_ref());
    let file = File::open(&location, &OpenOptions::default()).unwrap();
    let taken = file.take(&[29, 3], Some(&["body"])).unwrap();
    assert_eq!(taken.column(0).as_string::<i32>().value(1), long(3));
}

#[test]
fn the_value_buffer_of_blobs_contains_only_values() {
    let place = Place::new();
    // Bodies as bytes: no note marks them as strings.
    let long: ArrayRef = Arc::new(arrow_array::BinaryArray::from_iter_values(
        (0..40).map(|row| "word ".repeat(40 + row).into_bytes()),
    ));
    let batch = RecordBatch::try_from_iter([("body", long)]).unwrap();
    place.index("a.tatami", &batch, &IndexOptions::text(["body"]));
    let table = table(&place.location("a.tatami"), false);
    for range in [Scan::all(), Scan::all().with_limit(7)] {
        for batch in scan(&*table, &range.columns(["body"]), &driver(), Order::Plan).unwrap() {
            let batch = batch.unwrap();
            assert_eq!(batch.column(0).data_type(), &arrow_schema::DataType::Binary);
            arrow_cast::cast(batch.column(0), &arrow_schema::DataType::Utf8).unwrap();
        }
    }
}
