//! `COPY … TO 'x.tatami'`: the answer of a query into any format the facade writes.

use arrow_schema::SchemaRef;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, DFParser, Statement};
use datafusion::sql::sqlparser::ast::{Statement as SqlStatement, Value};
use tesselle::foreign::{Foreign, IpcKind};
use tesselle::{Driver, Error, Format, Location, Result, Sink, WriteOptions};

use crate::error::ours;

/// A COPY statement that we carry out ourselves.
pub(crate) struct Copy {
    /// The query whose rows are written.
    pub(crate) query: Statement,
    target: Location,
    to: Target,
    options: WriteOptions,
}

enum Target {
    Format(&'static dyn Format),
    Foreign(Foreign),
}

impl Target {
    fn choose(name: Option<&str>, file: &str) -> Result<Self> {
        if let Some(name) = name {
            let name = name.to_ascii_lowercase();
            // DataFusion's name for one object a line.
            return match Foreign::from_name(if name == "json" { "jsonl" } else { &name }) {
                Some(kind) => Ok(Self::Foreign(kind)),
                None => tesselle::format_by_name(&name).map(Self::Format),
            };
        }
        if let Some(format) = tesselle::format_by_extension(file) {
            return Ok(Self::Format(format));
        }
        let json = file.to_ascii_lowercase().ends_with(".json").then_some(Foreign::Jsonl);
        json.or_else(|| Foreign::from_extension(file)).map(Self::Foreign).ok_or_else(|| {
            Error::invalid(format!("the name '{file}' does not tell the format to write"))
                .hint("add STORED AS TET, TILEDB, TSFILE, TATAMI, PARQUET, ARROW, CSV or JSON")
        })
    }
}

impl Copy {
    /// Reads the statement.
    pub(crate) fn new(statement: &CopyToStatement) -> Result<Self> {
        let to = Target::choose(statement.stored_as.as_deref(), &statement.target)?;
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
        match &self.to {
            Target::Format(format) => format.create(&self.target, schema.clone(), &self.options, driver),
            Target::Foreign(kind) => {
                self.options.settings.expect_only(&[])?;
                kind.sink(self.target.create(self.options.overwrite)?, schema, IpcKind::File)
            }
        }
    }
}
