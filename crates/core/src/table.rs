//! A named table of a container.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::array::ArrayView;
use crate::error::Result;
use crate::facts::TableFacts;
use crate::predicate::Predicate;
use crate::scan::Scan;
use crate::stats::TableStats;
use crate::storage::Storage;
use crate::task::Plan;

/// How well a table answers a predicate by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushdown {
    /// Its batches hold exactly the matching rows.
    Exact,
    /// It skips pieces, but its batches may hold other rows as well.
    Inexact,
    /// It ignores the predicate.
    None,
}

/// Rows and columns, read by planning.
pub trait Table: Send + Sync {
    /// The name inside the container; empty where a container has just one.
    fn name(&self) -> &str;

    /// All columns. Fields carry the source type in their metadata under [`TYPE_KEY`].
    fn schema(&self) -> SchemaRef;

    /// What is known without reading data.
    fn stats(&self) -> TableStats;

    /// Like [`Table::stats`], and of these columns also what takes reading more metadata. No data is read.
    fn stats_of(&self, columns: &[&str]) -> TableStats {
        let _ = columns;
        self.stats()
    }

    /// What the table is beyond the types of its columns, from metadata alone. The default states nothing.
    fn facts(&self) -> Result<TableFacts> {
        Ok(TableFacts::default())
    }

    /// How well [`Table::plan`] answers this predicate.
    fn pushdown(&self, predicate: &Predicate) -> Pushdown;

    /// The tasks that answer `scan`; no data is read.
    ///
    /// Batches hold the columns of `scan.columns`, in that order, and EVERY row that matches the predicate; other
    /// rows too, unless [`Table::pushdown`] says `Exact`. The limit is a hint: tasks beyond it may be left out.
    fn plan(&self, scan: &Scan) -> Result<Plan>;

    /// Where the ranges of the tasks are fetched from.
    fn storage(&self) -> Arc<dyn Storage>;

    /// The columns by which rows come sorted, ascending, nulls last; empty where there is no such order.
    fn sort_columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// The array face of a column, where the table is a regular grid of fixed-size numbers.
    fn array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        let _ = column;
        None
    }

    /// The array face of a column over the whole domain, where the rows are only a part of it; a selection may name any
    /// coordinate of it.
    fn domain_array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        self.array(column)
    }

    /// The columns that have an array face.
    fn array_columns(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Field metadata: the source type as the format spells it.
pub const TYPE_KEY: &str = "tesselle:type";
