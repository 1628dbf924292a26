//! The questions, and the one number that all engines must agree on.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_schema::DataType;

/// Runs of each query; each reopens its file.
pub const RUNS: usize = 5;

/// The statement of a job over the table `t`. `middle` is a condition that a hundredth of the rows satisfy, contiguously.
pub fn statement(query: &str, middle: &str) -> String {
    match query {
        "sum" => "SELECT count(sensor), avg(speed), sum(temperature) FROM t".to_owned(),
        "group" => "SELECT sensor, avg(temperature), max(speed) FROM t GROUP BY sensor".to_owned(),
        "filter" => "SELECT count(*), sum(temperature) FROM t WHERE speed > 118".to_owned(),
        "rows" => "SELECT time, temperature FROM t WHERE speed > 118".to_owned(),
        "range" => format!("SELECT count(*), sum(temperature) FROM t WHERE {middle}"),
        "bounds" => "SELECT min(time), max(time), min(sensor), max(sensor), count(*) FROM t".to_owned(),
        "floats" => "SELECT count(*), min(temperature), max(temperature) FROM t".to_owned(),
        other => panic!("no question is called {other}"),
    }
}

/// A hundredth of the rows by their time.
pub const MIDDLE: &str =
    "time >= to_timestamp_millis(1705000000000) AND time < to_timestamp_millis(1705100000000)";

/// The sum of the last column.
pub fn answer(batches: &[RecordBatch]) -> f64 {
    let sum = |batch: &RecordBatch| -> f64 {
        let last = batch.columns().last().expect("a column");
        let last = arrow_cast::cast(last, &DataType::Float64).expect("a number");
        last.as_primitive::<Float64Type>().iter().flatten().sum()
    };
    batches.iter().filter(|batch| batch.num_rows() > 0).map(sum).sum()
}
