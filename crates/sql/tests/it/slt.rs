//! The files under `tests/slt`.

use std::path::Path;

use arrow_schema::DataType;
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};
use tesselle_sql::Session;

use crate::support;

struct Database(Session);

#[derive(Debug)]
struct Failure(tesselle::Error);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl Database {
    fn answer(&self, sql: &str) -> tesselle::Result<DBOutput<DefaultColumnType>> {
        let answer = self.0.query(sql)?;
        let schema = answer.schema();
        if schema.fields().is_empty() {
            answer.finish()?;
            return Ok(DBOutput::StatementComplete(0));
        }
        let kind = |data_type: &DataType| match data_type {
            t if t.is_integer() => DefaultColumnType::Integer,
            t if t.is_floating() => DefaultColumnType::FloatingPoint,
            DataType::Utf8 => DefaultColumnType::Text,
            _ => DefaultColumnType::Any,
        };
        let types = schema.fields().iter().map(|field| kind(field.data_type())).collect();
        let mut rows = Vec::new();
        for batch in answer {
            let lines = support::lines(&batch?);
            let cells = |line: String| {
                line.split('|')
                    .map(|cell| if cell.is_empty() { "(empty)" } else { cell }.to_owned())
                    .collect()
            };
            rows.extend(lines.into_iter().map(cells));
        }
        Ok(DBOutput::Rows { types, rows })
    }
}

impl DB for Database {
    type Error = Failure;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Failure> {
        self.answer(sql).map_err(Failure)
    }
}

/// Every file runs with and without pushdown: the results are the same.
#[test]
fn the_sql_files_pass_with_and_without_pushdown() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut paths: Vec<_> = std::fs::read_dir(scripts).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut wrong = Vec::new();
    for pushdown in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        support::make_files(folder.path());
        for path in &paths {
            let text = std::fs::read_to_string(path).unwrap();
            let text = text.replace("$DIR", folder.path().to_str().unwrap());
            let mut runner = Runner::new(|| async move { Ok(Database(support::session(pushdown))) });
            let name = path.file_name().unwrap().to_string_lossy();
            // All failures are reported at once.
            for record in sqllogictest::parse_with_name::<DefaultColumnType>(&text, name.as_ref()).unwrap() {
                if let Err(error) = runner.run(record) {
                    wrong.push(format!("pushdown {pushdown}: {error}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
