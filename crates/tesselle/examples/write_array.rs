//! Writes an array from memory, and reduces it without reading it whole.
//!
//! `cargo run -p tesselle --example write_array -- field.tet`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples talk to the terminal")]

use tesselle::Region;
use tesselle::array::MemoryArray;
use tesselle::reduce::{ReduceOp, reduce};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(target) = std::env::args().nth(1) else {
        eprintln!("usage: write_array TARGET");
        return Ok(());
    };
    let row = |y: u16| (0..300_u16).map(move |x| f32::from(y) * 0.7 + f32::from(x) * 0.1);
    let cells: Vec<f32> = (0..400).flat_map(row).collect();
    let field = MemoryArray::from_slice(&cells, [400, 300])?.with_axis_names(["y", "x"])?;
    let report = tesselle::create_array(&target, field.clone()).overwrite(true).write()?;
    println!("wrote {} cells as {}", report.summary.rows, report.format);

    let array = tesselle::open(&target)?.default_table()?.array().ok_or("the table is an array")?;
    let (whole, driver) = (Region::whole(array.shape()), tesselle::default_driver()?);
    let means = reduce(&*array, &whole, ReduceOp::Mean, &[1], &driver)?;
    assert_eq!(means, reduce(&field, &whole, ReduceOp::Mean, &[1], &driver)?);
    println!("mean of {} rows, the first of them {}", means.values.len(), means.to_json()["values"][0]);
    Ok(())
}
