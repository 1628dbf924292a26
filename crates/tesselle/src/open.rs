//! Opening any dataset.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use tesselle_core::driver::{Order, Rows, scan};
use tesselle_core::{
    Action, ArrayView, Container, Context, Driver, Error, Format, Location, OpenOptions, Result, Scan, Table,
    TableFacts,
};

use crate::logical::restored;
use crate::name::Uri;
use crate::registry;
use crate::wide::wide;

/// Opens what `uri` names, with the default options.
pub fn open(uri: &str) -> Result<Dataset> {
    Opener::new().open(uri)
}

/// How to open a dataset.
#[derive(Debug, Clone, Default)]
pub struct Opener {
    format: Option<String>,
    table: Option<String>,
    options: OpenOptions,
}

impl Opener {
    /// The default: the content determines the format, the uri names the table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The format, instead of a look at the content.
    #[must_use]
    pub fn format(mut self, name: impl Into<Option<String>>) -> Self {
        self.format = name.into();
        self
    }

    /// The table, instead of the one that the uri names. `*` is all of them, where they form one table.
    #[must_use]
    pub fn table(mut self, name: impl Into<Option<String>>) -> Self {
        self.table = name.into();
        self
    }

    /// Time travel, keys, raw values.
    #[must_use]
    pub fn options(mut self, options: OpenOptions) -> Self {
        self.options = options;
        self
    }

    /// The types of columns, for formats that do not state them.
    #[must_use]
    pub fn types(mut self, types: Vec<(String, DataType)>) -> Self {
        self.options.types = types;
        self
    }

    /// The format that is given.
    pub(crate) fn format_name(&self) -> Option<&str> {
        self.format.as_deref()
    }

    /// How containers are opened.
    pub(crate) fn open_options(&self) -> &OpenOptions {
        &self.options
    }

    /// Opens what `uri` names.
    pub fn open(&self, uri: &str) -> Result<Dataset> {
        let Uri { location, table } = Uri::parse(uri)?;
        let format = match &self.format {
            Some(name) => registry::format_by_name(name)?,
            None => registry::detect(&location)?,
        };
        if !self.options.types.is_empty() && !format.capabilities().infers_types {
            return Err(Error::invalid(format!(
                "a file of the format {} states its types itself",
                format.name()
            ))
            .suggest("change them with {} instead", [Action::Cast(self.options.types.clone())]));
        }
        let container = format.open(&location, &self.options).in_file(location.path())?;
        let raw = self.options.raw;
        Ok(Dataset { format, container, location, table: self.table.clone().or(table), raw })
    }

    /// Opens the table that `uri` names, else the only one.
    pub fn open_table(&self, uri: &str) -> Result<DatasetTable> {
        self.open(uri)?.default_table()
    }
}

/// An opened container and the table that its uri names.
#[derive(Clone)]
pub struct Dataset {
    format: &'static dyn Format,
    container: Arc<dyn Container>,
    location: Location,
    table: Option<String>,
    /// Whether columns are read as they are stored.
    raw: bool,
}

impl Dataset {
    /// The format.
    pub fn format(&self) -> &'static dyn Format {
        self.format
    }

    /// The container behind it.
    pub fn container(&self) -> &Arc<dyn Container> {
        &self.container
    }

    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The names of its tables, in the order of the file.
    pub fn table_names(&self) -> Vec<String> {
        self.container.table_names()
    }

    /// The table that the uri or the opener named.
    pub fn chosen_table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// The table of that name; `*` is all of them, where they form one table.
    pub fn table(&self, name: &str) -> Result<DatasetTable> {
        let joined = if name == "*" { self.wide()? } else { None };
        let table = joined.map_or_else(|| self.container.table(name), Ok);
        self.handle(table)
    }

    /// The table that was named, else the only one. Several arrays of one shape are one table where the format says so.
    pub fn default_table(&self) -> Result<DatasetTable> {
        if let Some(name) = &self.table {
            return self.table(name);
        }
        let table = match self.wide()? {
            Some(table) => Ok(table),
            None => self.container.default_table(),
        };
        self.handle(table)
    }

    fn wide(&self) -> Result<Option<Arc<dyn Table>>> {
        if !self.format.capabilities().joins_tables {
            return Ok(None);
        }
        wide(&*self.container, &self.location).in_file(self.location.path())
    }

    fn handle(&self, table: Result<Arc<dyn Table>>) -> Result<DatasetTable> {
        let mut table = table.in_file(self.location.path())?;
        if !self.raw {
            table = restored(table).in_file(self.location.path())?;
        }
        Ok(DatasetTable { format: self.format, location: self.location.clone(), table })
    }
}

/// A table of an opened container.
#[derive(Clone)]
pub struct DatasetTable {
    format: &'static dyn Format,
    location: Location,
    table: Arc<dyn Table>,
}

impl DatasetTable {
    /// The format it is in.
    pub fn format(&self) -> &'static dyn Format {
        self.format
    }

    /// Where its container is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The table itself.
    pub fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    /// What the table is beyond the types of its columns.
    pub fn facts(&self) -> Result<TableFacts> {
        self.table.facts().in_file(self.location.path())
    }

    /// The rows that `request` asks for, in the table's order.
    pub fn rows(&self, request: &Scan, driver: &Driver) -> Result<Rows> {
        scan(&*self.table, request, driver, Order::Plan).in_file(self.location.path())
    }

    /// How many rows there are, where that is known without reading.
    pub fn row_count(&self) -> Option<u64> {
        self.table.stats().rows.exact().copied()
    }

    /// The array face, where the table is just one array: its axes and one column.
    pub fn array(&self) -> Option<Arc<dyn ArrayView>> {
        let names = self.table.array_columns();
        let [only] = names.as_slice() else { return None };
        let array = self.table.array(only)?;
        let values = self.schema().fields().len().checked_sub(array.shape().len());
        (values == Some(1)).then_some(array)
    }
}
