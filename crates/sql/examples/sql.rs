//! Runs a statement over files and prints its rows.
//!
//! `cargo run -p tesselle-sql --example sql -- "SELECT max(speed) FROM 'target/demo/fleet.tsfile'"`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples talk to the terminal")]

use arrow_cast::pretty::pretty_format_batches;
use tesselle_sql::{Session, SessionOptions};

fn main() -> tesselle::Result<()> {
    let Some(statement) = std::env::args().nth(1) else {
        eprintln!("usage: sql STATEMENT");
        return Ok(());
    };
    let session = Session::try_new(&SessionOptions::default())?;
    let batches = session.query(&statement)?.collect::<tesselle::Result<Vec<_>>>()?;
    println!("{}", pretty_format_batches(&batches)?);
    Ok(())
}
