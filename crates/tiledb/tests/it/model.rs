//! Random arrays and random histories compared with a naive model.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;
use tesselle_codec::digest::Digest;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Comparison, Depth, Format, Location, OpenOptions, Predicate, Report, Scan};
use tesselle_tiledb::filter::Filter;
use tesselle_tiledb::write::{
    ArrayWriter, CellOrder, Consolidation, OnNull, SchemaBuilder, SparseOptions, Vacuum,
};
use tesselle_tiledb::{Attribute, Bounds, Datatype, Dimension, Layout, TileDb};

use crate::support;
use crate::support::read;

fn place() -> Location {
    Location::new(Arc::new(MemoryStorage::new()), "array")
}

fn dim(name: &str, low: i32, high: i32, extent: i32) -> Dimension {
    Dimension::new(name, Datatype::Int32, low, high, extent)
}

/// Filters that take any numbers.
fn filters() -> impl Strategy<Value = Vec<Filter>> {
    let one = prop_oneof![
        Just(Filter::zstd(1)),
        Just(Filter::gzip(2)),
        Just(Filter::lz4()),
        Just(Filter::Bitshuffle),
        Just(Filter::Byteshuffle),
        Just(Filter::Checksum(Digest::Md5)),
    ];
    let first = prop_oneof![
        Just(Filter::None),
        Just(Filter::Xor),
        Just(Filter::Rle { level: -1 }),
        Just(Filter::BitWidthReduction { max_window: 64 }),
        Just(Filter::Delta { level: -1, reinterpret: None }),
    ];
    (first, prop::collection::vec(one, 0..3)).prop_map(|(first, rest)| [vec![first], rest].concat())
}

fn order() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)]
}

fn read_all(location: &Location) -> RecordBatch {
    let container = TileDb.open(location, &OpenOptions::default().with_full_domain(true)).unwrap();
    let batches = read(&*container, &Scan::all()).unwrap();
    let schema = container.default_table().unwrap().schema();
    arrow_select::concat::concat_batches(&schema, &batches).unwrap()
}

/// Checks that all written data decodes, and that its statistics are correct.
fn verify(location: &Location) {
    let mut report = Report::new(Depth::Deep);
    let container = TileDb.open(location, &OpenOptions::default().with_full_domain(true)).unwrap();
    container.verify(Depth::Deep, &support::driver(), &mut report).unwrap();
    assert!(report.ok(), "{}", report.to_json());
}

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<i32>),
    Delete(i32, i32),
    Consolidate { purge: bool },
    Vacuum,
    Commits,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::btree_set(0..60_i32, 1..25).prop_map(|cells| Step::Write(cells.into_iter().collect())),
        2 => (0..60_i32, 0..60_i32).prop_map(|(low, len)| Step::Delete(low, low + len / 4)),
        1 => any::<bool>().prop_map(|purge| Step::Consolidate { purge }),
        1 => Just(Step::Vacuum),
        1 => Just(Step::Commits),
    ];
    prop::collection::vec(step, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn dense_boxes_come_back(
        shape in (1..12_i32, 1..12_i32), extents in (1..6_i32, 1..6_i32), low in (-5..5_i32, -5..5_i32),
        tile in order(), cell in order(), int_filters in filters(), float_filters in filters(),
        boxes in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64), 1..4),
        col_major in any::<bool>(), consolidate in any::<bool>(),
    ) {
        let schema = SchemaBuilder::dense()
            .dimension(dim("y", low.0, low.0 + shape.0 - 1, extents.0.min(shape.0)))
            .dimension(dim("x", low.1, low.1 + shape.1 - 1, extents.1.min(shape.1)))
            .attribute(Attribute::new("a", Datatype::Int64).with_filters(int_filters))
            .attribute(Attribute::new("f", Datatype::Float64).nullable().with_filters(
                float_filters.into_iter().filter(|f| !matches!(f, Filter::Delta { .. }))))
            .attribute(Attribute::new("s", Datatype::StringUtf8).var())
            .tile_order(tile).cell_order(cell).build().unwrap();
        let location = place();
        let array = ArrayWriter::create(&location, &schema, None, Some(1)).unwrap();
        let mut model: Vec<Option<i64>> = vec![None; (shape.0 * shape.1) as usize];
        for (time, (y0, y1, x0, x1)) in boxes.into_iter().enumerate() {
            let pick = |a: f64, b: f64, n: i32| {
                let (a, b) = ((a * f64::from(n)) as i32, (b * f64::from(n)) as i32);
                (a.min(b), a.max(b))
            };
            let ((y0, y1), (x0, x1)) = (pick(y0, y1, shape.0), pick(x0, x1, shape.1));
            let mut places: Vec<(i32, i32)> = (y0..=y1).flat_map(|y| (x0..=x1).map(move |x| (y, x))).collect();
            if col_major {
                places.sort_by_key(|(y, x)| (*x, *y));
            }
            let values: Vec<i64> = places.iter().map(|(y, x)| i64::from(y * 100 + x) + time as i64 * 100_000).collect();
            for ((y, x), value) in places.iter().zip(&values) {
                model[(y * shape.1 + x) as usize] = Some(*value);
            }
            let columns: [(&str, ArrayRef); 3] = [
                ("a", Arc::new(Int64Array::from(values.clone()))),
                ("f", Arc::new(values.iter().map(|v| (v % 3 != 0).then_some(*v as f64)).collect::<Float64Array>())),
                ("s", Arc::new(StringArray::from_iter_values(values.iter().map(|v| "ü".repeat((v % 4) as usize))))),
            ];
            let region = [
                Bounds { low: (low.0 + y0).into(), high: (low.0 + y1).into() },
                Bounds { low: (low.1 + x0).into(), high: (low.1 + x1).into() },
            ];
            let order = if col_major { CellOrder::ColMajor } else { CellOrder::RowMajor };
            array.write_dense(&region, &RecordBatch::try_from_iter(columns).unwrap(), order, Some(10 + time as u64)).unwrap();
        }
        if consolidate {
            array.consolidate(&Consolidation::default()).unwrap();
            array.vacuum(Vacuum::Fragments).unwrap();
        }
        verify(&location);
        let found = read_all(&location);
        let (a, f) = (found.column(2).as_primitive::<Int64Type>(), found.column(3).as_primitive::<Float64Type>());
        let s = found.column(4).as_string::<i32>();
        for (i, want) in model.iter().enumerate() {
            prop_assert_eq!(a.value(i), want.unwrap_or(i64::MIN));
            let number = want.filter(|v| v % 3 != 0).map(|v| v as f64);
            prop_assert_eq!(f.is_valid(i).then(|| f.value(i)), number);
            let text = want.map_or("\0".to_owned(), |v| "ü".repeat((v % 4) as usize));
            prop_assert_eq!(s.value(i), text);
        }
    }

    #[test]
    fn histories_of_a_sparse_array_match_the_model(
        history in steps(), capacity in 1..8_u64, hilbert in any::<bool>(), filters in filters(),
    ) {
        let schema = SchemaBuilder::sparse()
            .dimension(dim("x", 0, 79, 9))
            .attribute(Attribute::new("a", Datatype::Int32).with_filters(filters))
            .cell_order(if hilbert { Layout::Hilbert } else { Layout::RowMajor })
            .capacity(capacity).build().unwrap();
        let location = place();
        let array = ArrayWriter::create(&location, &schema, None, Some(1)).unwrap();
        let mut model: BTreeMap<i32, i32> = BTreeMap::new();
        for (i, step) in history.iter().enumerate() {
            let time = Some(10 + i as u64);
            match step {
                Step::Write(cells) => {
                    let values: Vec<i32> = cells.iter().map(|x| x + 1000 * i as i32).collect();
                    model.extend(cells.iter().copied().zip(values.iter().copied()));
                    let columns: [(&str, ArrayRef); 2] =
                        [("x", Arc::new(Int32Array::from(cells.clone()))), ("a", Arc::new(Int32Array::from(values)))];
                    let options = SparseOptions::default().with_timestamp(time);
                    array.write_sparse(&[RecordBatch::try_from_iter(columns).unwrap()], &options).unwrap();
                }
                Step::Delete(low, high) => {
                    let predicate = Predicate::And(vec![
                        Predicate::compare("x", Comparison::Ge, *low),
                        Predicate::compare("x", Comparison::Le, *high),
                    ]);
                    array.delete(&predicate, OnNull::Refuse, time).unwrap();
                    model.retain(|x, _| x < low || x > high);
                }
                Step::Consolidate { purge } => {
                    array.consolidate(&Consolidation::default().with_purge(*purge)).unwrap();
                }
                Step::Vacuum => {
                    array.vacuum(Vacuum::Fragments).unwrap();
                    array.vacuum(Vacuum::Commits).unwrap();
                }
                Step::Commits => {
                    array.consolidate_commits().unwrap();
                }
            }
            let found = read_all(&location);
            let column = |i: usize| found.column(i).as_primitive::<Int32Type>().values().to_vec();
            let mut found: Vec<(i32, i32)> = column(0).into_iter().zip(column(1)).collect();
            found.sort_unstable();
            prop_assert_eq!(found, model.clone().into_iter().collect::<Vec<_>>(), "after step {}", i);
        }
        verify(&location);
    }
}

/// Many fragments over the same cells: conditions on coordinates apply before the newest cell is found, those on
/// attributes after it, on any number of threads.
#[test]
fn conditions_over_many_fragments_keep_the_newest_cells() {
    let location = place();
    let schema = SchemaBuilder::sparse()
        .dimension(dim("x", 0, 999, 10))
        .dimension(dim("y", 0, 999, 10))
        .attribute(Attribute::new("a", Datatype::Int32))
        .build()
        .unwrap();
    let array = ArrayWriter::create(&location, &schema, None, None).unwrap();
    let mut newest: BTreeMap<(i32, i32), i32> = BTreeMap::new();
    let mut state = 12345_u64;
    let mut below = |bound: u64| {
        state = (state * 1_103_515_245 + 12345) % (1 << 31);
        (state / 7 % bound) as i32
    };
    for fragment in 0..80 {
        let cells: BTreeMap<(i32, i32), i32> =
            (0..60).map(|_| ((below(40), below(40)), below(100) + fragment)).collect();
        let column = |pick: fn((&(i32, i32), &i32)) -> i32| -> ArrayRef {
            Arc::new(cells.iter().map(pick).collect::<Int32Array>())
        };
        let batch = RecordBatch::try_from_iter([
            ("x", column(|(at, _)| at.0)),
            ("y", column(|(at, _)| at.1)),
            ("a", column(|(_, a)| *a)),
        ])
        .unwrap();
        let options = SparseOptions::default().with_timestamp(fragment as u64 + 1);
        array.write_sparse(&[batch], &options).unwrap();
        newest.extend(cells);
    }
    let container = TileDb.open(&location, &OpenOptions::default()).unwrap();
    type Holds = fn(i32, i32, i32) -> bool;
    let conditions: [(&str, Holds); 5] = [
        ("x >= 10 AND x < 20 AND y = 7", |x, y, _| (10..20).contains(&x) && y == 7),
        ("x >= 10 AND x < 30 AND a > 120", |x, _, a| (10..30).contains(&x) && a > 120),
        ("x < 20 OR a < 50", |x, _, a| x < 20 || a < 50),
        ("a = 77", |_, _, a| a == 77),
        ("x > 500", |_, _, _| false),
    ];
    for (text, holds) in conditions {
        let expected: Vec<(i32, i32, i32)> =
            newest.iter().map(|((x, y), a)| (*x, *y, *a)).filter(|(x, y, a)| holds(*x, *y, *a)).collect();
        let batches = read(&*container, &Scan::all().filter(text.parse().unwrap())).unwrap();
        let mut found: Vec<(i32, i32, i32)> = Vec::new();
        for batch in &batches {
            let value =
                |name: &str, row| batch.column_by_name(name).unwrap().as_primitive::<Int32Type>().value(row);
            found
                .extend((0..batch.num_rows()).map(|row| (value("x", row), value("y", row), value("a", row))));
        }
        found.sort_unstable();
        assert_eq!(found, expected, "{text}");
    }
}

/// Engines compare the bytes of listed values, where zeros of both signs are equal here, and no number with NaN, which is the
/// greatest here.
#[test]
fn deletes_select_the_floats_that_conditions_select() {
    let values = [0.0, -0.0, 1.0, 2.0, f64::NAN, -f64::NAN, f64::INFINITY];
    let cases: [(&str, &[i32]); 8] = [
        ("a IN (0, 2)", &[2, 4, 5, 6]),
        ("NOT a IN (0, 2)", &[0, 1, 3]),
        ("a < 1", &[2, 3, 4, 5, 6]),
        ("a <= 1", &[3, 4, 5, 6]),
        ("a > 1", &[0, 1, 2]),
        ("a >= 1", &[0, 1]),
        ("NOT a >= 1", &[2, 3, 4, 5, 6]),
        ("a = 1 OR a < 0.5", &[3, 4, 5, 6]),
    ];
    for (condition, left) in cases {
        let location = place();
        let schema = SchemaBuilder::sparse()
            .dimension(dim("x", 0, 9, 10))
            .attribute(Attribute::new("a", Datatype::Float64))
            .build()
            .unwrap();
        let array = ArrayWriter::create(&location, &schema, None, None).unwrap();
        let columns: [(&str, ArrayRef); 2] = [
            ("x", Arc::new((0..values.len() as i32).collect::<Int32Array>())),
            ("a", Arc::new(Float64Array::from(values.to_vec()))),
        ];
        let options = SparseOptions::default().with_timestamp(1);
        array.write_sparse(&[RecordBatch::try_from_iter(columns).unwrap()], &options).unwrap();
        array.delete(&condition.parse().unwrap(), OnNull::Refuse, Some(2)).unwrap();
        let found = read_all(&location);
        assert_eq!(found.column(0).as_primitive::<Int32Type>().values(), left, "{condition}");
    }
}

/// Only the bytes of NaNs are compared with lists, so a delete lists those that the array contains.
#[test]
fn deletes_of_small_numbers_keep_nans_of_any_bytes() {
    let unusual = [0x7ff8_0000_0000_0abc, 0xfff0_0000_0000_0001, 0x7ff0_dead_beef_0000].map(f64::from_bits);
    let values: Vec<f64> = [0.5, f64::NAN, 3.0].into_iter().chain(unusual).collect();
    for (condition, left) in [
        ("a < 1", &[1, 2, 3, 4, 5][..]),
        ("a <= 3", &[1, 3, 4, 5]),
        ("NOT a >= 1", &[1, 2, 3, 4, 5]),
        ("a > 1", &[0]),
    ] {
        let location = place();
        let schema = SchemaBuilder::sparse()
            .dimension(dim("x", 0, 9, 10))
            .attribute(Attribute::new("a", Datatype::Float64))
            .capacity(2)
            .build()
            .unwrap();
        let array = ArrayWriter::create(&location, &schema, None, None).unwrap();
        let columns: [(&str, ArrayRef); 2] = [
            ("x", Arc::new((0..values.len() as i32).collect::<Int32Array>())),
            ("a", Arc::new(Float64Array::from(values.clone()))),
        ];
        let options = SparseOptions::default().with_timestamp(1);
        array.write_sparse(&[RecordBatch::try_from_iter(columns).unwrap()], &options).unwrap();
        array.delete(&condition.parse().unwrap(), OnNull::Refuse, Some(2)).unwrap();
        let found = read_all(&location);
        assert_eq!(found.column(0).as_primitive::<Int32Type>().values(), left, "{condition}");
    }
    // What a condition cannot list is refused.
    let location = place();
    let schema = SchemaBuilder::sparse()
        .dimension(dim("x", 0, 9999, 100))
        .attribute(Attribute::new("a", Datatype::Float64))
        .build()
        .unwrap();
    let array = ArrayWriter::create(&location, &schema, None, None).unwrap();
    let columns: [(&str, ArrayRef); 2] = [
        ("x", Arc::new((0..2000).collect::<Int32Array>())),
        (
            "a",
            Arc::new(
                (0..2000_u64).map(|i| f64::from_bits(0x7ff8_0000_0000_0000 + i)).collect::<Float64Array>(),
            ),
        ),
    ];
    let options = SparseOptions::default().with_timestamp(1);
    array.write_sparse(&[RecordBatch::try_from_iter(columns).unwrap()], &options).unwrap();
    let refused = array.delete(&"a < 1".parse().unwrap(), OnNull::Refuse, Some(2)).unwrap_err();
    assert!(refused.to_string().contains("NaNs"), "{refused}");
    array.delete(&"a > 1".parse().unwrap(), OnNull::Refuse, Some(2)).unwrap();
}

/// The engine does not compare the fill value where a fragment lacks an attribute: what it would delete besides is
/// refused, and the rest deletes what the condition means.
#[test]
fn deletes_on_added_attributes_select_what_the_engine_selects() {
    let cases: [(&str, Option<&[i32]>); 9] = [
        // The fill value of b is 7.
        ("b = 7", Some(&[10, 11, 12])),
        ("b = 5", None),
        ("b >= 4", Some(&[10])),
        ("b < 4", None),
        ("a < 2", Some(&[2, 3, 12])),
        ("a < 2 AND b = 7", Some(&[2, 3, 10, 11, 12])),
        ("b = 7 AND a < 2", Some(&[2, 3, 10, 11, 12])),
        ("a < 2 AND b = 4", None),
        ("a < 2 OR b = 7", Some(&[12])),
    ];
    for (condition, left) in cases {
        let location = place();
        let schema = SchemaBuilder::sparse()
            .dimension(dim("x", 0, 79, 9))
            .attribute(Attribute::new("a", Datatype::Int32))
            .build()
            .unwrap();
        let mut array = ArrayWriter::create(&location, &schema, None, Some(1)).unwrap();
        let write = |array: &ArrayWriter, columns: &[(&str, Vec<i32>)], time: u64| {
            let columns = columns
                .iter()
                .map(|(name, values)| (*name, Arc::new(Int32Array::from(values.clone())) as ArrayRef));
            let options = SparseOptions::default().with_timestamp(time);
            array.write_sparse(&[RecordBatch::try_from_iter(columns).unwrap()], &options).unwrap();
        };
        write(&array, &[("x", vec![0, 1, 2, 3]), ("a", vec![0, 1, 2, 3])], 10);
        let added = Attribute::new("b", Datatype::Int32).with_fill(7_i32.to_le_bytes().to_vec(), true);
        array.evolve().add_attribute(added).apply(Some(20)).unwrap();
        let array = ArrayWriter::open(&location, None).unwrap();
        write(&array, &[("x", vec![10, 11, 12]), ("a", vec![0, 1, 2]), ("b", vec![3, 4, 5])], 30);
        let predicate: Predicate = condition.parse().unwrap();
        let deleted = array.delete(&predicate, OnNull::Refuse, Some(40));
        let rows = |location: &Location| {
            let found = read_all(location);
            let mut rows = found.column(0).as_primitive::<Int32Type>().values().to_vec();
            rows.sort_unstable();
            rows
        };
        if let Some(left) = left {
            deleted.unwrap();
            assert_eq!(rows(&location), left, "{condition}");
        } else {
            let refused = deleted.unwrap_err().to_string();
            assert!(refused.contains("'b' was added"), "{refused}");
            // As the error advises.
            let kept = |row: &i32| {
                let (a, b) = if *row < 10 { (*row, 7) } else { (row - 10, row - 7) };
                match condition {
                    "b = 5" => b != 5,
                    "b < 4" => b >= 4,
                    _ => !(a < 2 && b == 4),
                }
            };
            let left: Vec<i32> = rows(&location).into_iter().filter(kept).collect();
            array.consolidate(&Consolidation::default()).unwrap();
            array.delete(&predicate, OnNull::Refuse, Some(40)).unwrap();
            assert_eq!(rows(&location), left, "{condition}");
        }
    }
}
