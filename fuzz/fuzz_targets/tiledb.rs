//! A small array of which one file is replaced by any bytes. The first byte chooses the file.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Driver, DriverOptions, Location, OpenOptions, Storage};

static DRIVER: LazyLock<Driver> =
    LazyLock::new(|| Driver::new(&DriverOptions { threads: Some(1), memory: Some(256 << 20) }).unwrap());

/// The files of an array in `fuzz/seeds/tiledb`, by path.
static ARRAY: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    fn walk(folder: &std::path::Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).expect("fuzz/seeds/tiledb is an array; fuzz/run.sh makes it") {
            let entry = entry.unwrap();
            let name = format!("{prefix}/{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                walk(&entry.path(), &name, files);
            } else {
                files.push((name, std::fs::read(entry.path()).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/seeds/tiledb");
    walk(std::path::Path::new(root), "array", &mut files);
    files.sort();
    files
});

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let storage = MemoryStorage::new();
    for (name, content) in &*ARRAY {
        storage.put(name.clone(), content.clone());
    }
    let (name, _) = &ARRAY[usize::from(*choice) % ARRAY.len()];
    storage.put(name.clone(), bytes.to_vec());
    let location = Location::new(Arc::new(storage) as Arc<dyn Storage>, "array");
    let format = &tesselle_tiledb::TileDb;
    let _ = tesselle_core::testing::exercise_at(format, &location, &OpenOptions::default(), &DRIVER);
});
