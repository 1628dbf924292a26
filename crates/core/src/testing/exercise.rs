//! What the fuzzers do to strangers' bytes.

use std::sync::Arc;

use crate::driver::{Driver, Order, scan};
use crate::error::{ErrorKind, Result};
use crate::format::{Format, OpenOptions};
use crate::report::{Depth, Report};
use crate::scan::Scan;
use crate::storage::{Location, MemoryStorage};

/// Rows that are read of a table: a small file can claim very many.
const ROWS: u64 = 100_000;
/// Tables that are read.
const TABLES: usize = 16;

/// Opens `bytes` as one file of `format` and asks everything of it: description, pieces, byte map, verification,
/// every row. Errors are fine; a panic, a hang or an error that says the library itself is at fault is not.
pub fn exercise(format: &dyn Format, name: &str, bytes: &[u8], driver: &Driver) {
    let storage = MemoryStorage::new();
    storage.put(name, bytes.to_vec());
    exercise_at(format, &Location::new(Arc::new(storage), name), driver);
}

/// Like [`exercise`], for a container that lies somewhere already.
pub fn exercise_at(format: &dyn Format, location: &Location, driver: &Driver) {
    if let Err(error) = ask(format, location, driver) {
        assert!(error.kind() != ErrorKind::Internal, "an internal error: {error}");
    }
}

fn ask(format: &dyn Format, location: &Location, driver: &Driver) -> Result<()> {
    let container = format.open(location, &OpenOptions::default())?;
    let mut first = Ok(());
    // One failure must not keep the other questions from being asked.
    let mut note = |result: Result<()>| {
        if first.is_ok() || result.as_ref().is_err_and(|e| e.kind() == ErrorKind::Internal) {
            first = result;
        }
    };
    note(container.describe().map(drop));
    note(container.chunks(None).map(drop));
    note(container.layout().map(drop));
    note(container.verify(Depth::Deep, &driver.for_run(), &mut Report::new(Depth::Deep)));
    for name in container.table_names().into_iter().take(TABLES) {
        note(container.table(&name).and_then(|table| {
            for batch in scan(&*table, &Scan::all().limit(ROWS), driver, Order::Plan)? {
                batch?;
            }
            Ok(())
        }));
    }
    first
}
