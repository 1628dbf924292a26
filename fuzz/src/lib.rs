//! What the fuzz targets share: a driver, containers in memory, folders as one input, and mutations that know formats.

pub mod bundle;
pub mod seal;

use std::sync::{Arc, LazyLock};

use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Driver, DriverOptions, Format, Limits, Location, OpenOptions};

pub use bundle::Bundle;

/// One thread and a small memory: a small input must not take much of either.
pub static DRIVER: LazyLock<Driver> =
    LazyLock::new(|| Driver::try_new(&DriverOptions::default().with_threads(1).with_memory(256 << 20)).unwrap());

/// Small limits: what a false length could still make a reader take would slow every run down.
pub fn options() -> OpenOptions {
    let mut limits = Limits::default();
    limits.metadata_bytes = 1 << 20;
    limits.piece_bytes = 1 << 24;
    OpenOptions::default().with_limits(limits).with_text_as_binary(true)
}

/// One file in memory, under a name that the format would choose.
pub fn file(format: &dyn Format, bytes: &[u8]) -> Location {
    let name = format!("data.{}", format.extensions().first().unwrap_or(&"bin"));
    let storage = MemoryStorage::new();
    storage.put(name.clone(), bytes.to_vec());
    Location::new(Arc::new(storage), name)
}

/// The folder of a bundle in memory.
pub fn folder(bundle: &Bundle) -> Location {
    let storage = MemoryStorage::new();
    for (name, bytes) in &bundle.files {
        storage.put(format!("data/{name}"), bytes.clone());
    }
    Location::new(Arc::new(storage), "data")
}
