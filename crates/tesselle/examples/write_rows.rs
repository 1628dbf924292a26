//! Writes measurements as rows of a TsFile, and reads them back.
//!
//! `cargo run -p tesselle --example write_rows -- plant.tsfile`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples talk to the terminal")]

use std::sync::Arc;

use tesselle::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(target) = std::env::args().nth(1) else {
        eprintln!("usage: write_rows TARGET");
        return Ok(());
    };
    let hour = |number: i64| -> Result<RecordBatch, Box<dyn std::error::Error>> {
        let minutes = number * 60..(number + 1) * 60;
        let time: ArrayRef = Arc::new(Int64Array::from_iter_values(minutes.clone().map(|m| m * 60_000)));
        let speed: ArrayRef =
            Arc::new(Float64Array::from_iter_values(minutes.map(|m| 80.0 + (m % 7) as f64)));
        Ok(RecordBatch::try_from_iter([("time", time), ("speed", speed)])?)
    };

    let mut writer = tesselle::create(&target, hour(0)?.schema()).overwrite(true).start()?;
    for number in 0..24 {
        writer.write(&hour(number)?)?;
    }
    let report = writer.finish()?;
    println!("wrote {} rows as {}", report.summary.rows, report.format);

    let table = tesselle::open(&target)?.default_table()?;
    let fast = table.scan().filter("speed > 85")?.rows()?.read_all()?;
    println!("{} of them are fast", fast.iter().map(RecordBatch::num_rows).sum::<usize>());
    Ok(())
}
