//! An opened file, folder or collection.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::facts::{Attribute, ColumnRole};
use crate::hint::Action;
use crate::layout_map::LayoutMap;
use crate::report::{Depth, Report};
use crate::table::Table;

/// Named tables with metadata, a byte map and a verifier.
pub trait Container: Send + Sync {
    /// Describes the contents: the object of `info --json`, from metadata only.
    fn describe(&self) -> Result<Description>;

    /// The names of its tables, in the order of the file.
    fn table_names(&self) -> Vec<String>;

    /// The table of that name.
    fn table(&self, name: &str) -> Result<Arc<dyn Table>>;

    /// The table to use if none is named: the only one.
    fn default_table(&self) -> Result<Arc<dyn Table>> {
        let names = self.table_names();
        match names.as_slice() {
            [only] => self.table(only),
            [] => Err(Error::not_found("the container has no tables")),
            many => {
                let message = format!("the container has {} tables; select one", many.len());
                Err(Error::invalid(message).suggest("add {}", [Action::Table(many.to_vec())]))
            }
        }
    }

    /// Attributes of the container itself that the facts of its tables do not include.
    fn attributes(&self) -> Result<Vec<Attribute>> {
        Ok(Vec::new())
    }

    /// What other formats cannot store, besides what the facts of its tables list, one line each.
    fn unkept(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// The chunks, pages or tiles, one JSON object each, in file order; at most `limit` of them.
    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Value>>;

    /// How many objects [`Container::chunks`] would list, if known without listing.
    fn chunk_count(&self) -> Option<u64> {
        None
    }

    /// The schema from which an empty container can be created, as JSON. `None` for formats without such a schema.
    fn schema_json(&self) -> Result<Option<Value>> {
        Ok(None)
    }

    /// Every byte range with its meaning.
    fn layout(&self) -> Result<LayoutMap>;

    /// Checks the container. Problems go into the report; an `Err` means that the check itself could not continue.
    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()>;
}

/// The answer of `info`.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The format's name, e.g. `tsfile`.
    pub format: &'static str,
    /// The version as the format spells it.
    pub version: String,
    /// Free metadata of the container.
    pub metadata: Value,
    /// Its tables.
    pub tables: Vec<TableDescription>,
    /// Format-specific top-level keys.
    pub extra: Map<String, Value>,
}

impl Description {
    /// A description without tables and extras.
    pub fn new(format: &'static str, version: impl Into<String>) -> Self {
        let metadata = Value::Object(Map::new());
        Self { format, version: version.into(), metadata, tables: Vec::new(), extra: Map::new() }
    }

    /// The object of `info --json`.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("format".into(), self.format.into());
        object.insert("version".into(), self.version.as_str().into());
        object.extend(self.extra.clone());
        object.insert("metadata".into(), self.metadata.clone());
        object.insert("tables".into(), self.tables.iter().map(TableDescription::to_json).collect());
        Value::Object(object)
    }
}

/// One table in the output of `info`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDescription {
    /// Its name.
    pub name: String,
    /// Its number of rows, if known without reading.
    pub rows: Option<u64>,
    /// Its columns.
    pub columns: Vec<ColumnDescription>,
    /// Format-specific keys.
    pub extra: Map<String, Value>,
}

impl TableDescription {
    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("name".into(), self.name.as_str().into());
        object.insert("rows".into(), self.rows.into());
        object.extend(self.extra.clone());
        object.insert("columns".into(), self.columns.iter().map(ColumnDescription::to_json).collect());
        Value::Object(object)
    }
}

/// One column in the output of `info`.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDescription {
    /// Its name.
    pub name: String,
    /// Its type as the format spells it.
    pub kind: String,
    /// Its role.
    pub role: ColumnRole,
    /// Whether values may be missing.
    pub nullable: bool,
    /// Format-specific keys.
    pub extra: Map<String, Value>,
}

impl ColumnDescription {
    /// The object of a column in `info --json`.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("name".into(), self.name.as_str().into());
        object.insert("type".into(), self.kind.as_str().into());
        object.insert("role".into(), self.role.name().into());
        object.insert("nullable".into(), self.nullable.into());
        object.extend(self.extra.clone());
        Value::Object(object)
    }
}
