//! The table over a grid: the axes, then a column for each array, in row-major order.
//!
//! ```text
//!  scan -> narrow axes -> prune tiles by bounds -> bands -> tasks: tested columns, predicate, other columns
//! ```

mod bands;
mod grid;
mod plan;
mod task;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
pub use grid::{AxisColumn, Coordinates, Grid};
use values::ArrayValues;
pub use values::{GridValues, PartCost, ValuesRead, ValuesStep};

use super::ArrayView;
use crate::error::{Error, Result};
use crate::facts::{ColumnRole, GridAxis, TableFacts};
use crate::predicate::Predicate;
use crate::scan::Scan;
use crate::selection::Region;
use crate::stats::{ColumnStats, Known, TableStats};
use crate::storage::Storage;
use crate::table::{Pushdown, TYPE_KEY, Table};
use crate::task::Plan;

/// One array of the table.
#[derive(Clone)]
pub struct GridColumn {
    /// The name of its column.
    pub name: String,
    /// Its cells.
    pub array: Arc<dyn ArrayView>,
    /// Whether its bytes are Booleans.
    pub is_bool: bool,
}

impl GridColumn {
    /// The only array of a table, as a column of this name; `None` if the table is not a single array.
    pub fn of(table: &dyn Table, name: &str) -> Option<Self> {
        let facts = table.facts().ok()?;
        let values = facts.named(&[ColumnRole::Value]);
        let [value] = values.as_slice() else { return None };
        let is_bool = *table.schema().field_with_name(value).ok()?.data_type() == DataType::Boolean;
        Some(Self { name: name.to_owned(), array: table.array(value)?, is_bool })
    }
}

/// A table over arrays of one shape.
pub struct GridTable {
    name: String,
    grid: Arc<Grid>,
    columns: Vec<GridColumn>,
    storage: Arc<dyn Storage>,
    stored: Known<u64>,
    facts: TableFacts,
}

impl GridTable {
    /// Creates a table. The arrays must have one shape; the axes are those of the first.
    pub fn try_new(name: &str, columns: Vec<GridColumn>, storage: Arc<dyn Storage>) -> Result<Self> {
        let first = columns.first().ok_or_else(|| Error::invalid("there is no array to read"))?;
        let (shape, mut axes) = (first.array.shape().to_vec(), first.array.axis_names().to_vec());
        if columns.iter().any(|column| column.array.shape() != shape) {
            return Err(Error::invalid("the arrays have different shapes and do not form one table")
                .hint("select one of them"));
        }
        for (i, axis) in axes.iter_mut().enumerate() {
            if columns.iter().any(|column| column.name == *axis) || axis.is_empty() {
                *axis = format!("i{i}");
            }
        }
        let typed = |field: Field, source: &str| {
            field.with_metadata([(TYPE_KEY.to_owned(), source.to_owned())].into())
        };
        let mut fields: Vec<Field> =
            axes.iter().map(|axis| typed(Field::new(axis, DataType::Int64, false), "axis")).collect();
        for column in &columns {
            let (kind, source) = if column.is_bool {
                (DataType::Boolean, "bool")
            } else {
                (column.array.dtype().arrow(), column.array.dtype().name())
            };
            fields.push(typed(Field::new(&column.name, kind, false), source));
        }
        let tiles = axes.iter().zip(&shape).zip(first.array.tile_shape());
        let tiles = tiles.map(|((name, extent), tile)| GridAxis::positions(name, *extent, *tile));
        let mut facts = TableFacts::of_grid(tiles.collect());
        facts.roles.extend(columns.iter().map(|column| (column.name.clone(), ColumnRole::Value)));
        let grid = Grid {
            axes: vec![AxisColumn::positions(); axes.len()],
            rows: Region::whole(&shape),
            tile_shape: first.array.tile_shape().to_vec(),
            shape,
            schema: Arc::new(Schema::new(fields)),
        };
        Ok(Self {
            name: name.to_owned(),
            grid: Arc::new(grid),
            columns,
            storage,
            stored: Known::Absent,
            facts,
        })
    }

    /// With metadata of the schema.
    #[must_use]
    pub fn with_metadata(mut self, metadata: HashMap<String, String>) -> Self {
        if let Some(grid) = Arc::get_mut(&mut self.grid) {
            grid.schema = Arc::new(Schema::clone(&grid.schema).with_metadata(metadata));
        }
        self
    }

    /// With the number of stored bytes.
    #[must_use]
    pub fn with_stored_bytes(mut self, bytes: u64) -> Self {
        self.stored = Known::Exact(bytes);
        self
    }

    /// The facts of the table, for callers that know more than its grid.
    pub fn facts_mut(&mut self) -> &mut TableFacts {
        &mut self.facts
    }
}

impl Table for GridTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.grid.schema)
    }

    fn stats(&self) -> TableStats {
        let cells = Region::whole(&self.grid.shape).cells();
        let unnulled = || ColumnStats { nulls: Known::Exact(0), ..ColumnStats::default() };
        let axes = self.grid.axis_names().zip(&self.grid.shape).filter(|_| cells != Some(0));
        let axes = axes.map(|(name, extent)| {
            let (min, max) = (Known::Exact(0_u64.into()), Known::Exact((extent - 1).into()));
            (name.to_owned(), ColumnStats { min, max, ..unnulled() })
        });
        let values = self.columns.iter().map(|column| (column.name.clone(), unnulled()));
        TableStats {
            rows: cells.map_or(Known::Absent, Known::Exact),
            bytes: self.stored.clone(),
            columns: axes.chain(values).collect(),
        }
    }

    fn stats_of(&self, columns: &[&str]) -> TableStats {
        let mut stats = self.stats();
        // Bounds of bytes are not bounds of Booleans.
        let wanted = self.columns.iter().filter(|c| !c.is_bool && columns.contains(&c.name.as_str()));
        stats.columns.extend(wanted.map(|column| (column.name.clone(), column.array.stats())));
        stats
    }

    fn facts(&self) -> Result<TableFacts> {
        Ok(self.facts.clone())
    }

    fn pushdown(&self, _predicate: &Predicate) -> Pushdown {
        Pushdown::Exact
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        self.grid.plan(scan, |column, _| {
            let column = column.checked_sub(self.grid.axes.len()).and_then(|at| self.columns.get(at));
            let column = column.ok_or_else(|| Error::internal("a column is not in the table"))?;
            Ok(Arc::new(ArrayValues { array: Arc::clone(&column.array), is_bool: column.is_bool }))
        })
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.storage)
    }

    fn sort_columns(&self) -> Vec<String> {
        self.grid.axis_names().map(str::to_owned).collect()
    }

    fn array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        let found = self.columns.iter().find(|c| c.name == column);
        found.map(|column| Arc::clone(&column.array))
    }

    fn array_columns(&self) -> Vec<String> {
        self.columns.iter().filter(|c| !c.is_bool).map(|column| column.name.clone()).collect()
    }
}
