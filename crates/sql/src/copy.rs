//! `COPY … TO 'x.tatami'`: the answer of a query into any format the facade writes.

use std::fmt::Write as _;

use arrow_schema::SchemaRef;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, DFParser, Statement};
use datafusion::sql::sqlparser::ast::{Statement as SqlStatement, Value};
use tesselle::{Driver, Error, Location, Result, Sink, Target, WriteOptions};

use crate::error::ours;

/// A COPY statement that we carry out ourselves.
pub(crate) struct Copy {
    /// The query whose rows are written.
    pub(crate) query: Statement,
    target: Location,
    to: Target,
    options: WriteOptions,
}

/// What to write. Other engines call one object a line JSON.
fn choose(name: Option<&str>, file: &str) -> Result<Target> {
    let name = name.map(str::to_ascii_lowercase);
    let json =
        name.as_ref().map_or_else(|| file.to_ascii_lowercase().ends_with(".json"), |name| name == "json");
    let name = if json { Some("jsonl") } else { name.as_deref() };
    Target::choose(name, file).map_err(|error| {
        error.hint("add STORED AS TET, TILEDB, TSFILE, TATAMI, PARQUET, ARROW, CSV, JSON, NPY or ZARR")
    })
}

impl Copy {
    /// Reads the statement.
    pub(crate) fn new(statement: &CopyToStatement) -> Result<Self> {
        let to = choose(statement.stored_as.as_deref(), &statement.target)?;
        if !statement.partitioned_by.is_empty() {
            return Err(
                Error::invalid("COPY … PARTITIONED BY is not supported").hint("write one file per COPY")
            );
        }
        let query = match &statement.source {
            CopyToSource::Relation(name) => {
                let mut parsed = DFParser::parse_sql(&format!("SELECT * FROM {name}")).map_err(ours)?;
                parsed.pop_front().ok_or_else(|| Error::internal("a query was lost"))?
            }
            CopyToSource::Query(query) => Statement::Statement(Box::new(SqlStatement::Query(query.clone()))),
        };
        let mut options = WriteOptions::default();
        for (name, value) in &statement.options {
            let text = match value {
                Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => text.clone(),
                other => other.to_string(),
            };
            match name.to_ascii_lowercase().as_str() {
                "overwrite" => options.overwrite = text.eq_ignore_ascii_case("true"),
                "table" => options.table = Some(text),
                other => options.settings.set(other, text),
            }
        }
        Ok(Self { query, target: Location::local(&statement.target)?, to, options })
    }

    /// Where the rows go; nothing is visible there before the sink is finished.
    pub(crate) fn sink(&self, schema: &SchemaRef, driver: &Driver) -> Result<Box<dyn Sink>> {
        if !self.options.overwrite && self.target.exists()? {
            return Err(Error::invalid(format!("'{}' exists already", self.target))
                .hint("add OPTIONS ('overwrite' 'true') to replace it"));
        }
        self.to.create(&self.target, schema, &self.options, driver)
    }
}

/// A hint that names flags of the command line, in the words of SQL.
pub(crate) fn in_sql(hint: &str) -> String {
    let hint = hint.replace("--columns", "SELECT").replace("--where", "WHERE").replace("--as", "STORED AS");
    let mut parts = hint.split("--set ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (setting, rest) = part.split_at(part.find([' ', ';']).unwrap_or(part.len()));
        let (setting, comma) = setting.strip_suffix(',').map_or((setting, ""), |setting| (setting, ","));
        let (name, value) = setting.split_once('=').unwrap_or((setting, "VALUE"));
        let _ = write!(text, "OPTIONS ('{name}' '{value}'){comma}{rest}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_speak_sql() {
        for (flags, sql) in [
            ("no flag", "no flag"),
            (
                "name it with --set time=COLUMN, or number the rows with --set time=@row",
                "name it with OPTIONS ('time' 'COLUMN'), or number the rows with OPTIONS ('time' '@row')",
            ),
            ("add --set shape=N,M so that", "add OPTIONS ('shape' 'N,M') so that"),
            ("leave it out with --columns, or cast it before", "leave it out with SELECT, or cast it before"),
        ] {
            assert_eq!(in_sql(flags), sql);
        }
    }
}
