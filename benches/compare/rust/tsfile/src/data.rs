//! The jobs' data: raw little-endian files, one per column.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};

use compare_harness::sized;

const START: i64 = 1_700_000_000_000;
const STEP: i64 = 1000;

/// A column of a set.
pub struct Column {
    pub name: &'static str,
    pub kind: &'static str,
    pub encoding: &'static str,
}

/// One of the data sets.
pub struct Set {
    name: &'static str,
    pub columns: Vec<Column>,
    devices: usize,
    rows: usize,
    pub compression: &'static str,
}

impl Set {
    /// The set of that name.
    pub fn named(name: &str) -> Self {
        let column = |name, kind, encoding| Column { name, kind, encoding };
        let long = |name, kind, encoding| Self {
            name,
            columns: vec![column("value", kind, encoding)],
            devices: 1,
            rows: sized(10_000_000, 100_000),
            compression: "UNCOMPRESSED",
        };
        match name {
            "gorilla" => long("gorilla", "DOUBLE", "GORILLA"),
            "ts2diff" => long("ts2diff", "INT64", "TS_2DIFF"),
            "mix" => Self {
                name: "mix",
                columns: vec![
                    column("alarm", "BOOLEAN", "PLAIN"),
                    column("state", "STRING", "PLAIN"),
                    column("rpm", "INT32", "TS_2DIFF"),
                    column("pressure", "INT32", "TS_2DIFF"),
                    column("energy", "INT64", "TS_2DIFF"),
                    column("counter", "INT64", "TS_2DIFF"),
                    column("temperature", "FLOAT", "GORILLA"),
                    column("humidity", "FLOAT", "GORILLA"),
                    column("voltage", "DOUBLE", "GORILLA"),
                    column("current", "DOUBLE", "GORILLA"),
                ],
                devices: sized(100, 4),
                rows: 10_000,
                compression: "SNAPPY",
            },
            other => panic!("unknown set {other}"),
        }
    }
}

/// The first and the last time of a hundredth in the middle.
pub fn middle(set: &Set) -> (i64, i64) {
    let from = START + STEP * (set.rows / 2) as i64;
    (from, from + STEP * (set.rows / 100) as i64 - STEP)
}

/// The rows of each device.
pub fn base(folder: &Path, set: &Set) -> Vec<RecordBatch> {
    let words = std::fs::read_to_string(folder.join("words.txt")).expect("words.txt is there");
    let words: Vec<&str> = words.lines().collect();
    let raw: Vec<Vec<u8>> = set.columns.iter().map(|c| raw(folder, set, c.name)).collect();
    (0..set.devices)
        .map(|device| {
            let times = (0..set.rows as i64).map(|i| START + STEP * i);
            let time: ArrayRef = Arc::new(TimestampMillisecondArray::from_iter_values(times));
            let name = format!("d{device:03}");
            let names: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&name, set.rows)));
            let mut columns = vec![("time", time), ("device", names)];
            for (column, bytes) in set.columns.iter().zip(&raw) {
                let size = bytes.len() / (set.devices * set.rows);
                let part = &bytes[device * set.rows * size..(device + 1) * set.rows * size];
                columns.push((column.name, array(column.kind, part, &words)));
            }
            RecordBatch::try_from_iter(columns).expect("the columns are of equal length")
        })
        .collect()
}

fn raw(folder: &Path, set: &Set, column: &str) -> Vec<u8> {
    std::fs::read(folder.join(format!("{}-{column}.raw", set.name))).expect("the data has been made")
}

fn array(kind: &str, bytes: &[u8], words: &[&str]) -> ArrayRef {
    let fours = || bytes.as_chunks::<4>().0.iter().copied();
    let eights = || bytes.as_chunks::<8>().0.iter().copied();
    match kind {
        "BOOLEAN" => Arc::new(bytes.iter().map(|b| Some(*b != 0)).collect::<BooleanArray>()),
        "STRING" => Arc::new(StringArray::from_iter_values(bytes.iter().map(|b| words[usize::from(*b)]))),
        "INT32" => Arc::new(Int32Array::from_iter_values(fours().map(i32::from_le_bytes))),
        "INT64" => Arc::new(Int64Array::from_iter_values(eights().map(i64::from_le_bytes))),
        "FLOAT" => Arc::new(Float32Array::from_iter_values(fours().map(f32::from_le_bytes))),
        _ => Arc::new(Float64Array::from_iter_values(eights().map(f64::from_le_bytes))),
    }
}
