//! Sparse arrays.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
    UInt16Array,
};
use serde_json::json;
use tesselle_tiledb::filter::{Filter, Key};
use tesselle_tiledb::write::{ArrayWriter, OnDuplicate, SchemaBuilder, SparseOptions};
use tesselle_tiledb::{Attribute, Bounds, Datatype, Dimension, Layout};

use crate::data::{Column, batch, mix, nullable, numbers, various};
use crate::{Cases, Result};

/// Dimensions with their columns.
type Coords = Vec<(Dimension, ArrayRef)>;

fn write_case(
    cases: &mut Cases,
    name: &str,
    coords: &Coords,
    columns: &[Column],
    setup: impl Fn(SchemaBuilder) -> SchemaBuilder,
    key: Option<Key>,
    facts: &serde_json::Value,
) -> Result {
    let mut builder = SchemaBuilder::sparse().capacity(7);
    for (dimension, _) in coords {
        builder = builder.dimension(dimension.clone());
    }
    for (attribute, _) in columns {
        builder = builder.attribute(attribute.clone());
    }
    let array = ArrayWriter::create(&cases.place(name)?, &setup(builder).build()?, key, Some(1))?;
    let rows = rows_of(coords, columns)?;
    let half = rows.num_rows() / 2;
    let parts = [rows.slice(0, half), rows.slice(half, rows.num_rows() - half)];
    array.write_sparse(&parts, &SparseOptions::default().with_timestamp(2))?;
    cases.expect(name, &rows, facts)
}

fn rows_of(coords: &Coords, columns: &[Column]) -> Result<RecordBatch> {
    let dims = coords.iter().map(|(dim, column)| (dim.name.as_str(), Arc::clone(column)));
    batch(dims.chain(columns.iter().map(|(attribute, column)| (attribute.name.as_str(), Arc::clone(column)))))
}

/// Distinct positions in a square of `side`, in no order.
fn scattered(rows: usize, side: i32) -> (Vec<i32>, Vec<i32>) {
    let mut cells: Vec<i32> = (0..side * side).collect();
    cells.sort_by_key(|cell| mix(*cell as usize));
    cells.truncate(rows);
    cells.into_iter().map(|cell| (cell / side, cell % side)).unzip()
}

fn plane(rows: usize) -> Coords {
    let (y, x) = scattered(rows, 40);
    vec![
        (Dimension::new("y", Datatype::Int32, 0, 39, 10), Arc::new(Int32Array::from(y))),
        (Dimension::new("x", Datatype::Int32, 0, 39, 7), Arc::new(Int32Array::from(x))),
    ]
}

pub(crate) fn write(cases: &mut Cases) -> Result {
    for (name, columns) in
        [("sparse_numbers", numbers(900)), ("sparse_various", various(90)), ("sparse_nullable", nullable(90))]
    {
        let coords = plane(if name == "sparse_numbers" { 900 } else { 90 });
        write_case(cases, name, &coords, &columns, |b| b, None, &json!({}))?;
    }
    for (name, tile, cell) in [
        ("sparse_row_col", Layout::RowMajor, Layout::ColMajor),
        ("sparse_col_row", Layout::ColMajor, Layout::RowMajor),
        ("sparse_col_col", Layout::ColMajor, Layout::ColMajor),
        ("sparse_hilbert", Layout::RowMajor, Layout::Hilbert),
    ] {
        let columns = numbers(200).into_iter().take(3).collect::<Vec<_>>();
        write_case(
            cases,
            name,
            &plane(200),
            &columns,
            |b| b.tile_order(tile).cell_order(cell),
            None,
            &json!({}),
        )?;
    }
    let key = "0123456789abcdef0123456789ABCDEF";
    let columns: Vec<Column> = various(60).into_iter().chain(nullable(60)).collect();
    let secret = Some(Key::new(*b"0123456789abcdef0123456789ABCDEF"));
    write_case(cases, "sparse_encrypted", &plane(60), &columns, |b| b, secret, &json!({ "key": key }))?;
    write_case(cases, "sparse_no_attributes", &plane(60), &[], |b| b, None, &json!({}))?;
    dimensions(cases)?;
    duplicates(cases)?;
    several(cases)?;
    current_domain(cases)
}

/// Coordinates of every sort.
fn dimensions(cases: &mut Cases) -> Result {
    let columns = || numbers(300).into_iter().skip(3).take(1).collect::<Vec<_>>();
    let strings = || {
        Arc::new(StringArray::from_iter_values(
            (0..300).map(|i| format!("k{}", mix(i) % 1000 * 1000 + i as u64)),
        )) as ArrayRef
    };
    let floats = || {
        Arc::new(Float64Array::from_iter_values((0..300).map(|i| (mix(i) % 100_000) as f64 / 500.0 - 100.0)))
            as ArrayRef
    };
    let times =
        || Arc::new(TimestampMillisecondArray::from_iter_values((0..300).map(|i| i * 77 % 1000))) as ArrayRef;
    let shorts = || {
        Arc::new(UInt16Array::from_iter_values((0..300).map(|i| (mix(i + 9) % 65_000) as u16))) as ArrayRef
    };
    let longs = || Arc::new(Int64Array::from_iter_values((0..300).map(|i| mix(i) as i64 >> 2))) as ArrayRef;
    let float_dim = || Dimension::new("f", Datatype::Float64, -100.0, 100.0, 12.5);
    let all: [(&str, Coords); 6] = [
        ("text", vec![(Dimension::string("s"), strings())]),
        (
            "text_long",
            vec![
                (Dimension::string("s"), strings()),
                (Dimension::new("l", Datatype::Int64, i64::MIN, i64::MAX - 1000, 1000), longs()),
            ],
        ),
        (
            "float_time",
            vec![(float_dim(), floats()), (Dimension::new("t", Datatype::DatetimeMs, 0, 2000, 100), times())],
        ),
        (
            "untiled",
            vec![
                (float_dim().without_extent(), floats()),
                (Dimension::new("u", Datatype::Uint16, 0, 65_534, 1).without_extent(), shorts()),
            ],
        ),
        (
            "short_text",
            vec![
                (Dimension::new("u", Datatype::Uint16, 0, 65_000, 500), shorts()),
                (Dimension::string("s").with_filters([Filter::Rle { level: -1 }]), strings()),
            ],
        ),
        (
            "long",
            vec![(
                Dimension::new("l", Datatype::Int64, i64::MIN / 2, i64::MAX / 2, 1_i64 << 60)
                    .with_filters([Filter::DoubleDelta { level: -1, reinterpret: None }]),
                longs(),
            )],
        ),
    ];
    for (what, coords) in &all {
        write_case(cases, &format!("sparse_dims_{what}"), coords, &columns(), |b| b, None, &json!({}))?;
        if *what != "long" && *what != "text_long" {
            let hilbert = |b: SchemaBuilder| b.cell_order(Layout::Hilbert);
            write_case(
                cases,
                &format!("sparse_hilbert_{what}"),
                coords,
                &columns(),
                hilbert,
                None,
                &json!({}),
            )?;
        }
    }
    Ok(())
}

fn duplicates(cases: &mut Cases) -> Result {
    let x: ArrayRef = Arc::new(Int32Array::from(vec![5, 3, 5, 5, 1, 3]));
    let a: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5, 6]));
    let schema = |dups: bool| {
        SchemaBuilder::sparse()
            .dimension(Dimension::new("x", Datatype::Int32, 0, 9, 5))
            .attribute(Attribute::new("a", Datatype::Int32))
            .allows_dups(dups)
            .capacity(2)
            .build()
    };
    let rows = batch([("x", x), ("a", a)])?;
    let array = ArrayWriter::create(&cases.place("sparse_dups")?, &schema(true)?, None, Some(1))?;
    array.write_sparse(std::slice::from_ref(&rows), &SparseOptions::default().with_timestamp(2))?;
    cases.expect("sparse_dups", &rows, &json!({}))?;
    let array = ArrayWriter::create(&cases.place("sparse_keep_last")?, &schema(false)?, None, Some(1))?;
    let refused = array.write_sparse(std::slice::from_ref(&rows), &SparseOptions::default());
    assert!(refused.is_err(), "duplicates were not refused");
    let options = SparseOptions::default().with_on_duplicate(OnDuplicate::KeepLast).with_timestamp(2);
    array.write_sparse(std::slice::from_ref(&rows), &options)?;
    let x: ArrayRef = Arc::new(Int32Array::from(vec![1, 3, 5]));
    let a: ArrayRef = Arc::new(Int32Array::from(vec![5, 6, 4]));
    cases.expect("sparse_keep_last", &batch([("x", x), ("a", a)])?, &json!({ "fragments": 1 }))
}

/// Several fragments, one in global order; later cells win.
fn several(cases: &mut Cases) -> Result {
    let new = SchemaBuilder::sparse()
        .dimension(Dimension::new("x", Datatype::Int32, 0, 99, 10))
        .attribute(Attribute::new("a", Datatype::Int32))
        .capacity(4)
        .build()?;
    let array = ArrayWriter::create(&cases.place("sparse_several")?, &new, None, Some(1))?;
    let rows = |x: Vec<i32>, add: i32| {
        let a: ArrayRef = Arc::new(Int32Array::from_iter_values(x.iter().map(|x| x + add)));
        batch([("x", Arc::new(Int32Array::from(x)) as ArrayRef), ("a", a)])
    };
    array
        .write_sparse(&[rows((0..50).rev().collect(), 1000)?], &SparseOptions::default().with_timestamp(2))?;
    let global = SparseOptions::default().with_in_global_order(true).with_timestamp(3);
    array.write_sparse(&[rows((40..60).collect(), 2000)?], &global)?;
    assert!(array.write_sparse(&[rows(vec![3, 2], 0)?], &global).is_err(), "disorder was not refused");
    let expected = arrow_select::concat::concat_batches(
        &rows(vec![], 0)?.schema(),
        &[rows((0..40).collect(), 1000)?, rows((40..60).collect(), 2000)?],
    )?;
    cases.expect("sparse_several", &expected, &json!({ "fragments": 2 }))
}

fn current_domain(cases: &mut Cases) -> Result {
    let x: ArrayRef = Arc::new(Int32Array::from(vec![5, 3, 11]));
    let s: ArrayRef = Arc::new(StringArray::from(vec!["b", "a", "mm"]));
    let coords = vec![(Dimension::new("x", Datatype::Int32, 0, 99, 10), x), (Dimension::string("s"), s)];
    let ranges = [Bounds { low: 0.into(), high: 11.into() }, Bounds { low: "a".into(), high: "mm".into() }];
    let columns: Vec<Column> = numbers(3).into_iter().take(2).collect();
    let setup = move |b: SchemaBuilder| b.current_domain(ranges.clone());
    write_case(cases, "sparse_current_domain", &coords, &columns, setup, None, &json!({}))
}
