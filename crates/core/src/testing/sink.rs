//! The rules of a sink, checked through a format.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;

use super::rows::{read_all, sorted_rows};
use super::{FaultyStorage, table_conformance};
use crate::driver::Driver;
use crate::error::Result;
use crate::format::Format;
use crate::options::{OpenOptions, WriteOptions};
use crate::scan::Scan;
use crate::sink::Summary;
use crate::storage::{Location, MemoryStorage, Storage};
use crate::table::Table;

fn write(
    format: &dyn Format,
    target: &Location,
    batches: &[RecordBatch],
    options: &WriteOptions,
    driver: &Driver,
) -> Result<Summary> {
    let schema = batches.first().expect("the suite is given batches").schema();
    let mut sink = format.create(target, schema, options, driver)?;
    for batch in batches {
        sink.write(batch)?;
    }
    sink.finish()
}

/// The first table of the container, which must exist.
fn table_of(format: &dyn Format, location: &Location) -> Result<Arc<dyn Table>> {
    let container = format.open(location, &OpenOptions::default())?;
    container.table(container.table_names().first().expect("the written container has a table"))
}

/// Checks the rules stated by [`Sink`](crate::Sink): nothing is visible before `finish`, a dropped sink leaves the
/// previous state, and written rows read back. `target` does not exist yet; its folder does. Returns the table for
/// further checks of the values.
pub fn sink_conformance(
    format: &dyn Format,
    target: &Location,
    batches: &[RecordBatch],
    options: &WriteOptions,
    driver: &Driver,
) -> Arc<dyn Table> {
    let folder = target.parent().expect("the target is in a folder");
    let before = folder.list().unwrap_or_default();
    let schema = batches.first().expect("the suite is given batches").schema();
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();

    let mut sink =
        format.create(target, Arc::clone(&schema), options, driver).expect("a sink can be created");
    for batch in batches {
        sink.write(batch).expect("a batch of the right schema is accepted");
    }
    assert!(format.open(target, &OpenOptions::default()).is_err(), "nothing is visible before finish");
    drop(sink);
    assert!(!target.exists().unwrap(), "a dropped sink leaves no target");
    assert_eq!(folder.list().unwrap_or_default(), before, "a dropped sink leaves nothing next to it");

    let summary = write(format, target, batches, options, driver).expect("a finished sink commits");
    assert_eq!(summary.rows, rows as u64, "the summary counts the rows");
    let table = table_of(format, target).expect("the written container opens");
    let written = read_all(&*table, &Scan::all(), driver);
    assert_eq!(written.num_rows(), rows, "every row comes back");
    let want = concat_batches(&schema, batches).unwrap();
    if written
        .schema()
        .fields()
        .iter()
        .map(|f| (f.name(), f.data_type()))
        .eq(schema.fields().iter().map(|f| (f.name(), f.data_type())))
    {
        assert_eq!(sorted_rows(&written), sorted_rows(&want), "every value comes back");
    }
    table_conformance(&*table, driver);

    let refused = format.create(target, Arc::clone(&schema), options, driver).and_then(|mut sink| {
        sink.write(&batches[0])?;
        sink.finish()
    });
    assert!(options.overwrite || refused.is_err(), "an existing target is replaced only on request");
    let mut overwrite = options.clone();
    overwrite.overwrite = true;
    let mut sink =
        format.create(target, schema, &overwrite, driver).expect("an existing target can be replaced");
    sink.write(&batches[0]).unwrap();
    drop(sink);
    let kept = table_of(format, target).expect("the old state is kept when a sink is dropped");
    assert_eq!(sorted_rows(&read_all(&*kept, &Scan::all(), driver)), sorted_rows(&written));
    table
}

/// Stops a write at each of its storage operations in turn: afterwards there is either the previous state, which is
/// nothing, or the complete new one; then the same where the previous state is a container to be replaced. Returns the
/// number of operations of a write.
pub fn crash_conformance(
    format: &dyn Format,
    batches: &[RecordBatch],
    options: &WriteOptions,
    driver: &Driver,
) -> u64 {
    let operations = stopped_writes(format, batches, options, driver);
    stopped_replacements(format, batches, &WriteOptions { overwrite: true, ..options.clone() }, driver);
    operations
}

fn stopped_replacements(
    format: &dyn Format,
    batches: &[RecordBatch],
    options: &WriteOptions,
    driver: &Driver,
) {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    for at in 0.. {
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let after = Location::new(Arc::clone(&memory), "folder/target");
        write(format, &after, batches, options, driver).expect("a first state");
        let faulty = FaultyStorage::stopping(memory, at);
        let target = Location::new(Arc::new(faulty.clone()), "folder/target");
        let result = write(format, &target, batches, options, driver);
        let table = table_of(format, &after);
        let table =
            table.unwrap_or_else(|error| panic!("after a stop at operation {at} nothing is left: {error}"));
        let found = read_all(&*table, &Scan::all(), driver).num_rows();
        assert_eq!(found, rows, "after a stop at operation {at} there is a partial state");
        if faulty.operations() <= at {
            result.expect("a write that was not stopped succeeds");
            return;
        }
    }
}

fn stopped_writes(
    format: &dyn Format,
    batches: &[RecordBatch],
    options: &WriteOptions,
    driver: &Driver,
) -> u64 {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    for at in 0.. {
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let faulty = FaultyStorage::stopping(Arc::clone(&memory), at);
        let target = Location::new(Arc::new(faulty.clone()), "folder/target");
        let result = write(format, &target, batches, options, driver);
        let after = Location::new(memory, "folder/target");
        if let Ok(table) = table_of(format, &after) {
            let found = read_all(&*table, &Scan::all(), driver).num_rows();
            assert_eq!(found, rows, "after a stop at operation {at} there is a part of the new state");
        } else {
            assert!(result.is_err(), "a write that succeeded can be opened");
        }
        if faulty.operations() <= at {
            result.expect("a write that was not stopped succeeds");
            return at;
        }
        assert!(result.is_err(), "a write stopped at operation {at} returns an error");
    }
    0
}
