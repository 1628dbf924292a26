//! Converts a file into another format, compares the two and verifies the result.
//!
//! `cargo run -p tesselle --example convert -- rows.csv rows.parquet`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples talk to the terminal")]

use tesselle::Depth;

fn main() -> tesselle::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(source), Some(target)) = (args.next(), args.next()) else {
        eprintln!("usage: convert SOURCE TARGET");
        return Ok(());
    };
    let report = tesselle::convert(&source, &target).overwrite(true).run()?;
    println!("{} rows as {}", report.summary.rows, report.format);
    for lost in &report.lost {
        println!("not carried over: {lost}");
    }
    println!("equal: {}", tesselle::diff(&source, &target).run()?.is_equal());
    println!("intact: {}", tesselle::verify(&target).depth(Depth::Deep).run()?.ok());
    Ok(())
}
