//! Small files, and a driver of two threads.

use std::path::{Path, PathBuf};

use tesselle::{Driver, DriverOptions, Settings, convert};

pub(crate) fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(64 << 20)).unwrap()
}

/// Writes a CSV file.
pub(crate) fn csv(folder: &Path, name: &str, header: &str, rows: impl Iterator<Item = String>) -> PathBuf {
    let path = folder.join(name);
    let text: String = std::iter::once(format!("{header}\n")).chain(rows.map(|row| row + "\n")).collect();
    std::fs::write(&path, text).unwrap();
    path
}

/// Converts a file into one next to it.
pub(crate) fn into(source: &Path, name: &str, pairs: &[&str]) -> PathBuf {
    let target = source.with_file_name(name);
    let conversion = convert(source.to_str().unwrap(), target.to_str().unwrap());
    let conversion = conversion.options(Settings::from_pairs(pairs).unwrap());
    conversion.on(&driver()).run().unwrap_or_else(|error| panic!("{name}: {error}"));
    target
}
