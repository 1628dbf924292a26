//! SQL by Tesselle: `ours-sql QUERY-FORMAT FOLDER`; `ours-sql make-FORMAT FOLDER` writes the table in that format.

use std::path::Path;

use compare_sql::{MIDDLE, RUNS, answer, statement};
use tesselle::Settings;
use tesselle_sql::{Session, SessionOptions};

fn main() {
    let (job, folder) = compare_harness::arguments();
    let (query, format) = job.split_once('-').expect("a job is QUERY-FORMAT");
    let file = folder.join(format!("rows.{format}"));
    if query == "make" {
        return make(&folder, &file, format);
    }
    let uri = if format == "tsfile" { format!("{}#root.bench", text(&file)) } else { text(&file).to_owned() };
    // Tensors are asked by position: the same rows.
    let middle = if format == "tet" { "i0 >= 5000000 AND i0 < 5100000" } else { MIDDLE };
    let sql = statement(query, middle);
    compare_harness::report(RUNS, || {
        let session = Session::try_new(&SessionOptions::default()).expect("a session");
        session.register("t", &uri).expect("a table");
        let batches: Vec<_> = session.query(&sql).expect("an answer").map(|b| b.expect("rows")).collect();
        answer(&batches)
    });
}

fn make(folder: &Path, file: &Path, format: &str) {
    if file.exists() {
        return;
    }
    let settings: &[&str] = match format {
        "tet" => &["codec=zstd", "chunk=65536"],
        "tiledb" => &["dims=time", "filters=zstd"],
        "tatami" => &["sort_key=time"],
        _ => &[],
    };
    let mut conversion = tesselle::convert(text(&folder.join("rows.parquet")), text(file))
        .options(Settings::from_pairs(settings).expect("settings"));
    if format == "tet" {
        // A tensor file has no times: the column is a vector of integers.
        conversion = conversion.casts(tesselle::parse_types("time=int64").expect("types"));
    }
    if format == "tsfile" {
        conversion = conversion.table("root.bench");
    }
    conversion.run().expect("converts");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}
