//! Prints the first rows of a table that match a condition, and the cost of reading them.
//!
//! `cargo run -p tesselle --example rows -- 'target/demo/fleet.tsfile#root.fleet.truck1' 'speed > 80'`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples print to the terminal")]

use tesselle::{Driver, DriverOptions, Scan};

fn main() -> tesselle::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(uri), condition) = (args.next(), args.next()) else {
        eprintln!("usage: rows URI [CONDITION]");
        return Ok(());
    };
    let opened = tesselle::open(&uri)?;
    let table = opened.default_table()?;
    let mut scan = Scan::all().limit(10);
    if let Some(condition) = condition {
        scan = scan.filter(condition.parse()?);
    }
    let driver = Driver::new(&DriverOptions::default())?;
    let mut rows = table.rows(&scan, &driver)?;
    for batch in rows.by_ref() {
        let batch = batch?;
        println!("{} rows of {} columns", batch.num_rows(), batch.num_columns());
    }
    let stats = rows.stats();
    println!("{} chunks, {} pruned, {} bytes fetched", stats.pieces, stats.pruned, stats.bytes_fetched);
    Ok(())
}
