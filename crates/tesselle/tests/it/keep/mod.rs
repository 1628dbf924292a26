//! A container converted into its own format without settings is the same container: `diff` finds nothing, `info` shows
//! the same down to chunks, and it verifies. For random schemas, rows and settings of every format.

mod draw;
mod tatami;
mod tet;
mod tiledb;
mod tsfile;

use std::path::Path;

use serde_json::Value;
use tesselle::{Depth, convert, diff, verify};

use crate::support::driver;

/// How many containers of each kind are tried.
const CASES: u32 = 32;

/// What `info --chunks` shows, except what is the file's own: its size, and where things are.
fn info(path: &Path) -> Value {
    const OWN: [&str; 6] = ["file_bytes", "history", "offset", "superblock", "directory", "footer"];
    fn strip(value: &mut Value) {
        match value {
            Value::Object(items) => {
                items.retain(|key, _| !OWN.contains(&key.as_str()));
                items.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let dataset = tesselle::open(path.to_str().unwrap()).unwrap();
    let mut info = dataset.container().describe().unwrap().to_json();
    info["chunks"] = Value::Array(dataset.container().chunks(None).unwrap());
    strip(&mut info);
    info
}

/// Converts a container into one of the same format next to it, and compares them.
fn check(source: &Path) {
    let copy = source.with_file_name(format!("copy.{}", source.file_name().unwrap().to_str().unwrap()));
    let (left, right) = (source.to_str().unwrap(), copy.to_str().unwrap());
    let format = tesselle::open(left).unwrap().format().name();
    let report = convert(left, right).format(format).on(&driver()).run().unwrap();
    assert!(report.lost.is_empty() && report.changed.is_empty(), "{:?}", report.to_json());
    let found = diff(left, right).on(&driver()).run().unwrap();
    assert!(found.is_equal(), "{}", found.to_json());
    if let Some(found) = difference(&info(source), &info(&copy), "info") {
        panic!("{found}");
    }
    let report = verify(right).depth(Depth::Deep).on(&driver()).run().unwrap();
    assert!(report.ok(), "{:?}", report.findings());
}

/// The first place in which two values differ; names of files may.
fn difference(before: &Value, after: &Value, place: &str) -> Option<String> {
    match (before, after) {
        (Value::Object(left), Value::Object(right)) if left.keys().eq(right.keys()) => {
            let facts = left.iter().filter(|(key, _)| *key != "file");
            facts
                .into_iter()
                .find_map(|(key, value)| difference(value, &right[key], &format!("{place}.{key}")))
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let pairs = left.iter().zip(right).enumerate();
            pairs.into_iter().find_map(|(i, (left, right))| difference(left, right, &format!("{place}[{i}]")))
        }
        _ if before == after => None,
        _ => Some(format!("{place} was {before}, is {after}")),
    }
}
