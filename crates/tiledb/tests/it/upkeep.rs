//! Every fixture is consolidated and vacuumed, and reads as before; every fixture is rewritten, and reads the same:
//! fragments of all versions, types and filters.
//!
//! All fixtures are found through `TESSELLE_FIXTURES`; without it those in `tests/data` are used.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, TimestampMillisecondArray};
use serde_json::Value as Json;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Depth, Format, Location, OpenOptions, Report, Result, Scalar, Scan};
use tesselle_tiledb::filter::{Filter, Key};
use tesselle_tiledb::write::{
    ArrayWriter, CellOrder, Consolidation, NewSchema, SchemaBuilder, SparseOptions, Vacuum, WRITE_VERSION,
};
use tesselle_tiledb::{Attribute, Bounds, Datatype, Dimension, TileDb};

use crate::support::values::column;
use crate::support::{cases, driver, expected, options, read};

/// The files below a folder, in memory.
fn load(storage: &MemoryStorage, folder: &Path, path: &str) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let inner = format!("{path}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            load(storage, &entry.path(), &inner);
        } else {
            storage.put(inner, std::fs::read(entry.path()).unwrap());
        }
    }
}

/// All rows as strings; sorted for a sparse array, whose order is unspecified.
fn rows(location: &Location, options: &OpenOptions, sparse: bool) -> Result<Vec<String>> {
    let container = TileDb.open(location, &options.clone().with_text_as_binary(true))?;
    let batches = read(&*container, &Scan::all())?;
    let schema = container.default_table()?.schema();
    let columns: Vec<Vec<Json>> =
        schema.fields().iter().map(|field| column(&batches, field.name())).collect();
    let count = columns.first().map_or(0, Vec::len);
    let mut rows: Vec<String> = (0..count)
        .map(|row| columns.iter().map(|column| column[row].to_string()).collect::<Vec<_>>().join(" "))
        .collect();
    if sparse {
        rows.sort_unstable();
    }
    Ok(rows)
}

fn consolidate(case: &Path, expected: &Json) -> std::result::Result<bool, String> {
    let message = |e: tesselle_core::Error| e.to_string();
    let sparse = expected["kind"] == "sparse";
    if !sparse && expected["kind"] != "dense" {
        return Ok(false);
    }
    let storage = MemoryStorage::new();
    load(&storage, &case.join("array"), "array");
    let location = Location::new(Arc::new(storage), "array");
    let options = options(expected);
    let key = expected.pointer("/encryption/key_utf8").and_then(Json::as_str);
    let key = key.map(|key| Key::new(key.as_bytes().try_into().unwrap()));
    // Unreadable arrays have no rows; arrays of the oldest versions have no schema folder to write to.
    let Ok(before) = rows(&location, &options, sparse) else { return Ok(false) };
    let Ok(array) = ArrayWriter::open(&location, key) else { return Ok(false) };
    let written = match array.consolidate(&Consolidation::default()) {
        Ok(written) => written,
        // Some filters cannot encode the fill values between fragments.
        Err(e) if e.to_string().contains("cannot hold these values") => return Ok(false),
        Err(e) => return Err(message(e)),
    };
    let same = |what: &str| -> std::result::Result<(), String> {
        if rows(&location, &options, sparse).map_err(message)? == before {
            return Ok(());
        }
        Err(format!("{what} changed what is read"))
    };
    same("consolidation")?;
    array.vacuum(Vacuum::Fragments).map_err(message)?;
    same("vacuuming")?;
    array.consolidate_commits().map_err(message)?;
    array.vacuum(Vacuum::Commits).map_err(message)?;
    array.consolidate_fragment_metadata().map_err(message)?;
    array.consolidate_metadata().map_err(message)?;
    array.vacuum(Vacuum::Metadata).map_err(message)?;
    same("the rest")?;
    if written.fragments.is_empty() {
        return Ok(false);
    }
    let mut report = Report::new(Depth::Deep);
    let container = TileDb.open(&location, &options).map_err(message)?;
    container.verify(Depth::Deep, &driver(), &mut report).map_err(message)?;
    if report.ok() { Ok(true) } else { Err(report.to_json().to_string()) }
}

#[test]
fn consolidated_fixtures_read_as_before() {
    let mut merged = 0;
    let mut failures = Vec::new();
    let all = cases();
    for case in &all {
        match consolidate(case, &expected(case)) {
            Ok(done) => merged += usize::from(done),
            Err(why) => failures.push(format!("{}: {why}", case.file_name().unwrap().to_string_lossy())),
        }
    }
    assert!(failures.is_empty(), "{} fixtures fail:\n{}", failures.len(), failures.join("\n"));
    // A tenth of all fixtures and a third of our own have several fragments.
    assert!(merged > all.len() / 12, "only {merged} fixtures had something to consolidate");
}

fn int(value: &Json) -> Scalar {
    value.as_i64().map_or_else(|| value.as_u64().unwrap().into(), Scalar::from)
}

/// Reads an array as stored and writes its rows into a new one with the same schema.
fn rewrite(case: &Path, expected: &Json) -> std::result::Result<bool, String> {
    let message = |e: tesselle_core::Error| e.to_string();
    let sparse = expected["kind"] == "sparse";
    if !sparse && expected["kind"] != "dense" {
        return Ok(false);
    }
    let source = Location::local(case.join("array")).unwrap();
    let options = options(expected).with_raw(true).with_text_as_binary(true);
    let key = expected.pointer("/encryption/key_utf8").and_then(Json::as_str);
    let key = key.map(|key| Key::new(key.as_bytes().try_into().unwrap()));
    let Ok(old) = ArrayWriter::open(&source, key.clone()) else { return Ok(false) };
    let Ok(before) = rows(&source, &options, sparse) else { return Ok(false) };
    let mut schema = old.schema().clone();
    schema.version = WRITE_VERSION;
    // Codes are written unchanged, so their meaning is not needed; label arrays are not rewritten.
    schema.enumerations.clear();
    schema.labels.clear();
    schema.attributes.iter_mut().for_each(|attribute| attribute.enumeration = None);
    let target = Location::new(Arc::new(MemoryStorage::new()), "array");
    let new = NewSchema { schema, enumerations: Vec::new() };
    let array = ArrayWriter::create(&target, &new, key, None).map_err(message)?;
    let container = TileDb.open(&source, &options).map_err(message)?;
    let batches = read(&*container, &Scan::all()).map_err(message)?;
    let outcome = if sparse {
        array.write_sparse(&batches, &SparseOptions::default())
    } else {
        let all =
            arrow_select::concat::concat_batches(&container.default_table().unwrap().schema(), &batches)
                .unwrap();
        let info = container.describe().map_err(message)?.to_json();
        // An array without fragments has no rows to write.
        let Some(rows) = info["tables"][0]["row_domain"].as_array() else { return Ok(false) };
        let region: Vec<Bounds> =
            rows.iter().map(|range| Bounds { low: int(&range[0]), high: int(&range[1]) }).collect();
        array.write_dense(&region, &all, CellOrder::RowMajor, None)
    };
    match outcome {
        Ok(_) => {}
        // Some filters cannot encode fill values, or the results of a lossy filter.
        Err(e) if e.to_string().contains("cannot hold these values") => return Ok(false),
        Err(e) => return Err(message(e)),
    }
    let after = rows(&target, &options, sparse).map_err(message)?;
    if let Some(row) = (0..before.len().max(after.len())).find(|row| before.get(*row) != after.get(*row)) {
        return Err(format!("row {row}: {:?}, expected {:?}", after.get(row), before.get(row)));
    }
    let mut report = Report::new(Depth::Deep);
    let container = TileDb.open(&target, &options).map_err(message)?;
    container.verify(Depth::Deep, &driver(), &mut report).map_err(message)?;
    if report.ok() { Ok(true) } else { Err(report.to_json().to_string()) }
}

#[test]
fn rewritten_fixtures_read_the_same() {
    let mut written = 0;
    let mut failures = Vec::new();
    let all = cases();
    for case in &all {
        match rewrite(case, &expected(case)) {
            Ok(done) => written += usize::from(done),
            Err(why) => failures.push(format!("{}: {why}", case.file_name().unwrap().to_string_lossy())),
        }
    }
    assert!(failures.is_empty(), "{} fixtures fail:\n{}", failures.len(), failures.join("\n"));
    assert!(written > all.len() / 2, "only {written} fixtures were rewritten");
}

#[test]
fn times_next_to_unwritten_cells_are_merged_under_double_delta() {
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage), "array");
    let filters = [Filter::DoubleDelta { level: -1, reinterpret: None }, Filter::zstd(3)];
    let schema = SchemaBuilder::dense()
        .dimension(Dimension::new("x", Datatype::Int32, 0, 15, 8))
        .attribute(Attribute::new("t", Datatype::DatetimeMs).with_filters(filters));
    let array = ArrayWriter::create(&location, &schema.build().unwrap(), None, Some(1)).unwrap();
    for (at, range) in [0_i64..8, 8..12].into_iter().enumerate() {
        let values: ArrayRef = Arc::new(TimestampMillisecondArray::from_iter_values(range.clone()));
        let batch = RecordBatch::try_from_iter([("t", values)]).unwrap();
        let region = Bounds { low: Scalar::from(range.start), high: Scalar::from(range.end - 1) };
        array.write_dense(&[region], &batch, CellOrder::RowMajor, Some(10 + at as u64)).unwrap();
    }
    let options = OpenOptions::default().with_full_domain(true);
    let before = rows(&location, &options, false).unwrap();
    assert_eq!(before.len(), 16);
    array.consolidate(&Consolidation::default()).unwrap();
    array.vacuum(Vacuum::Fragments).unwrap();
    assert_eq!(rows(&location, &options, false).unwrap(), before);
}
