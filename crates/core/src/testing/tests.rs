use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};

use super::*;
use crate::driver::{Driver, DriverOptions};
use crate::options::WriteOptions;
use crate::scan::Scan;
use crate::storage::{LocalStorage, Location, MemoryStorage, Storage};

#[test]
fn local_storage_keeps_the_rules() {
    for storage in [LocalStorage::new(), LocalStorage::mapped()] {
        let folder = tempfile::tempdir().unwrap();
        storage_conformance(&storage, folder.path().to_str().unwrap());
    }
}

#[test]
fn memory_storage_keeps_the_rules() {
    storage_conformance(&MemoryStorage::new(), "base/folder");
}

#[cfg(feature = "cloud")]
#[test]
fn cloud_storage_keeps_the_rules() {
    let options = std::collections::BTreeMap::new();
    let location = crate::storage::CloudStorage::from_url("memory:///base", &options).unwrap();
    storage_conformance(&**location.storage(), location.path());
}

#[test]
fn wrapped_storages_keep_the_rules() {
    let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let counting = CountingStorage::new(Arc::clone(&memory));
    storage_conformance(&counting, "base");
    assert!(counting.counts().requests > 0 && counting.counts().commits > 0);
    storage_conformance(&FaultyStorage::failing(memory, u64::MAX), "base");
}

fn batch(from: i32) -> RecordBatch {
    let numbers = (from..from + 5).map(|i| (i % 4 != 1).then_some(i)).collect::<Int32Array>();
    let floats = (from..from + 5).map(|i| Some(f64::from(i) / 2.0)).collect::<Float64Array>();
    let strings = (from..from + 5).map(|i| (i % 3 != 0).then(|| format!("t{i}"))).collect::<StringArray>();
    let columns: [(&str, ArrayRef); 3] =
        [("n", Arc::new(numbers)), ("f", Arc::new(floats)), ("t", Arc::new(strings))];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

#[test]
fn a_table_in_memory_keeps_the_rules() {
    let driver = Driver::try_new(&DriverOptions { threads: Some(2), memory: Some(1 << 20) }).unwrap();
    let pieces: Vec<RecordBatch> = (0..4).map(|i| batch(i * 5)).collect();
    table_conformance(&MemoryTable::new(pieces[0].schema(), pieces.clone()), &driver);
    table_conformance(&MemoryTable::new(pieces[0].schema(), Vec::new()), &driver);
}

#[test]
fn a_sink_that_keeps_the_rules_passes() {
    let driver = Driver::try_new(&DriverOptions { threads: Some(2), memory: Some(1 << 20) }).unwrap();
    let column = |from| Arc::new(Int32Array::from_iter_values(from..from + 4)) as ArrayRef;
    let batches = [0, 9].map(|from| RecordBatch::try_new(toy::schema(), vec![column(from)]).unwrap());
    let options = WriteOptions::default();
    let folder = tempfile::tempdir().unwrap();
    for storage in [Arc::new(MemoryStorage::new()) as Arc<dyn Storage>, Arc::new(LocalStorage::new())] {
        let target = Location::new(storage, folder.path().join("target").to_str().unwrap());
        let table = sink_conformance(&toy::Toy, &target, &batches, &options, &driver);
        assert_eq!(read_all(&*table, &Scan::all(), &driver).num_rows(), 8);
    }
    assert!(crash_conformance(&toy::Toy, &batches, &options, &driver) > 10);
}

#[test]
fn faults_come_when_they_are_due() {
    let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let write = |storage: &FaultyStorage| {
        let mut staged = storage.create("f")?;
        staged.write(b"abc")?;
        staged.commit().map(drop)
    };
    for at in 0..3 {
        let failing = FaultyStorage::failing(Arc::clone(&memory), at);
        assert!(write(&failing).is_err());
        assert_eq!(memory.kind("f").unwrap(), None, "operation {at}");
        write(&failing).unwrap();
        memory.remove("f").unwrap();
        let stopping = FaultyStorage::stopping(Arc::clone(&memory), at);
        assert!(write(&stopping).is_err() && write(&stopping).is_err());
        assert!(stopping.size("f").is_err());
    }
}
