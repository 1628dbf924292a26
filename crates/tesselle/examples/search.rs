//! Builds a search segment from a table, and searches it.
//!
//! `cargo run -p tesselle --example search -- notes.csv notes.tatami body '+river bridge'`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples talk to the terminal")]

fn main() -> tesselle::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [source, segment, column, query] = args.as_slice() else {
        eprintln!("usage: search SOURCE SEGMENT COLUMN QUERY");
        return Ok(());
    };
    let summary = tesselle::index(source, segment).text([column]).overwrite(true).run()?;
    println!("{} documents", summary.rows);
    for hit in tesselle::search(segment, query).k(5).run()?.hits {
        println!("{:.4} {}", hit.score, String::from_utf8_lossy(&hit.fields.doc_id));
    }
    Ok(())
}
