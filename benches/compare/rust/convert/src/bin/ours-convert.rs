//! Conversions by Tesselle: `ours-convert FROM-TO FOLDER`.

use std::path::Path;

use tesselle::{Driver, DriverOptions, Opener};

/// Memory for pieces under way: far less than the table takes.
const MEMORY: u64 = 256 << 20;

fn main() {
    let (job, folder) = compare_harness::arguments();
    let (from, to) = job.split_once('-').expect("a job is FROM-TO");
    let source = folder.join(if from == "parquet" { "base.parquet".to_owned() } else { format!("made.{from}") });
    // What comes from Parquet is kept for the way back; what goes to Parquet is measured and compared.
    let target = folder.join(if from == "parquet" { format!("made.{to}") } else { format!("back-{from}.{to}") });
    let driver = Driver::try_new(&DriverOptions::default().with_memory(MEMORY)).expect("threads");
    let mut conversion = tesselle::convert(text(&source), text(&target)).on(&driver);
    if to == "tet" {
        // A tensor file has no times: the column is a vector of integers.
        conversion = conversion.casts(tesselle::parse_types("time=int64").expect("types"));
        conversion = conversion.set("codec", "zstd");
    }
    if to == "tsfile" {
        conversion = conversion.table("root.bench");
    }
    let table = (from == "tsfile").then(|| "root.bench".to_owned());
    conversion = conversion.opener(Opener::new().table(table));
    let mut rows = 0.0;
    let mut seconds = Vec::new();
    for _ in 0..2 {
        compare_harness::remove(&target);
        let start = std::time::Instant::now();
        let converted = conversion.clone().run().expect("converts");
        seconds.push(start.elapsed().as_secs_f64());
        rows = converted.summary.rows as f64;
    }
    let list: Vec<String> = seconds.iter().map(f64::to_string).collect();
    let bytes = compare_harness::size(&target);
    println!("{{\"seconds\": [{}], \"answer\": {rows}, \"bytes\": {bytes}}}", list.join(", "));
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}
