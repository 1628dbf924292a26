//! Changes to existing arrays: metadata, deletes, evolution, groups.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use serde_json::{Value, json};
use tesselle_core::{Comparison, Predicate, Scalar};
use tesselle_tiledb::filter::Key;
use tesselle_tiledb::write::{ArrayWriter, CellOrder, GroupWriter, OnNull, SchemaBuilder, SparseOptions};
use tesselle_tiledb::{
    Attribute, Bounds, DataOrder, Datatype, Dimension, Enumeration, Member, MemberKind, MetadataValue,
};

use crate::data::batch;
use crate::{Cases, Result};

pub(crate) fn write(cases: &mut Cases) -> Result {
    metadata(cases, "metadata", None)?;
    metadata(cases, "metadata_encrypted", Some("0123456789abcdef0123456789ABCDEF"))?;
    deletes(cases)?;
    delete_kinds(cases)?;
    evolution(cases)?;
    labels(cases)?;
    groups(cases)
}

/// Labeled positions: the original engine finds cells by label.
fn labels(cases: &mut Cases) -> Result {
    let schema = SchemaBuilder::dense()
        .dimension(Dimension::new("x", Datatype::Int32, 1, 10, 4))
        .attribute(Attribute::new("a", Datatype::Int32))
        .label("x", "depth", Datatype::Float64, DataOrder::Increasing)?
        .label("x", "rank", Datatype::Int64, DataOrder::Decreasing)?
        .label("x", "word", Datatype::StringAscii, DataOrder::Increasing)?
        .build()?;
    let array = ArrayWriter::create(&cases.place("labels")?, &schema, None, Some(1))?;
    let all = Bounds { low: 1.into(), high: 10.into() };
    let depths: ArrayRef = Arc::new(Float64Array::from_iter_values((1..=10).map(|i| f64::from(i) / 2.0)));
    let ranks: ArrayRef = Arc::new(Int64Array::from_iter_values((1..=10).map(|i| 100 - 3 * i)));
    let words: ArrayRef = Arc::new(StringArray::from_iter_values((1..=10).map(|i| format!("w{i:02}"))));
    for (name, values) in [("depth", depths), ("rank", ranks), ("word", words)] {
        array.write_label(name, &all, &values, Some(2))?;
    }
    let column: ArrayRef = Arc::new(Int32Array::from_iter_values(1..=10));
    let rows = batch([("a", column)])?;
    array.write_dense(&[all], &rows, CellOrder::RowMajor, Some(2))?;
    let facts = json!({
        "box": [[1, 10]],
        "labels": { "depth": [1.0, 2.5, [2, 3, 4, 5]], "rank": [79, 88, [4, 5, 6, 7]], "word": ["w03", "w05", [3, 4, 5]] },
    });
    cases.expect("labels", &rows, &facts)
}

fn at(timestamp: u64) -> SparseOptions {
    SparseOptions::default().with_timestamp(timestamp)
}

fn line(extent: i32) -> Dimension {
    Dimension::new("x", Datatype::Int32, 0, 99, extent)
}

fn rows(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    batch(columns)
}

fn metadata(cases: &mut Cases, name: &str, key: Option<&str>) -> Result {
    let new =
        SchemaBuilder::dense().dimension(line(10)).attribute(Attribute::new("a", Datatype::Int32)).build()?;
    let secret = key.map(|_| Key::new(*b"0123456789abcdef0123456789ABCDEF"));
    let array = ArrayWriter::create(&cases.place(name)?, &new, secret, Some(1))?;
    let ints =
        MetadataValue::of(Datatype::Int32, [1_i32, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect())?;
    let first = vec![
        (b"text".to_vec(), Some(MetadataValue::string("h\u{e9}llo")?)),
        (b"gone".to_vec(), Some(MetadataValue::integer(5))),
        (b"number".to_vec(), Some(MetadataValue::integer(-7))),
        (b"ints".to_vec(), Some(ints)),
    ];
    array.write_metadata(&first, Some(2))?;
    array.write_metadata(
        &vec![(b"gone".to_vec(), None), (b"float".to_vec(), Some(MetadataValue::float(2.5)))],
        Some(3),
    )?;
    let column: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
    let rows = batch([("a", column)])?;
    array.write_dense(&[Bounds { low: 0.into(), high: 99.into() }], &rows, CellOrder::RowMajor, Some(2))?;
    let mut facts = json!({
        "box": [[0, 99]],
        "metadata": { "text": "h\u{e9}llo", "number": -7, "float": 2.5, "ints": [1, 2, 3] },
        "no_metadata": ["gone"],
    });
    if let (Some(key), Some(object)) = (key, facts.as_object_mut()) {
        object.insert("key".to_owned(), Value::from(key));
    }
    cases.expect(name, &rows, &facts)
}

/// Cells with a nullable attribute and a string, for conditions to select from.
fn sample(array: &ArrayWriter, timestamp: u64) -> Result<RecordBatch> {
    let x: ArrayRef = Arc::new(Int32Array::from_iter_values(0..40));
    let n: ArrayRef =
        Arc::new((0..40).map(|i| (i % 4 != 0).then_some(f64::from(i))).collect::<Float64Array>());
    let s: ArrayRef = Arc::new(StringArray::from_iter_values((0..40).map(|i| format!("k{}", i % 5))));
    let rows = rows(vec![("x", x), ("n", n), ("s", s)])?;
    array.write_sparse(std::slice::from_ref(&rows), &at(timestamp))?;
    Ok(rows)
}

fn sample_schema() -> Result<tesselle_tiledb::write::NewSchema> {
    SchemaBuilder::sparse()
        .dimension(line(10))
        .attribute(Attribute::new("n", Datatype::Float64).nullable())
        .attribute(Attribute::new("s", Datatype::StringAscii).var())
        .capacity(6)
        .build()
}

fn keep(rows: &RecordBatch, survives: impl Fn(i32) -> bool) -> Result<RecordBatch> {
    let kept = arrow_array::UInt32Array::from_iter_values((0..40).filter(|i| survives(*i)).map(|i| i as u32));
    Ok(arrow_select::take::take_record_batch(rows, &kept)?)
}

/// Two deletes, one before a later write of the same cells.
fn deletes(cases: &mut Cases) -> Result {
    let name = "deletes";
    let array = ArrayWriter::create(&cases.place(name)?, &sample_schema()?, None, Some(1))?;
    let all = sample(&array, 2)?;
    array.delete(&Predicate::compare("n", Comparison::Gt, 30.0), OnNull::Delete, Some(3))?;
    array.delete(&Predicate::compare("x", Comparison::Lt, 3), OnNull::Refuse, Some(4))?;
    let again = keep(&all, |x| x == 1 || x == 35)?;
    array.write_sparse(std::slice::from_ref(&again), &at(5))?;
    let null = |x: i32| x % 4 == 0;
    let expected = keep(&all, |x| x == 1 || x == 35 || ((3..=30).contains(&x) && !null(x)))?;
    cases.expect(name, &expected, &json!({ "fragments": 2 }))
}

/// Conditions of every kind. Null cells of a tested attribute are always deleted.
fn delete_kinds(cases: &mut Cases) -> Result {
    let null = |x: i32| x % 4 == 0;
    let s = |x: i32| x % 5;
    let text = |op, value: &str| Predicate::compare("s", op, value);
    let not = |p| Predicate::Not(Box::new(p));
    let n_between = || Predicate::between("n", 10.0, 14.0);
    type Deleted = Box<dyn Fn(i32) -> bool>;
    let kinds: Vec<(&str, Predicate, Deleted)> = vec![
        ("text_eq", text(Comparison::Eq, "k2"), Box::new(move |x| s(x) == 2)),
        ("text_ge", text(Comparison::Ge, "k3"), Box::new(move |x| s(x) >= 3)),
        ("between", n_between(), Box::new(move |x| null(x) || (10..=14).contains(&x))),
        ("not_between", not(n_between()), Box::new(move |x| null(x) || !(10..=14).contains(&x))),
        (
            "in",
            Predicate::In { column: "s".into(), values: vec![Scalar::from("k1"), Scalar::from("k4")] },
            Box::new(move |x| s(x) == 1 || s(x) == 4),
        ),
        (
            "or",
            Predicate::Or(vec![Predicate::compare("n", Comparison::Eq, 5.0), text(Comparison::Ne, "k0")]),
            Box::new(move |x| null(x) || x == 5 || s(x) != 0),
        ),
        (
            "in_numbers",
            not(Predicate::In {
                column: "x".into(),
                values: vec![Scalar::Int(3), Scalar::Int(8), Scalar::Int(9)],
            }),
            Box::new(|x| ![3, 8, 9].contains(&x)),
        ),
    ];
    for (kind, predicate, deleted) in kinds {
        let name = format!("delete_{kind}");
        let array = ArrayWriter::create(&cases.place(&name)?, &sample_schema()?, None, Some(1))?;
        let all = sample(&array, 2)?;
        array.delete(&predicate, OnNull::Delete, Some(3))?;
        cases.expect(&name, &keep(&all, |x| !deleted(x))?, &json!({}))?;
    }
    Ok(())
}

fn evolution(cases: &mut Cases) -> Result {
    let name = "evolution";
    let new = SchemaBuilder::sparse()
        .dimension(line(10))
        .attribute(Attribute::new("a", Datatype::Int32))
        .attribute(Attribute::new("b", Datatype::Int32))
        .enumeration(Enumeration::of_strings("words", ["one", "two"], false)?)
        .current_domain([Bounds { low: 0.into(), high: 49.into() }])
        .build()?;
    let mut array = ArrayWriter::create(&cases.place(name)?, &new, None, Some(1))?;
    let ints = |values: std::ops::Range<i32>| Arc::new(Int32Array::from_iter_values(values)) as ArrayRef;
    array
        .write_sparse(&[rows(vec![("x", ints(0..5)), ("a", ints(10..15)), ("b", ints(20..25))])?], &at(2))?;
    array
        .evolve()
        .drop_attribute("a")?
        .add_attribute(Attribute::new("c", Datatype::Int16).with_enumeration("words"))
        .add_attribute(Attribute::new("d", Datatype::Int32).with_fill(7_i32.to_le_bytes(), false))
        .extend_enumeration(Enumeration::of_strings("words", ["one", "two", "three"], false)?)?
        .expand_current_domain(vec![Bounds { low: 0.into(), high: 99.into() }])?
        .apply(Some(3))?;
    let words: DictionaryArray<Int32Type> = ["three", "one"].into_iter().map(Some).collect();
    let columns =
        vec![("x", ints(90..92)), ("b", ints(1..3)), ("c", Arc::new(words) as ArrayRef), ("d", ints(5..7))];
    ArrayWriter::open(&cases.place(name)?, None)?.write_sparse(&[rows(columns)?], &at(4))?;
    let expected = rows(vec![
        ("x", Arc::new(Int32Array::from(vec![0, 1, 2, 3, 4, 90, 91]))),
        ("b", Arc::new(Int32Array::from(vec![20, 21, 22, 23, 24, 1, 2]))),
        ("d", Arc::new(Int32Array::from(vec![7, 7, 7, 7, 7, 5, 6]))),
    ])?;
    cases.expect(
        name,
        &expected,
        &json!({ "fragments": 2, "enumerations": { "words": ["one", "two", "three"] } }),
    )
}

fn groups(cases: &mut Cases) -> Result {
    let name = "group";
    let place = cases.place(name)?;
    let group = GroupWriter::create(&place, None)?;
    let new =
        SchemaBuilder::dense().dimension(line(10)).attribute(Attribute::new("a", Datatype::Int32)).build()?;
    ArrayWriter::create(&place.join("first"), &new, None, Some(1))?;
    ArrayWriter::create(&place.join("second"), &new, None, Some(1))?;
    GroupWriter::create(&place.join("inner"), None)?;
    let members = [
        Member::relative(MemberKind::Array, "first", "one"),
        Member::relative(MemberKind::Array, "second", "two"),
        Member::relative(MemberKind::Group, "inner", "nested"),
    ];
    group.change(&members, &[], Some(1))?;
    group.change(&[], &["two"], Some(2))?;
    group.write_metadata(&vec![(b"k".to_vec(), Some(MetadataValue::integer(3)))], Some(2))?;
    let nothing: ArrayRef = Arc::new(Int32Array::from(Vec::<i32>::new()));
    let facts = json!({ "group": { "one": "array", "nested": "group" }, "metadata": { "k": 3 } });
    cases.expect(name, &batch([("a", nothing)])?, &facts)
}
