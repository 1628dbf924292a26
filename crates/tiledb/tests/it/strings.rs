//! String dimensions with arbitrary bytes: cells are found by range, regardless of the writer and its order.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BinaryArray, Int32Array, RecordBatch};
use proptest::prelude::*;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{
    Comparison, Container, Depth, Format, Location, OpenOptions, Predicate, Report, Scalar, Scan,
};
use tesselle_tiledb::write::{ArrayWriter, Consolidation, OnNull, SchemaBuilder, SparseOptions, Vacuum};
use tesselle_tiledb::{Attribute, Datatype, Dimension, Layout, TileDb};

use crate::support::{case, driver, open, read};

type Names = (Vec<u8>, Vec<u8>);

fn bytes() -> OpenOptions {
    OpenOptions::default().with_text_as_binary(true)
}

/// Short strings of few distinct bytes, so that they share prefixes and differ where signs matter.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => prop::sample::select(vec![0, 1, b'a', b'b', 0x7e, 0x7f, 0x80, 0x81, 0xc3, 0xfe, 0xff]),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..4)
}

fn layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor), Just(Layout::Hilbert)]
}

fn errors(container: &dyn Container) -> Vec<String> {
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    report.findings().iter().map(|finding| format!("{} {}", finding.kind, finding.message)).collect()
}

fn rows(container: &dyn Container, predicate: Option<Predicate>) -> Vec<(Names, i32)> {
    let scan = Scan::all().with_predicate(predicate);
    let mut out = Vec::new();
    for batch in read(container, &scan).unwrap() {
        let (s, t) = (batch.column(0).as_binary::<i32>(), batch.column(1).as_binary::<i32>());
        let values = batch.column(2).as_primitive::<Int32Type>();
        out.extend(
            (0..batch.num_rows())
                .map(|row| ((s.value(row).to_vec(), t.value(row).to_vec()), values.value(row))),
        );
    }
    out.sort();
    out
}

fn within(column: &str, low: &[u8], high: &[u8]) -> Predicate {
    Predicate::And(vec![
        Predicate::compare(column, Comparison::Ge, Scalar::Bytes(low.to_vec())),
        Predicate::compare(column, Comparison::Le, Scalar::Bytes(high.to_vec())),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn string_ranges_find_exactly_their_cells(
        parts in prop::collection::vec(prop::collection::btree_set((text(), text()), 1..40), 1..4),
        ranges in prop::collection::vec((text(), text()), 12),
        order in layout(), capacity in 1..5_u64, consolidate in any::<bool>(), purge in any::<bool>(),
    ) {
        let schema = SchemaBuilder::sparse()
            .dimension(Dimension::string("s"))
            .dimension(Dimension::string("t"))
            .attribute(Attribute::new("a", Datatype::Int32))
            .cell_order(order)
            .capacity(capacity)
            .build()
            .unwrap();
        let location = Location::new(Arc::new(MemoryStorage::new()), "array");
        let array = ArrayWriter::create(&location, &schema, None, Some(1)).unwrap();
        let mut model: BTreeMap<Names, i32> = BTreeMap::new();
        for (time, part) in parts.iter().enumerate() {
            let values: Vec<i32> = (0..).map(|i| i + 1000 * time as i32).take(part.len()).collect();
            model.extend(part.iter().cloned().zip(values.iter().copied()));
            let columns: [(&str, ArrayRef); 3] = [
                ("s", Arc::new(BinaryArray::from_iter_values(part.iter().map(|names| &names.0)))),
                ("t", Arc::new(BinaryArray::from_iter_values(part.iter().map(|names| &names.1)))),
                ("a", Arc::new(Int32Array::from(values))),
            ];
            let options = SparseOptions::default().with_timestamp(10 + time as u64);
            array.write_sparse(&[RecordBatch::try_from_iter(columns).unwrap()], &options).unwrap();
        }
        if consolidate {
            array.consolidate(&Consolidation::default().with_purge(purge)).unwrap();
            array.vacuum(Vacuum::Fragments).unwrap();
        }
        let container = TileDb.open(&location, &bytes()).unwrap();
        prop_assert_eq!(errors(&*container), Vec::<String>::new());
        prop_assert_eq!(rows(&*container, None), model.clone().into_iter().collect::<Vec<_>>());
        for (a, b) in ranges {
            let (low, high) = if a <= b { (a, b) } else { (b, a) };
            for (column, of) in [("s", (|names| &names.0) as fn(&Names) -> &Vec<u8>), ("t", |names| &names.1)] {
                let found = rows(&*container, Some(within(column, &low, &high)));
                let inside = |names: &Names| (&low..=&high).contains(&of(names));
                let wanted: Vec<_> = model.clone().into_iter().filter(|(names, _)| inside(names)).collect();
                prop_assert_eq!(found, wanted, "{} in {:?}..={:?}", column, low, high);
            }
        }
    }
}

#[test]
fn ranges_prune_tiles_of_non_ascii_strings() {
    let case = case("str_beyond_ascii");
    let container = open(&case.join("array"), &bytes()).unwrap();
    assert_eq!(errors(&*container), Vec::<String>::new());
    let all = rows(&*container, None);
    let mut pruned = 0;
    for (low, _) in &all {
        for (high, _) in all.iter().filter(|(high, _)| low.0 <= high.0) {
            let predicate = within("s", &low.0, &high.0);
            let inside = |row: &&(Names, i32)| (&low.0..=&high.0).contains(&&row.0.0);
            let wanted: Vec<_> = all.iter().filter(inside).cloned().collect();
            assert_eq!(rows(&*container, Some(predicate.clone())), wanted, "{low:?} {high:?}");
            let scan = Scan::all().with_predicate(predicate);
            pruned += container.default_table().unwrap().plan(&scan).unwrap().pruned;
        }
    }
    assert!(pruned > 0);
}

#[test]
fn cells_that_an_engine_merged_out_of_order_stay_gone_when_they_are_purged() {
    let case = case("consolidated_beyond_ascii");
    let folder = tempfile::tempdir().unwrap();
    tesselle_core::testing::copy_folder(&case.join("array"), folder.path());
    let names = |predicate| {
        let container = open(folder.path(), &bytes()).unwrap();
        let scan = Scan::all().with_predicate(predicate);
        let batches = read(&*container, &scan).unwrap();
        let of = |batch: &RecordBatch| {
            batch.column(0).as_binary::<i32>().iter().flatten().map(<[u8]>::to_vec).collect()
        };
        batches.iter().flat_map(|batch| -> Vec<Vec<u8>> { of(batch) }).collect::<Vec<_>>()
    };
    let before = names(None);
    let array = ArrayWriter::open(&Location::local(folder.path()).unwrap(), None).unwrap();
    let gone: Vec<Vec<u8>> = before.iter().step_by(2).cloned().collect();
    let columns: [(&str, ArrayRef); 2] = [
        ("s", Arc::new(BinaryArray::from_iter_values(&gone))),
        ("a", Arc::new(Int32Array::from(vec![-1; gone.len()]))),
    ];
    array.write_sparse(&[RecordBatch::try_from_iter(columns).unwrap()], &SparseOptions::default()).unwrap();
    array.delete(&Predicate::compare("a", Comparison::Lt, 0), OnNull::Refuse, None).unwrap();
    array.consolidate(&Consolidation::default().with_purge(true)).unwrap();
    array.vacuum(Vacuum::Fragments).unwrap();
    let (mut wanted, mut found) = (before.into_iter().skip(1).step_by(2).collect::<Vec<_>>(), names(None));
    wanted.sort();
    found.sort();
    assert_eq!(found, wanted);
    assert_eq!(errors(&*open(folder.path(), &bytes()).unwrap()), Vec::<String>::new());
}
