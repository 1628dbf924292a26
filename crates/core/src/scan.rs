//! A read request, as plain data.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::predicate::Predicate;
use crate::selection::Selection;
use crate::setters;

/// A read request to a table. The default reads everything.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Scan {
    /// Columns by name, in output order; `None` is all.
    pub columns: Option<Vec<String>>,
    /// Only rows where this is true.
    pub predicate: Option<Predicate>,
    /// Only this part of the grid; an error for tables without a grid.
    pub selection: Option<Selection>,
    /// At most this many rows.
    pub limit: Option<u64>,
    /// Rows per batch, if the table can choose; `None` is the table's default.
    pub batch_rows: Option<usize>,
}

setters! { Scan {
    with_columns => columns: impl Into<Option<Vec<String>>>,
    with_predicate => predicate: impl Into<Option<Predicate>>,
    with_selection => selection: impl Into<Option<Selection>>,
    with_limit => limit: impl Into<Option<u64>>,
    with_batch_rows => batch_rows: impl Into<Option<usize>>,
} }

impl Scan {
    /// Everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// Keeps only these columns.
    #[must_use]
    pub fn columns<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Keeps only rows where `predicate` is true.
    #[must_use]
    pub fn filter(mut self, predicate: Predicate) -> Self {
        self.predicate = Some(predicate);
        self
    }

    /// Keeps only this part of the grid.
    #[must_use]
    pub fn select(mut self, selection: Selection) -> Self {
        self.selection = Some(selection);
        self
    }

    /// The positions of the requested columns in `schema`, in output order.
    pub fn column_indices(&self, schema: &Schema) -> Result<Vec<usize>> {
        let known = || schema.fields().iter().map(|field| field.name().as_str());
        match &self.columns {
            None => Ok((0..schema.fields().len()).collect()),
            Some(names) => names
                .iter()
                .map(|name| schema.index_of(name).map_err(|_| Error::unknown_name("column", name, known())))
                .collect(),
        }
    }

    /// The scan for a table of this schema, see [`Predicate::bind`] and [`Selection::bind`].
    pub fn bind(&self, schema: &Schema) -> Result<Self> {
        let predicate = self.predicate.as_ref().map(|predicate| predicate.bind(schema)).transpose()?;
        let selection = self.selection.as_ref().map(|selection| selection.bind(schema)).transpose()?;
        Ok(Self { predicate, selection, ..self.clone() })
    }

    /// Keeps at most `rows` rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }
}

/// The parts of a scan that a table does not apply: a filter, columns that only the filter needs, and the limit.
#[derive(Debug, Clone)]
pub struct Remainder {
    schema: SchemaRef,
    predicate: Option<Predicate>,
    left: Option<u64>,
}

impl Remainder {
    /// Batches start with the columns of `schema`; the columns after them serve `predicate` only.
    pub fn new(schema: SchemaRef, predicate: Option<Predicate>, limit: Option<u64>) -> Self {
        Self { schema, predicate, left: limit }
    }

    /// The columns of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether only the first rows are requested.
    pub(crate) fn has_limit(&self) -> bool {
        self.left.is_some()
    }

    /// Whether the limit is reached.
    pub fn is_done(&self) -> bool {
        self.left == Some(0)
    }

    /// Filters, projects and cuts a batch.
    pub fn apply(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let filtered = match &self.predicate {
            Some(predicate) => predicate.filter(batch)?,
            None => batch.clone(),
        };
        let rows = match &mut self.left {
            Some(left) => {
                let rows = (filtered.num_rows() as u64).min(*left);
                *left -= rows;
                rows as usize
            }
            None => filtered.num_rows(),
        };
        let cut = filtered.slice(0, rows);
        let columns = cut.columns().iter().take(self.schema.fields().len()).cloned().collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}
