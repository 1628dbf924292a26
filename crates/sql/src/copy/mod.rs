//! `COPY … TO 'x.tatami'`: writes the result of a query in any format of the facade.

mod plain;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, DFParser, Statement};
use datafusion::sql::sqlparser::ast::{ObjectName, Statement as SqlStatement, Value};
pub(crate) use plain::{Plain, plain, whole};
use tesselle::core::{Sink, WriteRequest, WriteTarget};
use tesselle::name::file_names;
use tesselle::{Driver, Error, Format, Location, Result, Scan, Uri, WriteOptions, WriteReport};

use crate::error::ours;

/// A COPY statement executed by Tesselle.
pub(crate) struct Copy {
    /// The query whose rows are written.
    pub(crate) query: Statement,
    /// The quoted name in place of a query: a file, or a table.
    pub(crate) named: Option<String>,
    name: String,
    target: Location,
    to: &'static dyn Format,
    /// Whether the format was stated, and the name of the target has no ending of a format.
    is_folder: bool,
    options: WriteOptions,
}

impl Copy {
    /// Reads the statement.
    pub(crate) fn try_new(statement: &CopyToStatement) -> Result<Self> {
        let to = tesselle::target_format(statement.stored_as.as_deref(), &statement.target)?;
        if !statement.partitioned_by.is_empty() {
            return Err(
                Error::invalid("COPY … PARTITIONED BY is not supported").hint("write one file per COPY")
            );
        }
        let named = match &statement.source {
            CopyToSource::Relation(name) => quoted(name),
            CopyToSource::Query(_) => None,
        };
        let query = match &statement.source {
            CopyToSource::Relation(name) => {
                let mut parsed = DFParser::parse_sql(&format!("SELECT * FROM {name}")).map_err(ours)?;
                parsed.pop_front().ok_or_else(|| Error::internal("a parsed query is missing"))?
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
        let (name, target) = (statement.target.clone(), Uri::target(&statement.target)?);
        let is_folder = statement.stored_as.is_some() && tesselle::format_by_extension(&name).is_none();
        Ok(Self { query, named, name, target, to, is_folder, options })
    }

    /// Converts a file, or a query that is a scan of one file, and keeps the facts about its table. Returns the number of
    /// rows. Tables that need a file each go into the folder of the target's name.
    pub(crate) fn convert(&self, source: Plain, driver: &Driver) -> Result<u64> {
        let Some(tables) = self.separate_tables(&source, driver)? else {
            return Ok(self.convert_one(source, &self.name, driver)?.summary.rows);
        };
        let ending = self.to.extensions().first().copied().unwrap_or(self.to.name());
        let mut rows = 0;
        for (table, name) in tables.iter().zip(file_names(&tables)) {
            driver.check_canceled()?;
            let target = format!("{}/{name}.{ending}", self.name.trim_end_matches('/'));
            if let Some((folder, _)) = target.rsplit_once('/') {
                let failed = |error| Error::io(format!("cannot create '{folder}'"), error);
                std::fs::create_dir_all(folder).map_err(failed)?;
            }
            let one = Plain {
                uri: source.uri.clone(),
                others: Vec::new(),
                opener: source.opener.clone().table(table.clone()),
                scan: source.scan.clone(),
            };
            rows += self.convert_one(one, &target, driver)?.summary.rows;
        }
        Ok(rows)
    }

    /// The tables of a whole container that each need a file, where the target names a format but no file of it.
    fn separate_tables(&self, source: &Plain, driver: &Driver) -> Result<Option<Vec<String>>> {
        if !self.is_folder
            || !source.others.is_empty()
            || source.scan != Scan::all()
            || Uri::is_remote(&self.name)
        {
            return Ok(None);
        }
        let dataset = source.opener.clone().on(driver).open(&source.uri)?;
        Ok(dataset.separate_tables(self.to))
    }

    fn convert_one(&self, source: Plain, target: &str, driver: &Driver) -> Result<WriteReport> {
        let mut convert = tesselle::convert(source.uri, target)
            .then(source.others)
            .opener(source.opener)
            .scan(source.scan)
            .format(self.to.name())
            .options(self.options.settings.clone())
            .overwrite(self.options.overwrite);
        if let Some(table) = &self.options.table {
            convert = convert.table(table.clone());
        }
        convert.on(driver).run()
    }

    /// The sink of the rows; nothing is visible before it is finished.
    pub(crate) fn sink(&self, schema: &SchemaRef, driver: &Driver) -> Result<Box<dyn Sink>> {
        let target = WriteTarget::Location(self.target.clone());
        let request = WriteRequest::new(target, Arc::clone(schema), self.options.clone());
        Ok(tesselle::start_write(self.to, request, false, driver)?.sink)
    }
}

/// A name in quotes, without a schema.
fn quoted(name: &ObjectName) -> Option<String> {
    let [part] = name.0.as_slice() else { return None };
    part.as_ident().filter(|ident| ident.quote_style.is_some()).map(|ident| ident.value.clone())
}
