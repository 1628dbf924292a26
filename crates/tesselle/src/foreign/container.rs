//! A single-table file of another format as a container.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tesselle_core::driver::{Order, scan};
use tesselle_core::{
    ColumnDescription, Container, Depth, Description, Driver, Error, ErrorKind, Extent, FileLayout,
    LayoutMap, Location, Report, Result, Role, Scan, TYPE_KEY, Table, TableDescription, type_name,
};

/// One file, one table.
pub(super) struct FileContainer {
    format: &'static str,
    version: String,
    location: Location,
    table: Arc<dyn Table>,
    /// Bytes before the data.
    header: u64,
}

impl FileContainer {
    pub(super) fn new(
        format: &'static str,
        version: impl Into<String>,
        location: &Location,
        table: Arc<dyn Table>,
    ) -> Self {
        Self { format, version: version.into(), location: location.clone(), table, header: 0 }
    }

    #[cfg(any(feature = "parquet", feature = "zarr"))]
    /// Adds a header of this many bytes to the byte map.
    pub(super) fn with_header(mut self, bytes: u64) -> Self {
        self.header = bytes;
        self
    }
}

impl Container for FileContainer {
    fn describe(&self) -> Result<Description> {
        let mut description = Description::new(self.format, self.version.as_str());
        let facts = self.table.facts()?;
        let attributes = facts.attributes.into_iter().map(|attribute| (attribute.name, attribute.value));
        description.metadata = attributes.collect();
        description.tables.push(describe(&*self.table)?);
        Ok(description)
    }

    fn table_names(&self) -> Vec<String> {
        vec![self.table.name().to_owned()]
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        if name != self.table.name() {
            return Err(Error::unknown_name("table", name, [""])
                .replace_hint(format!("a file of the format {} has a single, unnamed table", self.format)));
        }
        Ok(Arc::clone(&self.table))
    }

    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Value>> {
        pieces(&*self.table, limit)
    }

    fn chunk_count(&self) -> Option<u64> {
        piece_count(&*self.table)
    }

    fn layout(&self) -> Result<LayoutMap> {
        let size = self.location.size()?;
        let header = self.header.min(size);
        let mut extents = Vec::new();
        if header > 0 {
            extents.push(Extent::new(0..header, Role::Header, "header"));
        }
        extents.push(Extent::new(header..size, Role::Data, format!("{} data", self.format)));
        extents.retain(|extent| !extent.range.is_empty());
        Ok(LayoutMap { files: vec![FileLayout { file: self.location.name().to_owned(), size, extents }] })
    }

    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
        check_rows(&*self.table, depth, driver, report)
    }
}

/// Describes a table by its schema, statistics and facts.
pub(super) fn describe(table: &dyn Table) -> Result<TableDescription> {
    let facts = table.facts()?;
    let schema = table.schema();
    let columns = schema.fields().iter().map(|field| ColumnDescription {
        name: field.name().clone(),
        kind: field.metadata().get(TYPE_KEY).cloned().unwrap_or_else(|| type_name(field.data_type())),
        role: facts.role(field.name()),
        nullable: field.is_nullable(),
        extra: Map::new(),
    });
    let mut extra = Map::new();
    if let Some(grid) = facts.grid.as_ref().filter(|grid| !grid.is_empty) {
        extra.extend(grid.shape().map(|shape| ("shape".to_owned(), json!(shape))));
        extra.extend(grid.tiles().map(|tiles| ("chunk_shape".to_owned(), json!(tiles))));
    }
    let (name, rows) = (table.name().to_owned(), table.stats().rows.exact().copied());
    Ok(TableDescription { name, rows, columns: columns.collect(), extra })
}

/// The tasks of a full scan: the units that are read and decoded.
pub(super) fn pieces(table: &dyn Table, limit: Option<usize>) -> Result<Vec<Value>> {
    let plan = table.plan(&Scan::all())?;
    let tasks = plan.tasks.iter().take(limit.unwrap_or(usize::MAX)).enumerate();
    let piece =
        |number: usize, bytes: u64| json!({ "table": table.name(), "piece": number, "stored_bytes": bytes });
    Ok(tasks.map(|(number, task)| piece(number, task.cost().bytes_in)).collect())
}

/// How many [`pieces`] a table has.
pub(super) fn piece_count(table: &dyn Table) -> Option<u64> {
    Some(table.plan(&Scan::all()).ok()?.tasks.len() as u64)
}

/// Decodes every row, unless only the structure is checked.
pub(super) fn check_rows(
    table: &dyn Table,
    depth: Depth,
    driver: &Driver,
    report: &mut Report,
) -> Result<()> {
    if depth == Depth::Quick {
        return Ok(());
    }
    report.pieces += table.plan(&Scan::all())?.pieces;
    for batch in scan(table, &Scan::all(), driver, Order::Plan)?.into_batches() {
        match batch {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => {
                report.error(error.class_name(), &error);
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
