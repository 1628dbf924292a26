//! Table functions: `tess_tables('f')`, `tess_chunks('f')`, `tess_layout('f')`, `search('f', 'query', k)`.

mod rows;

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::Expr;
use rows::to_batch;
use serde_json::{Map, Value, json};
use tesselle::{Driver, Error, OpenOptions, Opener};

use crate::error::external;

/// A table of a container's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Tables,
    Chunks,
    Layout,
    Search,
}

impl Function {
    pub(crate) const ALL: [Self; 4] = [Self::Tables, Self::Chunks, Self::Layout, Self::Search];

    /// Its name in SQL.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tables => "tess_tables",
            Self::Chunks => "tess_chunks",
            Self::Layout => "tess_layout",
            Self::Search => "search",
        }
    }

    /// The fixed columns; format-specific ones follow.
    fn columns(self) -> Vec<(&'static str, DataType)> {
        use DataType::{Boolean, Float32, Int64, Utf8};
        match self {
            Self::Tables => vec![
                ("table_name", Utf8),
                ("rows", Int64),
                ("column_name", Utf8),
                ("type", Utf8),
                ("role", Utf8),
                ("nullable", Boolean),
            ],
            Self::Chunks => Vec::new(),
            Self::Layout => vec![
                ("file", Utf8),
                ("start", Int64),
                ("end", Int64),
                ("role", Utf8),
                ("content", Utf8),
                ("table_name", Utf8),
                ("column_name", Utf8),
                ("depth", Int64),
            ],
            Self::Search => vec![
                ("segment", Utf8),
                ("doc", Int64),
                ("score", Float32),
                ("doc_id", Utf8),
                ("url", Utf8),
                ("title", Utf8),
                ("snippet", Utf8),
            ],
        }
    }

    fn usage(self) -> String {
        match self {
            Self::Search => "search('FILE OR FOLDER', 'QUERY', K); K is optional".to_owned(),
            other => format!("{}('FILE')", other.name()),
        }
    }
}

/// A function together with the open options.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) function: Function,
    pub(crate) options: OpenOptions,
    pub(crate) driver: Driver,
}

impl TableFunctionImpl for Listing {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let rows = self.rows(args.exprs()).map_err(external)?;
        let batch = to_batch(&self.function.columns(), &rows)?;
        Ok(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?))
    }
}

impl Listing {
    fn opener(&self) -> Opener {
        Opener::new().options(self.options.clone()).among_others(true).on(&self.driver)
    }

    fn rows(&self, args: &[Expr]) -> tesselle::Result<Vec<Map<String, Value>>> {
        let wrong =
            || Error::invalid("the arguments do not match").hint(format!("use {}", self.function.usage()));
        let uri = args.first().and_then(text).ok_or_else(wrong)?;
        if self.function == Function::Search {
            let query = args.get(1).and_then(text).ok_or_else(wrong)?;
            let k = match args.get(2) {
                None => None,
                Some(Expr::Literal(ScalarValue::Int64(Some(k)), _)) => {
                    Some(usize::try_from(*k).map_err(|_| wrong())?)
                }
                Some(_) => return Err(wrong()),
            };
            return if args.len() > 3 { Err(wrong()) } else { self.search(uri, query, k) };
        }
        if args.len() > 1 {
            return Err(wrong());
        }
        let opened = self.opener().open(uri)?;
        let container = opened.container();
        let objects: Vec<Value> = match self.function {
            Function::Tables => {
                let description = opened.describe()?;
                let columns = description.tables.iter().flat_map(|table| {
                    table.columns.iter().map(|column| {
                        json!({
                            "table_name": table.name, "rows": table.rows, "column_name": column.name,
                            "type": column.kind, "role": column.role.name(), "nullable": column.nullable,
                        })
                    })
                });
                columns.collect()
            }
            Function::Layout => {
                let layout = container.layout()?;
                let extents = layout.files.iter().flat_map(|file| {
                    file.extents.iter().map(|extent| {
                        json!({
                            "file": file.file, "start": extent.range.start, "end": extent.range.end,
                            "role": extent.role.name(), "content": extent.content, "table_name": extent.table,
                            "column_name": extent.column, "depth": extent.depth,
                        })
                    })
                });
                extents.collect()
            }
            Function::Chunks | Function::Search => container.chunks(None)?,
        };
        Ok(objects.into_iter().filter_map(object).collect())
    }

    fn search(&self, uri: &str, query: &str, k: Option<usize>) -> tesselle::Result<Vec<Map<String, Value>>> {
        let mut search = tesselle::search(uri, query).opener(self.opener()).on(&self.driver);
        if let Some(k) = k {
            search = search.k(k);
        }
        let found = search.run()?;
        // The stored fields become columns next to the score, not a nested object.
        let flat = found.hits.iter().filter_map(|hit| {
            let mut row = object(hit.to_json())?;
            let fields = row.remove("fields").and_then(object).unwrap_or_default();
            row.extend(fields);
            Some(row)
        });
        Ok(flat.collect())
    }
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Some(text),
        _ => None,
    }
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}
