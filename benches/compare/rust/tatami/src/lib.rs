//! The jobs' data: documents as a crawler keeps them, and the questions about them.

pub mod documents;
mod language;
pub mod questions;
mod random;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_schema::DataType;

/// The documents, as they are loaded before the clock of a write starts.
pub fn load(folder: &Path) -> Vec<RecordBatch> {
    let file = BufReader::new(File::open(folder.join("documents.arrow")).expect("the documents are there"));
    let reader = arrow_ipc::reader::FileReader::try_new(file, None).expect("they are an Arrow file");
    reader.map(|batch| batch.expect("a batch")).collect()
}

/// A number that depends on every value of a batch: string lengths, and the numbers themselves.
pub fn digest(batch: &RecordBatch) -> f64 {
    let column = |array: &dyn arrow_array::Array| match array.data_type() {
        DataType::Int32 => array.as_primitive::<Int32Type>().values().iter().map(|v| f64::from(*v)).sum(),
        DataType::Timestamp(..) => {
            array.as_primitive::<TimestampMicrosecondType>().values().iter().map(|v| (*v / 1_000_000) as f64).sum()
        }
        DataType::Utf8 => lengths(array.as_string::<i32>().value_offsets()),
        DataType::Binary => lengths(array.as_binary::<i32>().value_offsets()),
        other => panic!("no column is {other}"),
    };
    batch.columns().iter().map(|array| column(array.as_ref())).sum::<f64>()
}

fn lengths(offsets: &[i32]) -> f64 {
    f64::from(offsets[offsets.len() - 1] - offsets[0])
}
