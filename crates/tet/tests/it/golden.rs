//! Golden files: those in this crate, and the full set in `TESSELLE_FIXTURES`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tesselle_core::array::read_region;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{
    DType, Driver, DriverOptions, Error, Location, OpenOptions, Region, Result, hex, json_float,
};
use tesselle_tet::File;

/// One golden file with its expected contents.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) expected: Value,
}

impl Case {
    fn load(folder: &Path) -> Option<Self> {
        let expected = std::fs::read(folder.join("expected.json")).ok()?;
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let path = folder.join(expected["file"].as_str().unwrap());
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        // Packages are folders of files, not files.
        path.is_file().then_some(Self { name, path, expected })
    }

    pub(crate) fn opens(&self) -> bool {
        self.expected["opens"] == true
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    pub(crate) fn size(&self) -> u64 {
        self.bytes().len() as u64
    }

    /// Opens it from memory and from disk; both must agree.
    pub(crate) fn open(&self) -> Result<File> {
        let local = File::open(&Location::local(&self.path).unwrap(), &OpenOptions::default());
        let memory = open_bytes(self.bytes());
        assert_eq!(local.is_ok(), memory.is_ok(), "{}", self.name);
        memory.and(local)
    }

    pub(crate) fn datasets(&self) -> Vec<Value> {
        self.expected["datasets"].as_array().cloned().unwrap_or_default()
    }
}

pub(crate) fn open_bytes(bytes: impl Into<bytes::Bytes>) -> Result<File> {
    let storage = MemoryStorage::new();
    storage.put("data.tet", bytes);
    File::open(&Location::new(Arc::new(storage), "data.tet"), &OpenOptions::default())
}

/// All cases: of `tests/data`, and of the fixtures if available.
pub(crate) fn cases() -> Vec<Case> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut roots = vec![data.join("tetration-0.8.3"), data.join("built")];
    if let Some(fixtures) = std::env::var_os("TESSELLE_FIXTURES") {
        roots.extend(["tet", "tet-upstream"].map(|name| Path::new(&fixtures).join(name)));
    }
    let folders = roots.iter().filter_map(|root| std::fs::read_dir(root).ok()).flatten();
    let mut paths: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| Case::load(path)).collect()
}

pub(crate) fn driver() -> Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER
        .get_or_init(|| {
            Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(64 << 20)).unwrap()
        })
        .clone()
}

/// The whole tensor through the array view.
pub(crate) fn tensor(file: &File, id: usize) -> Result<Vec<u8>> {
    let array = file.array(id)?;
    let region = Region::whole(array.shape());
    let bytes = region.cells().and_then(|n| n.checked_mul(array.dtype().size() as u64));
    let bytes = bytes.and_then(|n| usize::try_from(n).ok()).filter(|n| *n < 1 << 28);
    let mut out = vec![0; bytes.ok_or_else(|| Error::limit("too large for a test"))?];
    read_region(&*array, &region, &mut out, &driver())?;
    Ok(out)
}

/// The cells of a region of a row-major tensor, one by one.
pub(crate) fn select(whole: &[u8], shape: &[u64], region: &Region, size: usize) -> Vec<u8> {
    let lens = region.shape();
    let mut out = Vec::new();
    for cell in 0..region.cells().unwrap() {
        let (mut rest, mut at, mut stride) = (cell, 0, 1);
        for axis in (0..shape.len()).rev() {
            let span = region.spans[axis];
            at += (span.start + rest % lens[axis] * span.step) * stride;
            rest /= lens[axis];
            stride *= shape[axis];
        }
        let at = at as usize * size;
        out.extend_from_slice(&whole[at..at + size]);
    }
    out
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn dtype_of(dataset: &Value) -> DType {
    DType::from_name(dataset["dtype"].as_str().unwrap()).unwrap()
}

/// The bytes of a primitive column.
pub(crate) fn bytes_of(column: &ArrayRef) -> Vec<u8> {
    let data = column.to_data();
    let size = data.data_type().primitive_width().unwrap();
    data.buffers()[0].as_slice()[data.offset() * size..(data.offset() + data.len()) * size].to_vec()
}

/// A cell in the form of the expectations.
pub(crate) fn number(column: &ArrayRef, row: usize) -> Value {
    use arrow_schema::DataType as T;
    let float = |x: f64| if x == 0.0 && x.is_sign_negative() { json!("-0.0") } else { json_float(x) };
    match column.data_type() {
        T::UInt8 => json!(column.as_primitive::<UInt8Type>().value(row)),
        T::UInt16 => json!(column.as_primitive::<UInt16Type>().value(row)),
        T::UInt32 => json!(column.as_primitive::<UInt32Type>().value(row)),
        T::UInt64 => json!(column.as_primitive::<UInt64Type>().value(row)),
        T::Int16 => json!(column.as_primitive::<Int16Type>().value(row)),
        T::Int32 => json!(column.as_primitive::<Int32Type>().value(row)),
        T::Int64 => json!(column.as_primitive::<Int64Type>().value(row)),
        T::Float16 => float(column.as_primitive::<Float16Type>().value(row).to_f64()),
        T::Float32 => float(f64::from(column.as_primitive::<Float32Type>().value(row))),
        _ => float(column.as_primitive::<Float64Type>().value(row)),
    }
}

pub(crate) fn pairs(got: &Value, want: &Value) -> std::result::Result<Vec<(Value, Value)>, String> {
    let (got, want) = (got.as_array().unwrap(), want.as_array().unwrap());
    if got.len() != want.len() {
        return Err(format!("{} entries, expected {}", got.len(), want.len()));
    }
    Ok(got.iter().cloned().zip(want.iter().cloned()).collect())
}

/// `got` may have keys that `want` lacks.
pub(crate) fn contains(what: &str, got: &Value, want: &Value) -> std::result::Result<(), String> {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => want.iter().try_for_each(|(key, value)| {
            let inner = got.get(key).ok_or_else(|| format!("{what}.{key} is missing"))?;
            contains(&format!("{what}.{key}"), inner, value)
        }),
        _ if got == want => Ok(()),
        _ => Err(format!("{what}: {got}, expected {want}")),
    }
}

/// Keys in order, at every depth.
pub(crate) fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            let sorted: Map<String, Value> =
                keys.into_iter().map(|key| (key.clone(), canonical(&object[key]))).collect();
            Value::Object(sorted)
        }
        Value::Array(list) => list.iter().map(canonical).collect(),
        other => other.clone(),
    }
}
