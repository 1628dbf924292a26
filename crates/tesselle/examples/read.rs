//! Prints the first rows of a table that match a condition, and the cost of reading them.
//!
//! `cargo run -p tesselle --example read -- 'target/demo/fleet.tsfile#root.fleet.truck1' 'speed > 80'`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples print to the terminal")]

fn main() -> tesselle::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(uri), condition) = (args.next(), args.next()) else {
        eprintln!("usage: read URI [CONDITION]");
        return Ok(());
    };
    let table = tesselle::open(&uri)?.default_table()?;
    let mut scan = table.scan().limit(10);
    if let Some(condition) = condition {
        scan = scan.filter(&condition)?;
    }
    let mut rows = scan.rows()?;
    for batch in rows.by_ref() {
        let batch = batch?;
        println!("{} rows of {} columns", batch.num_rows(), batch.num_columns());
    }
    println!("{:?}", rows.stats());
    Ok(())
}
