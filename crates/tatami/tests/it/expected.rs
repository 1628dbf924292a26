//! The expected contents of every fixture, from `expected.json`. `TESSELLE_FIXTURES` is the directory of the whole
//! set; without it, the cases in `tests/data` are used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tesselle_core::driver::{Order, scan};
use tesselle_core::{Container, Driver, DriverOptions, Format, Location, OpenOptions, Result, Scan};
use tesselle_tatami::Tatami;

/// The folder of the tatami fixtures.
pub(crate) fn fixtures() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tatami-0.3.0");
    std::env::var_os("TESSELLE_FIXTURES").map_or_else(own, |root| Path::new(&root).join("tatami"))
}

/// All cases with their expectations.
pub(crate) fn cases() -> Vec<(PathBuf, Value)> {
    let root = fixtures();
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders.into_iter().map(|folder| (folder.clone(), read_json(&folder.join("expected.json")))).collect()
}

/// One case by its name.
pub(crate) fn case(name: &str) -> (PathBuf, Value) {
    let folder = fixtures().join(name);
    let expected = read_json(&folder.join("expected.json"));
    (folder, expected)
}

/// Parses a file.
pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A driver with two threads.
pub(crate) fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(256 << 20)).unwrap()
}

/// Opens a container.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Arc<dyn Container>> {
    Tatami.open(&Location::local(path).unwrap(), options)
}

/// Reads rows; with strings as binary if they are not UTF-8.
pub(crate) fn read(path: &Path, request: &Scan, options: &OpenOptions) -> Result<Vec<RecordBatch>> {
    let table = open(path, options)?.default_table()?;
    scan(table.as_ref(), request, &driver(), Order::Plan)?.read_all()
}

/// The bytes of a rendered string, byte string or digest.
fn matches_bytes(got: &[u8], want: &Value) -> bool {
    match want {
        Value::String(text) => got == text.as_bytes(),
        Value::Object(map) => match (map.get("hex"), map.get("sha256")) {
            (Some(hex), _) => tesselle_core::hex(got) == hex.as_str().unwrap(),
            (_, Some(sum)) => {
                got.len() as u64 == map["len"].as_u64().unwrap()
                    && tesselle_core::hex(&Sha256::digest(got)) == sum.as_str().unwrap()
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether one value of an array equals the rendered one.
pub(crate) fn matches(array: &dyn Array, row: usize, want: &Value) -> bool {
    if want.is_null() || array.is_null(row) {
        return want.is_null() && array.is_null(row);
    }
    macro_rules! int {
        ($t:ty) => {
            want.as_number().unwrap().to_string() == array.as_primitive::<$t>().value(row).to_string()
        };
    }
    match array.data_type() {
        DataType::Boolean => want.as_bool() == Some(array.as_boolean().value(row)),
        DataType::Int8 => int!(Int8Type),
        DataType::Int16 => int!(Int16Type),
        DataType::Int32 => int!(Int32Type),
        DataType::Int64 => int!(Int64Type),
        DataType::UInt8 => int!(UInt8Type),
        DataType::UInt16 => int!(UInt16Type),
        DataType::UInt32 => int!(UInt32Type),
        DataType::UInt64 => int!(UInt64Type),
        DataType::Timestamp(TimeUnit::Microsecond, None) => int!(TimestampMicrosecondType),
        DataType::Float32 => {
            want.as_str()
                == Some(&format!("f32:{:08x}", array.as_primitive::<Float32Type>().value(row).to_bits()))
        }
        DataType::Float64 => {
            want.as_str()
                == Some(&format!("f64:{:016x}", array.as_primitive::<Float64Type>().value(row).to_bits()))
        }
        DataType::Utf8 => matches_bytes(array.as_string::<i32>().value(row).as_bytes(), want),
        DataType::Binary => matches_bytes(array.as_binary::<i32>().value(row), want),
        other => panic!("unexpected type {other}"),
    }
}

/// Compares a column over all batches.
pub(crate) fn check_column(what: &str, batches: &[RecordBatch], name: &str, want: &[Value]) {
    let mut at = 0;
    for batch in batches {
        let array = batch.column_by_name(name).unwrap();
        for row in 0..array.len() {
            let expected =
                want.get(at).unwrap_or_else(|| panic!("{what}: column {name}: more than {at} rows"));
            assert!(
                matches(array.as_ref(), row, expected),
                "{what}: column {name}, row {at}: expected {expected}"
            );
            at += 1;
        }
    }
    assert_eq!(at, want.len(), "{what}: column {name}: rows");
}

/// Whether a string of the case is not UTF-8, so that it must be read as binary.
pub(crate) fn needs_binary(schema: &[Value], columns: &serde_json::Map<String, Value>) -> bool {
    let not_text = |v: &Value| v.get("hex").is_some();
    schema.iter().any(|f| {
        f["type"] == "string"
            && columns
                .get(f["name"].as_str().unwrap())
                .is_some_and(|c| c.as_array().unwrap().iter().any(not_text))
    })
}
