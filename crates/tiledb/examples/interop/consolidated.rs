//! Arrays after consolidation and vacuuming, as they are now and as they were.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use serde_json::{Value, json};
use tesselle_core::{Comparison, Predicate};
use tesselle_tiledb::filter::Key;
use tesselle_tiledb::write::{
    ArrayWriter, CellOrder, Consolidation, NewSchema, OnNull, SchemaBuilder, SparseOptions, Vacuum,
};
use tesselle_tiledb::{Attribute, Bounds, Datatype, Dimension, Layout, MetadataValue};

use crate::data::batch;
use crate::{Cases, Result};

pub(crate) fn write(cases: &mut Cases) -> Result {
    for vacuum in [false, true] {
        dense(cases, vacuum)?;
        sparse(cases, vacuum, None)?;
        deletes(cases, vacuum, false)?;
        deletes(cases, vacuum, true)?;
        commits(cases, vacuum)?;
        footers_and_metadata(cases, vacuum)?;
    }
    sparse(cases, true, Some("0123456789abcdef0123456789ABCDEF"))?;
    twice(cases)?;
    nothing_left(cases)?;
    ignored(cases)
}

fn at(timestamp: u64) -> SparseOptions {
    SparseOptions::default().with_timestamp(timestamp)
}

fn case_name(what: &str, vacuum: bool) -> String {
    format!("consolidated_{what}{}", if vacuum { "_vacuumed" } else { "" })
}

/// Cells `x` with values `x + add`.
fn cells(x: impl IntoIterator<Item = i32>, add: i32) -> Result<RecordBatch> {
    let x: Vec<i32> = x.into_iter().collect();
    let a: ArrayRef = Arc::new(Int32Array::from_iter_values(x.iter().map(|x| x + add)));
    let s: ArrayRef = Arc::new(StringArray::from_iter_values(x.iter().map(|x| "z".repeat((x % 4) as usize))));
    batch([("x", Arc::new(Int32Array::from(x)) as ArrayRef), ("a", a), ("s", s)])
}

fn joined(parts: &[RecordBatch]) -> Result<RecordBatch> {
    Ok(arrow_select::concat::concat_batches(&parts[0].schema(), parts)?)
}

fn sparse_schema(order: Layout) -> Result<NewSchema> {
    SchemaBuilder::sparse()
        .dimension(Dimension::new("x", Datatype::Int32, 0, 999, 10))
        .attribute(Attribute::new("a", Datatype::Int32))
        .attribute(Attribute::new("s", Datatype::StringAscii).var())
        .cell_order(order)
        .capacity(7)
        .build()
}

fn dense(cases: &mut Cases, vacuum: bool) -> Result {
    let name = case_name("dense", vacuum);
    let new = SchemaBuilder::dense()
        .dimension(Dimension::new("y", Datatype::Int32, 0, 9, 4))
        .dimension(Dimension::new("x", Datatype::Int32, 0, 9, 3))
        .attribute(Attribute::new("a", Datatype::Int32))
        .attribute(Attribute::new("s", Datatype::StringUtf8).var())
        .attribute(Attribute::new("n", Datatype::Int32).nullable())
        .cell_order(Layout::ColMajor)
        .build()?;
    let mut array = ArrayWriter::create(&cases.place(&name)?, &new, None, Some(1))?;
    let mut grid: Vec<Option<i32>> = vec![None; 100];
    let columns = |values: &[Option<i32>]| {
        let a: ArrayRef =
            Arc::new(Int32Array::from_iter_values(values.iter().map(|v| v.unwrap_or(i32::MIN))));
        let text = |v: &Option<i32>| v.map_or("\0".to_owned(), |v| format!("s{v}"));
        let s: ArrayRef = Arc::new(StringArray::from_iter_values(values.iter().map(text)));
        let n: ArrayRef = Arc::new(values.iter().map(|v| v.filter(|v| v % 3 != 0)).collect::<Int32Array>());
        batch([("a", a), ("s", s), ("n", n)])
    };
    for (time, (y, x)) in [((1, 6), (2, 5)), ((5, 8), (4, 9)), ((0, 1), (0, 0))].into_iter().enumerate() {
        let places: Vec<usize> =
            (y.0..=y.1).flat_map(|r| (x.0..=x.1).map(move |c| (r * 10 + c) as usize)).collect();
        let values: Vec<Option<i32>> =
            places.iter().map(|at| Some(*at as i32 + time as i32 * 1000)).collect();
        places.iter().zip(&values).for_each(|(at, value)| grid[*at] = *value);
        let region = [(y.0, y.1), (x.0, x.1)]
            .map(|(low, high): (i32, i32)| Bounds { low: low.into(), high: high.into() });
        array.write_dense(&region, &columns(&values)?, CellOrder::RowMajor, Some(10 + time as u64))?;
    }
    array.evolve().add_attribute(Attribute::new("late", Datatype::Int16)).apply(Some(50))?;
    array.consolidate(&Consolidation::default())?;
    if vacuum {
        array.vacuum(Vacuum::Fragments)?;
    }
    cases.expect(&name, &columns(&grid)?, &json!({ "box": [[0, 9], [0, 9]] }))
}

fn with_key(mut facts: Value, key: Option<&str>) -> Value {
    if let (Some(key), Some(object)) = (key, facts.as_object_mut()) {
        object.insert("key".to_owned(), Value::from(key));
    }
    facts
}

/// Overlapping fragments; without vacuum the past can still be read.
fn sparse(cases: &mut Cases, vacuum: bool, key: Option<&str>) -> Result {
    for (kind, order) in [("sparse", Layout::RowMajor), ("hilbert", Layout::Hilbert)] {
        let name = case_name(&format!("{kind}{}", if key.is_some() { "_encrypted" } else { "" }), vacuum);
        let secret = key.map(|_| Key::new(*b"0123456789abcdef0123456789ABCDEF"));
        let array = ArrayWriter::create(&cases.place(&name)?, &sparse_schema(order)?, secret, Some(1))?;
        array.write_sparse(&[cells(0..50, 1000)?], &at(10))?;
        array.write_sparse(&[cells(40..60, 2000)?], &at(20))?;
        array.write_sparse(&[cells([5, 45, 900], 3000)?], &at(30))?;
        let written = array.consolidate(&Consolidation::default())?;
        assert_eq!(written.cells, 73);
        if vacuum {
            array.vacuum(Vacuum::Fragments)?;
        }
        let newest = [5, 45, 900];
        let is_old = |x: &i32| !newest.contains(x);
        let now = joined(&[
            cells((0..40).filter(is_old), 1000)?,
            cells((40..60).filter(is_old), 2000)?,
            cells(newest, 3000)?,
        ])?;
        let then = joined(&[cells(0..40, 1000)?, cells(40..60, 2000)?])?;
        cases.expect(&name, &now, &with_key(json!({}), key))?;
        // Cells have timestamps, so the past remains readable after vacuuming.
        let past = format!("{name}_past");
        std::fs::create_dir_all(cases.folder.join(&past))
            .map_err(|e| tesselle_core::Error::io("cannot create a folder", e))?;
        cases.expect(&past, &then, &with_key(json!({ "timestamp": 25, "array": name }), key))?;
    }
    Ok(())
}

fn deletes(cases: &mut Cases, vacuum: bool, purge: bool) -> Result {
    let name = case_name(if purge { "purged" } else { "deletes" }, vacuum);
    let array = ArrayWriter::create(&cases.place(&name)?, &sparse_schema(Layout::RowMajor)?, None, Some(1))?;
    array.write_sparse(&[cells(0..50, 1000)?], &at(10))?;
    array.write_sparse(&[cells(40..60, 2000)?], &at(20))?;
    array.delete(&Predicate::compare("a", Comparison::Ge, 2050), OnNull::Refuse, Some(25))?;
    array.write_sparse(&[cells([55], 5000)?], &at(30))?;
    array.delete(&Predicate::compare("x", Comparison::Lt, 5), OnNull::Refuse, Some(35))?;
    array.consolidate(&Consolidation::default().with_purge(purge))?;
    array.delete(&Predicate::compare("x", Comparison::Eq, 30), OnNull::Refuse, Some(45))?;
    if vacuum {
        array.vacuum(Vacuum::Fragments)?;
    }
    let expected =
        joined(&[cells((5..40).filter(|x| *x != 30), 1000)?, cells(40..50, 2000)?, cells([55], 5000)?])?;
    cases.expect(&name, &expected, &json!({}))
}

fn commits(cases: &mut Cases, vacuum: bool) -> Result {
    let name = case_name("commits", vacuum);
    let array = ArrayWriter::create(&cases.place(&name)?, &sparse_schema(Layout::RowMajor)?, None, Some(1))?;
    array.write_sparse(&[cells(0..10, 1000)?], &at(10))?;
    array.write_sparse(&[cells(10..20, 1000)?], &at(20))?;
    array.delete(&Predicate::compare("x", Comparison::Lt, 5), OnNull::Refuse, Some(25))?;
    array.consolidate_commits()?;
    if vacuum {
        array.vacuum(Vacuum::Commits)?;
    }
    array.write_sparse(&[cells(20..30, 1000)?], &at(30))?;
    cases.expect(&name, &cells(5..30, 1000)?, &json!({ "fragments": 3 }))
}

fn footers_and_metadata(cases: &mut Cases, vacuum: bool) -> Result {
    let name = case_name("metadata", vacuum);
    let array = ArrayWriter::create(&cases.place(&name)?, &sparse_schema(Layout::RowMajor)?, None, Some(1))?;
    for i in 0..4 {
        array.write_sparse(&[cells(i * 10..i * 10 + 10, 1000)?], &at(10 + i as u64))?;
        let entry = |key: &str, value| (key.as_bytes().to_vec(), value);
        let number = Some(MetadataValue::integer(i64::from(i)));
        let gone = (i < 3).then(|| MetadataValue::integer(1));
        array.write_metadata(&vec![entry("last", number), entry("gone", gone)], Some(10 + i as u64))?;
        array.consolidate_fragment_metadata()?;
    }
    array.consolidate_metadata()?;
    if vacuum {
        array.vacuum(Vacuum::FragmentMetadata)?;
        array.vacuum(Vacuum::Metadata)?;
    }
    let facts = json!({ "fragments": 4, "metadata": { "last": 3 }, "no_metadata": ["gone"] });
    cases.expect(&name, &cells(0..40, 1000)?, &facts)
}

/// A consolidated fragment is consolidated again.
fn twice(cases: &mut Cases) -> Result {
    let name = "consolidated_twice";
    let array = ArrayWriter::create(&cases.place(name)?, &sparse_schema(Layout::RowMajor)?, None, Some(1))?;
    array.write_sparse(&[cells(0..20, 1000)?], &at(10))?;
    array.delete(&Predicate::compare("x", Comparison::Lt, 3), OnNull::Refuse, Some(15))?;
    array.write_sparse(&[cells(10..30, 2000)?], &at(20))?;
    array.consolidate(&Consolidation::default())?;
    array.write_sparse(&[cells([0, 29], 3000)?], &at(30))?;
    array.delete(&Predicate::compare("a", Comparison::Eq, 2010), OnNull::Refuse, Some(35))?;
    array.consolidate(&Consolidation::default())?;
    array.vacuum(Vacuum::Fragments)?;
    let expected = joined(&[cells(3..10, 1000)?, cells(11..29, 2000)?, cells([0, 29], 3000)?])?;
    cases.expect(name, &expected, &json!({}))
}

/// Fragments whose commits are in a list are vacuumed.
fn ignored(cases: &mut Cases) -> Result {
    let name = "consolidated_ignored";
    let array = ArrayWriter::create(&cases.place(name)?, &sparse_schema(Layout::RowMajor)?, None, Some(1))?;
    for i in 0..4 {
        array.write_sparse(&[cells(i * 10..i * 10 + 15, i * 1000)?], &at(10 + i as u64))?;
    }
    array.consolidate_commits()?;
    array.vacuum(Vacuum::Commits)?;
    array.consolidate(&Consolidation::default())?;
    array.vacuum(Vacuum::Fragments)?;
    let expected =
        joined(&[cells(0..10, 0)?, cells(10..20, 1000)?, cells(20..30, 2000)?, cells(30..45, 3000)?])?;
    cases.expect(name, &expected, &json!({}))
}

/// Every cell is deleted and purged; the array can be written to again.
fn nothing_left(cases: &mut Cases) -> Result {
    for again in [false, true] {
        let name = format!("consolidated_nothing{}", if again { "_again" } else { "" });
        let array =
            ArrayWriter::create(&cases.place(&name)?, &sparse_schema(Layout::RowMajor)?, None, Some(1))?;
        array.write_sparse(&[cells(0..20, 1000)?], &at(10))?;
        array.write_sparse(&[cells(10..30, 2000)?], &at(20))?;
        array.delete(&Predicate::compare("x", Comparison::Ge, 0), OnNull::Refuse, Some(25))?;
        array.consolidate(&Consolidation::default().with_purge(true))?;
        array.vacuum(Vacuum::Fragments)?;
        let mut expected = cells([3], 3000)?;
        if again {
            array.write_sparse(std::slice::from_ref(&expected), &at(30))?;
        } else {
            expected = expected.slice(0, 0);
        }
        let fragments = array.location().join("__fragments").list()?.len();
        cases.expect(&name, &expected, &json!({ "fragments": fragments }))?;
    }
    Ok(())
}
