//! The one table of an array.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use tesselle_core::{
    ArrayView, ColumnStats, Context, Known, Label, OpenOptions, Plan, Predicate, Pushdown, Scan, Storage,
    Table, TableFacts, TableStats,
};

use crate::facts::facts;
use crate::group::leads_down;
use crate::meta::value::Bounds;
use crate::open::Array;
use crate::read::bounds::attribute_stats;
use crate::read::{covered, dense, sparse};
use crate::{Error, Result};

/// From this many fragments on, the metadata that a plan looks into is decoded on several threads.
const MANY_FRAGMENTS: usize = 64;

/// Dimensions and attributes as columns.
pub(crate) struct ArrayTable {
    array: Arc<Array>,
    schema: SchemaRef,
}

impl ArrayTable {
    pub(crate) fn new(array: Arc<Array>) -> Self {
        let fields: Vec<_> = array.columns.iter().map(|column| Arc::clone(&column.field)).collect();
        Self { array, schema: Arc::new(Schema::new(fields)) }
    }
}

impl Table for ArrayTable {
    fn name(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        let array = &self.array;
        let rows = match array.rows() {
            Some(rows) => Known::Exact(rows),
            None => Known::Bound(array.fragments.iter().map(|f| f.cells()).fold(0, u64::saturating_add)),
        };
        let bytes = array.fragments.iter().flat_map(|fragment| {
            let footer = &fragment.footer;
            footer.file_sizes.iter().chain(&footer.var_file_sizes).chain(&footer.validity_file_sizes)
        });
        let bytes = Known::Exact(bytes.fold(0_u64, |sum, size| sum.saturating_add(*size)));
        TableStats { rows, bytes, columns: dimension_stats(array) }
    }

    fn stats_of(&self, columns: &[&str]) -> TableStats {
        let mut stats = self.stats();
        for column in self.array.columns.iter().filter(|column| columns.contains(&column.name.as_str())) {
            // Unreadable statistics count as absent; reading rows reports the error.
            if self.array.schema.attribute(&column.name).is_some()
                && let Ok(known) = attribute_stats(&self.array, column)
            {
                stats.columns.insert(column.name.clone(), known);
            }
        }
        stats
    }

    fn stats_where(&self, columns: &[&str], predicate: &Predicate) -> Option<TableStats> {
        // Unreadable statistics count as absent; reading rows reports the error.
        covered::stats_where(&self.array, columns, predicate).ok().flatten()
    }

    fn facts(&self) -> Result<TableFacts> {
        facts(&self.array)
    }

    fn pushdown(&self, _predicate: &Predicate) -> Pushdown {
        Pushdown::Exact
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        if self.array.is_dense() {
            dense::plan(&self.array, &self.schema, scan)
        } else {
            sparse::plan(&self.array, scan)
        }
    }

    fn plans_in_parallel(&self) -> bool {
        !self.array.is_dense() && self.array.fragments.len() >= MANY_FRAGMENTS
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.array.root.storage())
    }

    fn sort_columns(&self) -> Vec<String> {
        // Dense rows are row-major regardless of tile and cell order; sparse rows are unordered.
        let dimensions = self.array.schema.dimensions.iter().filter(|_| self.array.is_dense());
        dimensions.map(|dimension| dimension.name.clone()).collect()
    }

    fn array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        // A column without a view, or an unreadable fragment, has no array view; reading rows reports the error.
        let view = dense::DenseView::try_new(&self.array, column, false).ok().flatten()?;
        Some(Arc::new(view))
    }

    fn domain_array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        let view = dense::DenseView::try_new(&self.array, column, true).ok().flatten()?;
        Some(Arc::new(view))
    }

    fn labels(&self) -> Vec<String> {
        self.array.schema.labels.iter().map(|label| label.name.clone()).collect()
    }

    fn label(&self, name: &str) -> Result<Label> {
        let labels = &self.array.schema.labels;
        let unknown = || Error::unknown_name("label", name, labels.iter().map(|label| label.name.as_str()));
        let label = labels.iter().find(|label| label.name == name).ok_or_else(unknown)?;
        if !label.relative || !leads_down(&label.uri) {
            return Err(Error::unsupported(format!("the array of label '{name}' is outside this array")));
        }
        let column = self.array.schema.dimensions.get(label.dimension as usize);
        let column = column.ok_or_else(|| Error::corrupt(format!("label '{name}' has no dimension")))?;
        let options = OpenOptions::default()
            .with_between((*self.array.range.start(), *self.array.range.end()))
            .with_key(self.array.secret.clone())
            .with_limits(self.array.limits.clone());
        let named = Array::open(&self.array.root.join(&label.uri), &options).in_file(&label.uri)?;
        let position = named.schema.dimensions.first().map(|dimension| dimension.name.clone());
        Ok(Label {
            column: column.name.clone(),
            position: position.ok_or_else(|| Error::corrupt("the array of a label has no dimension"))?,
            value: label.attribute.clone(),
            table: Arc::new(Self::new(Arc::new(named))),
        })
    }

    fn array_columns(&self) -> Vec<String> {
        let columns = self.array.columns.iter().filter(|column| dense::DenseView::suits(&self.array, column));
        columns.map(|column| column.name.clone()).collect()
    }
}

/// The bounds of the dimensions: exact for dense arrays and for sparse arrays whose cells are all read, else inexact.
fn dimension_stats(array: &Array) -> BTreeMap<String, ColumnStats> {
    let mut out = BTreeMap::new();
    let all_cells = array.rows().is_some();
    let ends: Option<Vec<Bounds>> = if array.is_dense() {
        let grid = array.schema.grid().ok();
        grid.and_then(|grid| Some(grid.ranges_of(&array.row_box(&grid).ok()??)))
    } else {
        array.non_empty_domain()
    };
    for (dim, range) in array.schema.dimensions.iter().zip(ends.unwrap_or_default()) {
        // A NaN is no coordinate to rely on.
        let tight = array.is_dense() || (all_cells && !dim.datatype.is_float());
        let (min, max) = if tight {
            (Known::Exact(range.low), Known::Exact(range.high))
        } else {
            (Known::Bound(range.low), Known::Bound(range.high))
        };
        out.insert(
            dim.name.clone(),
            ColumnStats { min, max, nulls: Known::Exact(0), ..ColumnStats::default() },
        );
    }
    out
}
