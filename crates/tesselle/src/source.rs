//! Where rows come from: a table of a container, or a foreign file. What converts, compares or indexes reads here.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use serde_json::{Map, Value};
use tesselle_core::driver::{Order, scan};
use tesselle_core::{
    ArrayView, Container, Context, Description, Driver, Error, Location, OpenOptions, Result, Scan, Table,
};

use crate::convert::About;
use crate::foreign::grid::{self, GridColumn, GridTable};
use crate::foreign::parquet::ParquetTable;
use crate::foreign::zarr::Hierarchy;
use crate::foreign::{Foreign, ipc, npy};
use crate::layout::{LAYOUT_KEY, Layout};
use crate::uri::Uri;

/// How to open a source.
#[derive(Debug, Clone, Default)]
pub struct SourceOptions {
    /// The format; `None` looks at the content.
    pub format: Option<String>,
    /// The table; `None` takes what the uri names, else the only one. `*` is all of them, where they form one table.
    pub table: Option<String>,
    /// The types of columns, for files that do not state them: CSV and JSON lines.
    pub types: Vec<(String, DataType)>,
    /// How to open a container.
    pub open: OpenOptions,
}

/// One table, wherever it is.
pub struct Source {
    kind: Kind,
    schema: SchemaRef,
    format: &'static str,
    location: Location,
    /// What a file without a description of its own says about itself.
    attributes: Map<String, Value>,
    /// The axes of arrays that are not in a container.
    grid: Layout,
    description: OnceLock<Option<Description>>,
}

enum Kind {
    Table {
        table: Arc<dyn Table>,
        container: Option<Arc<dyn Container>>,
    },
    /// An Arrow file, which is read front to back.
    Stream,
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
        Self::open_with(
            uri,
            &SourceOptions {
                format: format.map(str::to_owned),
                table: table.map(str::to_owned),
                types: Vec::new(),
                open: options.clone(),
            },
        )
    }

    /// Opens what `uri` names.
    pub fn open_with(uri: &str, options: &SourceOptions) -> Result<Self> {
        let location = Uri::parse(uri)?.location;
        let foreign = match options.format.as_deref() {
            Some(name) => Foreign::from_name(name),
            None => Foreign::detect(&location)?,
        };
        let mut attributes = Map::new();
        let mut layout = Layout::default();
        let (kind, format) = match foreign {
            Some(Foreign::Npy) => {
                let array = Arc::new(npy::NpyArray::open(&location).in_file(location.path())?);
                let column = GridColumn { name: "value".into(), array, is_bool: false };
                let table = GridTable::new("", vec![column], Arc::clone(location.storage()))?;
                layout = grid::layout(&table);
                (Kind::Table { table: Arc::new(table), container: None }, "npy")
            }
            Some(Foreign::Parquet) => {
                let table = Arc::new(ParquetTable::open(&location)?);
                (Kind::Table { table, container: None }, "parquet")
            }
            Some(Foreign::Zarr) => {
                let named = options.table.clone().or(Uri::parse(uri)?.table);
                let hierarchy = Hierarchy::open(&location).in_file(location.path())?;
                let table = arrays(&hierarchy, named.as_deref(), &location)?;
                layout = grid::layout(&table);
                attributes = hierarchy.attributes(named.as_deref());
                (Kind::Table { table: Arc::new(table), container: None }, "zarr")
            }
            Some(text @ (Foreign::Csv | Foreign::Jsonl)) => {
                let table = text.text_table(std::slice::from_ref(&location), &options.types)?;
                let table = table.ok_or_else(|| Error::internal("a text file is no table"))?;
                (Kind::Table { table, container: None }, text.name())
            }
            Some(Foreign::Arrow) => (Kind::Stream, "arrow"),
            None => {
                let mut opened = crate::open(uri, options.format.as_deref(), &options.open)?;
                opened.table = options.table.clone().or(opened.table);
                let table = match (opened.table.as_deref(), opened.format.name()) {
                    (None | Some("*"), "tet") => match wide(&*opened.container, &location)? {
                        Some(table) => table,
                        None => opened.table()?,
                    },
                    _ => opened.table()?,
                };
                (Kind::Table { table, container: Some(opened.container) }, opened.format.name())
            }
        };
        if !options.types.is_empty() && !matches!(format, "csv" | "jsonl") {
            return Err(Error::invalid(format!("a file of the format {format} states its types itself"))
                .hint("change them with --cast instead"));
        }
        let schema = match &kind {
            Kind::Table { table, .. } => table.schema(),
            Kind::Stream => ipc::schema(&location).in_file(location.path())?,
        };
        Ok(Self { kind, schema, format, location, attributes, grid: layout, description: OnceLock::new() })
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The format it is in.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// The name of the table inside its container, where it has one.
    pub fn table_name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Table { table, .. } => Some(table.name()).filter(|name| !name.is_empty()),
            Kind::Stream => None,
        }
    }

    /// The table itself, where the source is one: a table of a container, Parquet, npy, Zarr.
    pub fn table(&self) -> Option<Arc<dyn Table>> {
        match &self.kind {
            Kind::Table { table, .. } => Some(Arc::clone(table)),
            Kind::Stream => None,
        }
    }

    /// How many rows there are, where that is known without reading.
    pub fn row_count(&self) -> Option<u64> {
        match &self.kind {
            Kind::Table { table, .. } => table.stats().rows.exact().copied(),
            Kind::Stream => None,
        }
    }

    /// The array face, where the source is just one array: its axes and one column.
    pub fn array(&self) -> Option<Arc<dyn ArrayView>> {
        let Kind::Table { table, .. } = &self.kind else { return None };
        let names = table.array_columns();
        let [only] = names.as_slice() else { return None };
        let array = table.array(only)?;
        let values = self.schema.fields().len().checked_sub(array.shape().len());
        (values == Some(1)).then_some(array)
    }

    /// The array that is all of one column, where `request` asks for nothing but that.
    pub(crate) fn requested_array(&self, request: &Scan) -> Option<Arc<dyn ArrayView>> {
        if *request == Scan::all() {
            return self.array();
        }
        let Scan { columns: Some(columns), predicate: None, selection: None, limit: None, .. } = request
        else {
            return None;
        };
        let [column] = columns.as_slice() else { return None };
        let Kind::Table { table, .. } = &self.kind else { return None };
        table.array_columns().contains(column).then(|| table.array(column))?
    }

    /// The name of the only column that is not an axis, where it has one of its own.
    pub(crate) fn array_name(&self) -> Option<String> {
        let Kind::Table { table, .. } = &self.kind else { return None };
        let names = table.array_columns();
        names.first().filter(|name| *name != "value" && names.len() == 1).cloned()
    }

    /// The columns by which rows come sorted; empty where there is no such order.
    pub fn sort_columns(&self) -> Vec<String> {
        match &self.kind {
            Kind::Table { table, .. } => {
                let own = table.sort_columns();
                if own.is_empty() && self.format == "tsfile" && table.name() != "*" {
                    // A device's rows come by time.
                    let layout = self.layout();
                    let times = layout.named(&["time", "tag"]);
                    return if times == ["time"] { vec!["time".to_owned()] } else { Vec::new() };
                }
                own
            }
            Kind::Stream => Vec::new(),
        }
    }

    /// Whether rows come in an order that means something. Those of a sparse array come as its fragments hold them,
    /// those of a table of series device by device.
    pub fn is_ordered(&self) -> Result<bool> {
        let layout = self.layout();
        let by_device = || !layout.named(&["tag"]).is_empty();
        Ok(match self.format {
            "tiledb" => layout.kind.as_deref() != Some("sparse"),
            "tsfile" => !by_device(),
            _ => true,
        })
    }

    /// The columns that tell rows apart, where the source says so.
    pub fn identifying_columns(&self) -> Result<Option<Vec<String>>> {
        let layout = self.layout();
        let names: Vec<String> = layout
            .named(&["dimension", "time", "tag", "axis", "sort_key"])
            .into_iter()
            .filter(|name| self.schema.index_of(name).is_ok())
            .map(str::to_owned)
            .collect();
        Ok((!names.is_empty()).then_some(names))
    }

    fn description(&self) -> Option<&Description> {
        let Kind::Table { container: Some(container), .. } = &self.kind else { return None };
        self.description.get_or_init(|| container.describe().ok()).as_ref()
    }

    /// What the columns are for, as the source says or as it was noted when the file was made.
    pub(crate) fn layout(&self) -> Layout {
        if let Some(note) = self.schema.metadata().get(LAYOUT_KEY) {
            return Layout::from_text(note);
        }
        let Some(description) = self.description() else { return self.grid.clone() };
        let pairs = description.metadata.as_array().into_iter().flatten();
        if let Some(note) = pairs.filter(|pair| pair[0] == LAYOUT_KEY).find_map(|pair| pair[1].as_str()) {
            return Layout::from_text(note);
        }
        let table = self.table_name().unwrap_or_default();
        let table = match &self.kind {
            // All datasets of a tensor file: the grid is that of the first.
            Kind::Table { table: wide, .. } if wide.name() == "*" && self.format == "tet" => {
                description.tables.first().map_or("", |t| t.name.as_str())
            }
            _ => table,
        };
        Layout::of(description, table)
    }

    /// What the source says about itself.
    pub(crate) fn about(&self) -> About {
        match self.description() {
            Some(description) => About::of(description, self.table_name().unwrap_or_default()),
            None if self.format == "zarr" => About::of_attributes(&self.attributes),
            None => About::of_schema(self.schema.metadata()),
        }
    }

    /// The rows that `request` asks for.
    pub fn rows(&self, request: &Scan, driver: &Driver) -> Result<RowStream> {
        if let Kind::Table { table, .. } = &self.kind {
            let rows = scan(&**table, request, driver, Order::Plan)?;
            return Ok(RowStream { schema: rows.schema(), batches: Box::new(rows) });
        }
        if request.selection.is_some() {
            return Err(
                Error::invalid("slices apply to arrays, and this is none").hint("use --where instead")
            );
        }
        let indices = request.column_indices(&self.schema)?;
        let tested = request.predicate.iter().flat_map(|predicate| predicate.columns());
        Scan::all().columns(tested).column_indices(&self.schema)?;
        let schema = Arc::new(self.schema.project(&indices)?);
        let (predicate, mut left) = (request.predicate.clone(), request.limit);
        let read = ipc::read(&self.location).in_file(self.location.path())?;
        let (progress, path) = (Arc::clone(driver.progress()), self.location.path().to_owned());
        progress.expect(self.location.size()?);
        let mut told = 0;
        let mut batches = read.batches;
        let batches = std::iter::from_fn(move || {
            if left == Some(0) {
                return None;
            }
            let batch = batches.next()?;
            let now = read.consumed.load(Ordering::Relaxed);
            progress.advance(now.saturating_sub(told));
            told = now;
            let batch = batch.map_err(|error| error.file(&path)).and_then(|batch| {
                let batch = match &predicate {
                    Some(predicate) => predicate.filter(&batch)?,
                    None => batch,
                };
                Ok(batch.project(&indices)?)
            });
            Some(batch.map(|batch| match &mut left {
                Some(left) => {
                    let rows = (batch.num_rows() as u64).min(*left);
                    *left -= rows;
                    batch.slice(0, rows as usize)
                }
                None => batch,
            }))
        });
        Ok(RowStream { schema, batches: Box::new(batches) })
    }
}

/// An array of a hierarchy as a table; all of them, where they have one shape and none is named.
fn arrays(hierarchy: &Hierarchy, named: Option<&str>, location: &Location) -> Result<GridTable> {
    let known = || hierarchy.arrays.iter().map(|(name, _)| name.as_str());
    let storage = Arc::clone(location.storage());
    let column = |name: &str, array: &Arc<crate::foreign::zarr::ZarrArray>| GridColumn {
        name: name.to_owned(),
        array: Arc::clone(array) as Arc<dyn ArrayView>,
        is_bool: array.is_bool(),
    };
    if let Some(name) = named.filter(|name| *name != "*") {
        let found = hierarchy.arrays.iter().find(|(known, _)| known == name);
        let (_, array) = found.ok_or_else(|| Error::unknown_name("array", name, known()))?;
        return GridTable::new(name, vec![column("value", array)], storage);
    }
    if let [(name, array)] = hierarchy.arrays.as_slice() {
        return GridTable::new(name, vec![column("value", array)], storage);
    }
    let columns = hierarchy.arrays.iter().map(|(name, array)| column(name, array)).collect();
    GridTable::new("*", columns, storage).map_err(|error| {
        let names: Vec<&str> = known().take(8).collect();
        Error::invalid(format!(
            "there are {} arrays of different shapes in it; name one",
            hierarchy.arrays.len()
        ))
        .hint(format!("add --table NAME or #NAME: {}", names.join(", ")))
        .source(error)
    })
}

/// All datasets of a tensor file as one table, where there are several and they have one shape.
fn wide(container: &dyn Container, location: &Location) -> Result<Option<Arc<dyn Table>>> {
    let names = container.table_names();
    if names.len() < 2 {
        return Ok(None);
    }
    let mut columns = Vec::new();
    for name in &names {
        let table = container.table(name)?;
        let own = table.array_columns();
        let [value] = own.as_slice() else { return Ok(None) };
        let Some(array) = table.array(value) else { return Ok(None) };
        columns.push(GridColumn { name: name.clone(), array, is_bool: false });
    }
    let first = columns.first().map(|column| column.array.shape().to_vec()).unwrap_or_default();
    let one_shape = columns.iter().all(|column| column.array.shape() == first);
    let distinct = names.iter().collect::<std::collections::HashSet<_>>().len() == names.len();
    if !one_shape || !distinct {
        return Ok(None);
    }
    Ok(Some(Arc::new(GridTable::new("*", columns, Arc::clone(location.storage()))?)))
}
