//! Fixtures, and the comparison of read values with their `expected.json`.

pub(crate) mod values;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use serde_json::Value as Json;
use tesselle_core::driver::{Order, scan};
use tesselle_core::{Container, Driver, DriverOptions, Format, Location, OpenOptions, Result, Scan, Secret};
use tesselle_tiledb::TileDb;

/// The folders of all fixtures: those next to the tests, and those in `TESSELLE_FIXTURES`.
pub(crate) fn cases() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/libtiledb-2.30.0");
    let root = std::env::var_os("TESSELLE_FIXTURES").map(PathBuf::from);
    let families = ["tiledb", "tiledb-upstream"].map(|family| root.as_ref().map(|root| root.join(family)));
    let mut out: BTreeMap<OsString, PathBuf> = BTreeMap::new();
    for folder in families.into_iter().flatten().chain([own]) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().join("expected.json").is_file() {
                out.entry(entry.file_name()).or_insert_with(|| entry.path());
            }
        }
    }
    out.into_values().collect()
}

/// One fixture by its name.
pub(crate) fn case(name: &str) -> PathBuf {
    let found = cases().into_iter().find(|case| case.ends_with(name));
    found.unwrap_or_else(|| panic!("there is no fixture '{name}'"))
}

pub(crate) fn expected(case: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(case.join("expected.json")).unwrap()).unwrap()
}

pub(crate) fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap()
}

pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Arc<dyn Container>> {
    TileDb.open(&Location::local(path)?, options)
}

/// Options with the key of a fixture.
pub(crate) fn options(expected: &Json) -> OpenOptions {
    let key = expected.pointer("/encryption/key_utf8").and_then(Json::as_str);
    OpenOptions::default().with_key(key.map(|key| Secret::new(key.as_bytes())))
}

/// All batches of a scan over the only table.
pub(crate) fn read(container: &dyn Container, request: &Scan) -> Result<Vec<RecordBatch>> {
    let table = container.default_table()?;
    scan(&*table, request, &driver(), Order::Plan)?.read_all()
}

/// The rows of the only table, sorted.
pub(crate) fn rows(path: &Path, options: &OpenOptions) -> Vec<String> {
    let container = open(path, options).unwrap();
    let batches = read(&*container, &Scan::all()).unwrap();
    let schema = container.default_table().unwrap().schema();
    let columns: Vec<Vec<Json>> =
        schema.fields().iter().map(|field| values::column(&batches, field.name())).collect();
    let count = columns.first().map_or(0, Vec::len);
    let row = |i: usize| columns.iter().map(|column| column[i].to_string()).collect::<Vec<_>>().join(" | ");
    let mut out: Vec<String> = (0..count).map(row).collect();
    out.sort();
    out
}

/// The files below a folder, by path relative to it.
pub(crate) fn files(root: &Path, folder: &Path, out: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(root, &path, out);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            out.push((name, std::fs::read(&path).unwrap()));
        }
    }
}
