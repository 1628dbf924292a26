//! What the fuzz targets share: a driver, containers in memory, folders as one input, and mutations that know formats.

pub mod bundle;
pub mod seal;

use std::sync::{Arc, LazyLock, Once};

use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Driver, DriverOptions, Format, Limits, Location, OpenOptions};

pub use bundle::Bundle;

/// One thread and a small memory: a small input must not take much of either.
pub static DRIVER: LazyLock<Driver> =
    LazyLock::new(|| Driver::new(&DriverOptions::default().with_threads(1).with_memory(256 << 20)).unwrap());

/// Small limits: what a false length could still make a reader take would slow every run down.
pub fn options() -> OpenOptions {
    let mut limits = Limits::default();
    limits.metadata_bytes = 1 << 20;
    limits.piece_bytes = 1 << 24;
    OpenOptions::default().with_limits(limits).with_text_as_binary(true)
}

/// Lets panics of these crates pass: the code that calls them catches them. One that is not caught ends the run.
pub fn tolerate(crates: &'static [&'static str]) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let file = panic.location().map_or("", |location| location.file());
            if !crates.iter().any(|name| file.contains(name)) {
                usual(panic);
            }
        }));
    });
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
