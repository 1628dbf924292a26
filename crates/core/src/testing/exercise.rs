//! All operations on untrusted bytes: the body of the tests of damaged files and of the fuzzers.

use std::sync::Arc;

use arrow_schema::Schema;

use crate::array::{ArrayView, read_region};
use crate::container::Container;
use crate::driver::{Driver, Order, scan};
use crate::error::{ErrorKind, Result};
use crate::format::Format;
use crate::limits::Limits;
use crate::options::OpenOptions;
use crate::predicate::Predicate;
use crate::reduce::{ReduceOp, reduce};
use crate::report::{Depth, Report};
use crate::request::RepairRequest;
use crate::scan::Scan;
use crate::selection::{AxisSelection, Region, Selection, Span};
use crate::storage::{Location, MemoryStorage};
use crate::table::Table;

/// Rows to read of a table: a small file can state very many.
const ROWS: u64 = 10_000;
/// Half the side of a box that is read of an array.
const SIDE: u64 = 3;
/// Tables that are read.
const TABLES: usize = 8;

/// Opens `bytes` as one file of `format` and runs all operations on it; see [`exercise_at`].
pub fn exercise(format: &dyn Format, bytes: &[u8], driver: &Driver) -> Result<()> {
    let name = format!("data.{}", format.extensions().first().unwrap_or(&"bin"));
    let storage = MemoryStorage::new();
    storage.put(name.clone(), bytes.to_vec());
    // Small limits: large allocations by damaged lengths would slow down ten thousand runs.
    let limits = Limits { metadata_bytes: 1 << 20, piece_bytes: 1 << 24, ..Limits::default() };
    let options = OpenOptions { limits, text_as_binary: true, ..OpenOptions::default() };
    exercise_at(format, &Location::new(Arc::new(storage), name), &options, driver)
}

/// Runs all operations on a container: description, chunks, byte map, verification, every table's rows with and without
/// a condition and a projection, boxes and a reduction of its first array, a repair. Returns the first error, which is fine for damaged bytes. A panic, a hang or
/// an internal error is not.
///
/// Everything runs on one thread of the driver, which consumes what it decodes: on a small container, threads would do
/// little but wait for each other.
pub fn exercise_at(
    format: &dyn Format,
    location: &Location,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<()> {
    driver.install(|| ask_all(format, location, options, driver))
}

fn ask_all(format: &dyn Format, location: &Location, options: &OpenOptions, driver: &Driver) -> Result<()> {
    let mut first = Ok(());
    // One failure must not prevent the other operations.
    let mut note = |result: Result<()>| {
        if let Err(error) = &result {
            let text = error.to_string();
            assert!(error.kind() != ErrorKind::Internal, "an internal error: {text}");
            assert!(!text.is_empty() && !text.contains('\n'), "not one line: {text}");
        }
        if first.is_ok() {
            first = result;
        }
    };
    match format.open(location, options) {
        Ok(container) => ask(&*container, driver, &mut note),
        Err(error) => note(Err(error)),
    }
    // A repair may find nothing to do or nothing to recover; the results above count.
    let target = Location::new(Arc::new(MemoryStorage::new()), "repaired");
    if let Err(error) = format.repair(RepairRequest::new(location, &target, options), driver) {
        assert!(error.kind() != ErrorKind::Internal, "an internal error: {error}");
    }
    first
}

fn ask(container: &dyn Container, driver: &Driver, note: &mut dyn FnMut(Result<()>)) {
    note(container.describe().map(|description| drop(description.to_json())));
    note(container.chunks(None).map(drop));
    note(container.layout().map(|layout| drop(layout.to_json())));
    note(container.verify(Depth::Deep, &driver.for_run(), &mut Report::new(Depth::Deep)));
    for name in container.table_names().into_iter().take(TABLES) {
        match container.table(&name) {
            Ok(table) => ask_table(&*table, driver, note),
            Err(error) => note(Err(error)),
        }
    }
}

fn ask_table(table: &dyn Table, driver: &Driver, note: &mut dyn FnMut(Result<()>)) {
    let read = |query: &Scan| -> Result<()> {
        scan(table, query, driver, Order::Plan)?.into_batches().try_for_each(|batch| batch.map(drop))
    };
    note(read(&Scan::all().limit(ROWS)));
    let schema = table.schema();
    let last = schema.fields().last().map(|field| field.name().clone());
    if let Some(condition) = condition(&schema) {
        note(read(&Scan::all().filter(condition.clone()).limit(ROWS)));
        // The condition needs a column that the answer does not have.
        note(read(&Scan::all().columns(last).filter(condition).limit(ROWS)));
    }
    for column in table.array_columns().into_iter().take(1) {
        let Some(array) = table.array(&column) else { continue };
        if !array.shape().contains(&0) {
            ask_array(&*array, driver, note);
            note(read(&Scan::all().select(every_other()).limit(ROWS)));
        }
    }
}

/// Every other position of the first axis.
fn every_other() -> Selection {
    Selection { axes: vec![AxisSelection::Range { start: None, stop: None, step: 2 }] }
}

/// Asks an array for its first cell, for a box with steps around its middle, and for a mean.
fn ask_array(array: &dyn ArrayView, driver: &Driver, note: &mut dyn FnMut(Result<()>)) {
    let mut read = |region: &Region| {
        let bytes = region.cells().unwrap_or(0) as usize * array.dtype().size();
        note(read_region(array, region, &mut vec![0; bytes], driver));
    };
    read(&Region { spans: vec![Span { start: 0, stop: 1, step: 1 }; array.shape().len()] });
    let middle = |extent: &u64| {
        let start = extent / 2;
        Span { start: start.saturating_sub(SIDE), stop: start.saturating_add(SIDE).min(*extent), step: 2 }
    };
    let region = Region { spans: array.shape().iter().map(middle).collect() };
    if region.cells().is_some_and(|cells| cells <= ROWS) {
        read(&region);
        // Nothing is reduced where there is nothing, which is an error of the call and not of the bytes.
        if region.cells() != Some(0) {
            note(reduce(array, &region, ReduceOp::Mean, &[0], driver).map(drop));
        }
    }
}

/// A condition on the first numeric column, for pruning and filters.
fn condition(schema: &Schema) -> Option<Predicate> {
    let field = schema.fields().iter().find(|field| field.data_type().is_numeric())?;
    let name = field.name().replace('"', "\"\"");
    format!("\"{name}\" > 3 OR \"{name}\" IS NULL").parse().ok()
}
