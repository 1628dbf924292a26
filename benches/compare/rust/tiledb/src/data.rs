//! The jobs' data: what the arrays hold, and where windows, boxes and keys lie.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use compare_harness::sized;

/// Side of the dense grid.
pub fn side() -> u64 {
    sized(4096, 1024)
}

/// How many string keys there are.
pub fn strings() -> u64 {
    sized(1_000_000, 10_000)
}

/// Side of its tiles, and of a window.
pub const TILE: u64 = 256;
/// Side of the plane of the sparse cells.
pub const SPACE: i64 = 100_000;

/// The same sequence of numbers below `modulus` in every engine.
pub fn numbers(modulus: u64) -> impl FnMut() -> u64 {
    let mut state = 12345_u64;
    move || {
        state = (state * 1_103_515_245 + 12345) % (1 << 31);
        state % modulus
    }
}

/// The 8-byte cells of an npy file.
fn words<T>(path: &Path, of: fn([u8; 8]) -> T) -> Vec<T> {
    let bytes = std::fs::read(path).expect("the data is made");
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[header..].as_chunks::<8>().0.iter().map(|chunk| of(*chunk)).collect()
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("columns are of one length")
}

/// What an array of this kind holds.
pub fn columns(folder: &Path, kind: &str) -> RecordBatch {
    let file = |column: &str| folder.join(format!("{kind}{column}.npy"));
    match kind {
        "text" => {
            let numbers = words(&file(""), i64::from_le_bytes);
            let keys = StringArray::from_iter_values(numbers.iter().map(|n| format!("key{n:07}")));
            batch([("key", Arc::new(keys)), ("a", Arc::new(Int64Array::from(numbers)))])
        }
        _ if kind.starts_with("dense") => {
            let cells = words(&folder.join("dense.npy"), f64::from_le_bytes);
            batch([("a", Arc::new(Float64Array::from(cells)))])
        }
        _ => {
            let axis = |column| -> ArrayRef { Arc::new(Int64Array::from(words(&file(column), i64::from_le_bytes))) };
            let cells = Float64Array::from(words(&file("-a"), f64::from_le_bytes));
            batch([("x", axis("-x")), ("y", axis("-y")), ("a", Arc::new(cells))])
        }
    }
}
