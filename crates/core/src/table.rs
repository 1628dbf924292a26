//! A named table of a container.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::array::ArrayView;
use crate::error::{Error, Result};
use crate::facts::TableFacts;
use crate::label::Label;
use crate::predicate::Predicate;
use crate::scan::Scan;
use crate::stats::TableStats;
use crate::storage::Storage;
use crate::task::Plan;

/// How completely a table applies a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushdown {
    /// Its batches contain exactly the matching rows.
    Exact,
    /// It prunes, but its batches may contain other rows as well.
    Inexact,
    /// It ignores the predicate.
    None,
}

/// Rows and columns, read by planning.
pub trait Table: Send + Sync {
    /// The name inside the container; empty in a container of a single table.
    fn name(&self) -> &str;

    /// All columns. Fields carry the source type in their metadata under [`TYPE_KEY`].
    fn schema(&self) -> SchemaRef;

    /// The statistics known without reading data.
    fn stats(&self) -> TableStats;

    /// Like [`Table::stats`], and for these columns also statistics that require reading more metadata. No data is
    /// read.
    fn stats_of(&self, columns: &[&str]) -> TableStats {
        let _ = columns;
        self.stats()
    }

    /// The statistics of the rows where `predicate` is true, with those of these columns, from metadata only. `None` if
    /// data must be read for them: every piece must have only rows that match, or none.
    fn stats_where(&self, columns: &[&str], predicate: &Predicate) -> Option<TableStats> {
        let _ = (columns, predicate);
        None
    }

    /// Facts about the table besides the types of its columns, from metadata only. The default states nothing.
    fn facts(&self) -> Result<TableFacts> {
        Ok(TableFacts::default())
    }

    /// How completely [`Table::plan`] applies this predicate. The default: not at all.
    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        let _ = predicate;
        Pushdown::None
    }

    /// Plans the tasks of `scan`; no data is read.
    ///
    /// Batches contain the columns of `scan.columns`, in that order, and EVERY row that matches the predicate; other
    /// rows too, unless [`Table::pushdown`] returns `Exact`. The limit is a hint: tasks after it may be omitted.
    fn plan(&self, scan: &Scan) -> Result<Plan>;

    /// Whether [`Table::plan`] looks into so much metadata that it should run on the threads of a driver.
    fn plans_in_parallel(&self) -> bool {
        false
    }

    /// The storage that the ranges of the tasks refer to.
    fn storage(&self) -> Arc<dyn Storage>;

    /// The columns by which rows are sorted, ascending, nulls last; empty if rows are unordered.
    fn sort_columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// The array view of a column, if the table is a regular grid of cells of a fixed size: of numbers, or of the numbers
    /// that are stored for Booleans and times.
    fn array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        let _ = column;
        None
    }

    /// The array view of a column over the whole domain, if the rows are only a part of it; a selection may contain any
    /// coordinate of the domain.
    fn domain_array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        self.array(column)
    }

    /// The names of the labels of its columns.
    fn labels(&self) -> Vec<String> {
        Vec::new()
    }

    /// The label of this name, one of [`Table::labels`].
    fn label(&self, name: &str) -> Result<Label> {
        let labels = self.labels();
        Err(Error::unknown_name("label", name, labels.iter().map(String::as_str)))
    }

    /// The columns of numbers that have an array view.
    fn array_columns(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Field metadata: the source type as the format spells it.
pub const TYPE_KEY: &str = "tesselle:type";
