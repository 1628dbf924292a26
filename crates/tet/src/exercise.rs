//! Everything a reader does with a file, for fuzzing: whatever the bytes are, it returns.

use std::ops::ControlFlow;
use std::sync::Arc;

use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Container, Depth, Driver, Limits, Location, OpenOptions, Report, Scan};

use crate::File;

/// Tables that are read, of files that have many.
const TABLES: usize = 8;

/// Opens `bytes`, and reads, maps and verifies what opens; `true` when it does. Nothing here may panic.
pub fn exercise(bytes: &[u8], driver: &Driver) -> bool {
    let storage = Arc::new(MemoryStorage::new());
    storage.put("data.tet", bytes.to_vec());
    let location = Location::new(storage.clone(), "data.tet");
    let limits = Limits { metadata_bytes: 1 << 20, piece_bytes: 1 << 24, ..Limits::default() };
    let Ok(file) = File::open(&location, &OpenOptions { limits, ..OpenOptions::default() }) else {
        return false;
    };
    let described = file.describe().map(|description| description.to_json());
    let listed = file.chunks(Some(64)).map(|chunks| chunks.len());
    let mapped = file.layout().map(|layout| layout.to_json());
    drop((described, listed, mapped));
    for id in 0..file.table_names().len().min(TABLES) {
        read_table(&file, id, &storage, driver);
    }
    let mut report = Report::new(Depth::Deep);
    file.verify(Depth::Deep, driver, &mut report).is_ok()
}

/// The first batch of the first tasks, and the first tile. What fails is fine, as long as it says so.
fn read_table(file: &File, id: usize, storage: &MemoryStorage, driver: &Driver) {
    let Ok(table) = file.table_at(id) else { return };
    let predicate = "value > 3 AND i0 < 100".parse().ok().filter(|_| table.schema().index_of("i0").is_ok());
    for scan in [Scan::all().limit(1000), Scan { predicate, ..Scan::all() }] {
        let Ok(plan) = table.plan(&scan) else { continue };
        for mut task in plan.tasks.into_iter().take(3) {
            let ended = driver.run_task(storage, &mut *task, &mut |_| ControlFlow::Break(()));
            drop(ended);
        }
    }
    if let Some(array) = table.array("value") {
        let first = vec![0; array.shape().len()];
        let mut scratch = Vec::new();
        drop(array.tile(&first, 0..1, &mut scratch).map(|bytes| bytes.len()));
    }
}
