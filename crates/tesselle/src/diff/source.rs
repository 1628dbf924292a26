//! One side of a comparison: a table of a container, or a foreign file.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tesselle_core::{Context, Driver, Error, OpenOptions, Result, Scan, Table};

use crate::foreign::Foreign;
use crate::uri::Uri;

/// Where the rows of one side come from.
pub struct Side {
    schema: SchemaRef,
    ordered: bool,
    identifying: Vec<String>,
    source: Source,
}

enum Source {
    Table(Arc<dyn Table>),
    Foreign(Foreign, tesselle_core::Location),
}

/// A stream of batches.
pub(super) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

impl Side {
    /// Opens what a uri names.
    pub fn open(uri: &str, options: &OpenOptions) -> Result<Self> {
        let location = Uri::parse(uri)?.location;
        if let Some(kind) = Foreign::detect(&location)? {
            let schema = kind.read(&location)?.schema;
            return Ok(Self {
                schema,
                ordered: true,
                identifying: Vec::new(),
                source: Source::Foreign(kind, location),
            });
        }
        let opened = crate::open(uri, None, options)?;
        let table = opened.table()?;
        let description = opened.container.describe().in_file(opened.location.path())?;
        let ordered = description.extra.get("kind").and_then(|kind| kind.as_str()) != Some("sparse");
        let columns =
            description.tables.iter().find(|t| t.name == table.name()).map(|t| t.columns.as_slice());
        let identifying = columns
            .unwrap_or_default()
            .iter()
            .filter(|column| matches!(column.role, "dimension" | "time" | "tag" | "axis"))
            .map(|column| column.name.clone())
            .collect();
        Ok(Self { schema: table.schema(), ordered, identifying, source: Source::Table(table) })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// The columns that tell rows apart, where the format says so.
    pub(super) fn identifying_columns(&self) -> Option<Vec<String>> {
        (!self.identifying.is_empty()).then(|| self.identifying.clone())
    }

    /// The rows of these columns, in this order.
    pub(super) fn rows(&self, columns: &[String], driver: &Driver) -> Result<Batches> {
        match &self.source {
            Source::Table(table) => {
                let scan = Scan::all().columns(columns.iter().cloned());
                Ok(Box::new(tesselle_core::driver::scan(
                    &**table,
                    &scan,
                    driver,
                    tesselle_core::driver::Order::Plan,
                )?))
            }
            Source::Foreign(kind, location) => {
                let rows = kind.read(location)?;
                let indices: Vec<usize> =
                    columns.iter().filter_map(|name| rows.schema.index_of(name).ok()).collect();
                Ok(Box::new(rows.batches.map(move |batch| batch?.project(&indices).map_err(Error::from))))
            }
        }
    }
}
