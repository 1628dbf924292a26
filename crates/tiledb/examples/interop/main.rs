//! Writes arrays of many kinds with this crate, each next to its expected rows, for the original engine to read.
//!
//! `interop/tiledb/run.sh` runs it and compares. Usage: `interop FOLDER`, or `interop churn FOLDER dense|sparse FIRST`.

mod churn;
mod consolidated;
mod data;
mod dense;
mod sparse;
mod streams;
mod upkeep;

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use serde_json::{Value, json};
use tesselle_core::{Error, Location};

type Result<T = ()> = std::result::Result<T, Error>;

/// The folder of the cases, and the list for the checker.
pub(crate) struct Cases {
    folder: PathBuf,
    list: Vec<Value>,
}

impl Cases {
    /// The place of the array of a case.
    pub(crate) fn place(&self, name: &str) -> Result<Location> {
        Location::local(self.folder.join(name).join("array"))
    }

    /// Adds a case: the expected rows of its array, and other facts for the checker.
    pub(crate) fn expect(&mut self, name: &str, rows: &RecordBatch, facts: &Value) -> Result {
        let path = self.folder.join(name).join("expected.arrow");
        let failed = |e: std::io::Error| Error::io(format!("cannot write '{}'", path.display()), e);
        let file = File::create(&path).map_err(failed)?;
        let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &rows.schema())?;
        writer.write(rows)?;
        writer.finish()?;
        self.list.push(json!({ "name": name, "facts": facts }));
        Ok(())
    }
}

fn run(folder: &Path) -> Result {
    let mut cases = Cases { folder: folder.to_owned(), list: Vec::new() };
    dense::write(&mut cases)?;
    sparse::write(&mut cases)?;
    upkeep::write(&mut cases)?;
    streams::write(&mut cases)?;
    consolidated::write(&mut cases)?;
    let text = serde_json::to_string_pretty(&cases.list).map_err(|e| Error::internal(e.to_string()))?;
    let path = folder.join("cases.json");
    std::fs::write(&path, text).map_err(|e| Error::io("cannot write the list of cases", e))
}

#[expect(clippy::print_stderr, clippy::print_stdout, reason = "an example talks to its user")]
fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["churn", folder, kind, first] => {
            churn::run(Path::new(folder), *kind == "sparse", first.parse().unwrap_or(1))
        }
        [folder] => run(Path::new(folder)),
        _ => {
            eprintln!("usage: interop FOLDER | interop churn FOLDER dense|sparse FIRST");
            return std::process::ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => {
            println!("done");
            std::process::ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}
