//! The table face of a dataset: axis columns, then `value`, row-major.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use tesselle_core::array::narrow;
use tesselle_core::{
    ArrayView, Attribute, AttributeScope, ColumnRole, ColumnStats, GridAxis, Known, Plan, Predicate,
    Pushdown, Region, Result, Scan, Storage, Table, TableFacts, TableStats,
};

use super::array::Array;
use super::axes::{self, VALUE};
use super::opened::Opened;
use super::plan;
use crate::NAME;
use crate::meta::index::DatasetRows;
use crate::notes::Notes;

/// One dataset as rows and columns.
pub(crate) struct TetTable {
    pub(crate) opened: Arc<Opened>,
    pub(crate) id: usize,
    pub(crate) array: Arc<Array>,
    pub(crate) names: Vec<String>,
    pub(crate) schema: SchemaRef,
}

impl TetTable {
    pub(crate) fn new(opened: &Arc<Opened>, id: usize) -> Result<Self> {
        let array = Array::new(opened, id)?;
        let names = array.axis_names().to_vec();
        let schema = axes::schema(array.grid(), &names);
        Ok(Self { opened: Arc::clone(opened), id, array: Arc::new(array), names, schema })
    }

    pub(crate) fn rows(&self) -> Option<&DatasetRows> {
        self.opened.catalog.index.datasets.get(self.id)
    }
}

impl Table for TetTable {
    fn name(&self) -> &str {
        self.opened.name(self.id)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        let grid = self.array.grid();
        let axes = self.names.iter().zip(&grid.shape).filter(|(_, extent)| **extent > 0 && grid.cells > 0);
        let mut columns: BTreeMap<String, ColumnStats> = axes
            .map(|(name, extent)| {
                let stats = ColumnStats {
                    min: Known::Exact(0_u64.into()),
                    max: Known::Exact((extent - 1).into()),
                    nulls: Known::Exact(0),
                    ..ColumnStats::default()
                };
                (name.clone(), stats)
            })
            .collect();
        columns.insert(VALUE.to_owned(), ColumnStats { nulls: Known::Exact(0), ..ColumnStats::default() });
        let bytes = self.rows().map_or(0, |rows| rows.stored_bytes);
        TableStats { rows: Known::Exact(grid.cells), bytes: Known::Exact(bytes), columns }
    }

    fn stats_of(&self, columns: &[&str]) -> TableStats {
        let mut stats = self.stats();
        if columns.contains(&VALUE) {
            stats.columns.insert(VALUE.to_owned(), self.array.stats());
        }
        stats
    }

    fn facts(&self) -> Result<TableFacts> {
        let grid = self.array.grid();
        let axes = self.names.iter().zip(&grid.shape).zip(self.array.tile_shape());
        let axes = axes.map(|((name, extent), tile)| GridAxis::positions(name, *extent, *tile)).collect();
        let mut facts = TableFacts::of_grid(axes);
        facts.roles.push((VALUE.to_owned(), ColumnRole::Value));
        facts.format = NAME;
        facts.table = Some(self.name().to_owned());
        let own = self.opened.catalog.metadata_of(self.name());
        let attribute = |(name, value): (&String, &String)| Attribute {
            scope: AttributeScope::Table,
            ..Attribute::new(name, value.as_str())
        };
        facts.attributes = own.iter().flat_map(|own| &own.attrs).map(attribute).collect();
        facts.native = Some(Notes::of(&self.opened.catalog).native(self.name()));
        Ok(facts)
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        let mut region = Region::whole(&self.array.grid().shape);
        if narrow(predicate, &self.names, &mut region) { Pushdown::Exact } else { Pushdown::Inexact }
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        plan::plan(self, scan)
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.opened.location.storage())
    }

    fn sort_columns(&self) -> Vec<String> {
        self.names.clone()
    }

    fn array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        (column == VALUE).then(|| Arc::clone(&self.array) as Arc<dyn ArrayView>)
    }

    fn array_columns(&self) -> Vec<String> {
        vec![VALUE.to_owned()]
    }
}
