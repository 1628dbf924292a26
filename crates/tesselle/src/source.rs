//! Where rows come from: a table of a container, or a foreign file. What converts, compares or indexes reads here.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tesselle_core::driver::{Order, scan};
use tesselle_core::{
    ArrayView, Container, Context, Driver, Error, Location, OpenOptions, Result, Scan, Table,
};

use crate::foreign::{Foreign, npy};
use crate::uri::Uri;

/// One table, wherever it is.
pub struct Source {
    kind: Kind,
    schema: SchemaRef,
}

enum Kind {
    Table { table: Arc<dyn Table>, container: Arc<dyn Container> },
    Npy { array: Arc<npy::NpyArray>, location: Location },
    Foreign { kind: Foreign, location: Location },
}

/// A stream of batches of one schema.
pub struct RowStream {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Box<dyn Iterator<Item = Result<RecordBatch>>>,
}

impl Source {
    /// Opens what `uri` names. `format` overrides the look at its content, `table` the fragment.
    pub fn open(uri: &str, format: Option<&str>, table: Option<&str>, options: &OpenOptions) -> Result<Self> {
        let location = Uri::parse(uri)?.location;
        let foreign = match format {
            Some(name) => Foreign::from_name(name),
            None => Foreign::detect(&location)?,
        };
        let kind = match foreign {
            Some(Foreign::Npy) => {
                let array = Arc::new(npy::NpyArray::open(&location).in_file(location.path())?);
                Kind::Npy { array, location }
            }
            Some(kind) => Kind::Foreign { kind, location },
            None => {
                let mut opened = crate::open(uri, format, options)?;
                opened.table = table.map(str::to_owned).or(opened.table);
                Kind::Table { table: opened.table()?, container: opened.container }
            }
        };
        let schema = match &kind {
            Kind::Table { table, .. } => table.schema(),
            Kind::Npy { location, .. } => Foreign::Npy.read(location)?.schema,
            Kind::Foreign { kind, location } => kind.read(location)?.schema,
        };
        Ok(Self { kind, schema })
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The name of the table inside its container, where it has one.
    pub fn table_name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Table { table, .. } => Some(table.name()).filter(|name| !name.is_empty()),
            _ => None,
        }
    }

    /// The array face, where the source is just one array.
    pub fn array(&self) -> Option<Arc<dyn ArrayView>> {
        match &self.kind {
            Kind::Table { table, .. } => match table.array_columns().as_slice() {
                [only] => table.array(only),
                _ => None,
            },
            Kind::Npy { array, .. } => Some(Arc::clone(array) as Arc<dyn ArrayView>),
            Kind::Foreign { .. } => None,
        }
    }

    /// Whether rows come in an order that means something.
    pub fn is_ordered(&self) -> Result<bool> {
        match &self.kind {
            Kind::Table { container, .. } => {
                Ok(container.describe()?.extra.get("kind").and_then(|kind| kind.as_str()) != Some("sparse"))
            }
            _ => Ok(true),
        }
    }

    /// The columns that tell rows apart, where the format says so.
    pub fn identifying_columns(&self) -> Result<Option<Vec<String>>> {
        let Kind::Table { table, container } = &self.kind else { return Ok(None) };
        let description = container.describe()?;
        let columns =
            description.tables.iter().find(|t| t.name == table.name()).map(|t| t.columns.as_slice());
        let names: Vec<String> = columns
            .unwrap_or_default()
            .iter()
            .filter(|column| matches!(column.role, "dimension" | "time" | "tag" | "axis"))
            .map(|column| column.name.clone())
            .collect();
        Ok((!names.is_empty()).then_some(names))
    }

    /// The rows that `request` asks for.
    pub fn rows(&self, request: &Scan, driver: &Driver) -> Result<RowStream> {
        let foreign = match &self.kind {
            Kind::Table { table, .. } => {
                let rows = scan(&**table, request, driver, Order::Plan)?;
                return Ok(RowStream { schema: rows.schema(), batches: Box::new(rows) });
            }
            Kind::Npy { location, .. } => Foreign::Npy.read(location)?,
            Kind::Foreign { kind, location } => kind.read(location)?,
        };
        if request.predicate.is_some() || request.selection.is_some() || request.limit.is_some() {
            return Err(Error::invalid(
                "conditions, slices and limits apply to containers, not to this kind of source",
            )
            .hint("convert the whole file first"));
        }
        let Some(names) = &request.columns else {
            return Ok(RowStream { schema: foreign.schema, batches: foreign.batches });
        };
        let known = || foreign.schema.fields().iter().map(|field| field.name().as_str());
        let indices = names
            .iter()
            .map(|name| {
                foreign.schema.index_of(name).map_err(|_| Error::unknown_name("column", name, known()))
            })
            .collect::<Result<Vec<usize>>>()?;
        let schema = Arc::new(foreign.schema.project(&indices)?);
        let batches = foreign.batches.map(move |batch| batch?.project(&indices).map_err(Error::from));
        Ok(RowStream { schema, batches: Box::new(batches) })
    }
}
