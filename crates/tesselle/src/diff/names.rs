//! Columns of arrays that have other names on each side.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use tesselle_core::Result;

use super::DiffOptions;
use crate::open::DatasetTable;

/// Names of the right side that stand for other names on the left. Files without names for axes and values get generated
/// ones (`i0`, `value`), which match any name in the same place.
pub(super) struct Names {
    /// The name on the left, and the one on the right.
    pairs: Vec<(String, String)>,
}

impl Names {
    pub(super) fn of(left: &DatasetTable, right: &DatasetTable) -> Self {
        let (Some(a), Some(b)) = (left.array(), right.array()) else { return Self { pairs: Vec::new() } };
        let (left, right) = (left.schema(), right.schema());
        let axes = a.shape().len();
        let is_generated =
            |at: usize, name: &str| if at < axes { name == format!("i{at}") } else { name == "value" };
        let same_rank = axes == b.shape().len();
        let pairs = left.fields().iter().zip(right.fields()).enumerate().filter(|(at, (one, other))| {
            let (one, other) = (one.name(), other.name());
            let is_free = left.index_of(other).is_err() && right.index_of(one).is_err();
            same_rank && is_free && (is_generated(*at, one) || is_generated(*at, other))
        });
        Self { pairs: pairs.map(|(_, (one, other))| (one.name().clone(), other.name().clone())).collect() }
    }

    /// The name on the left of a column of the right side.
    pub(super) fn on_left<'a>(&'a self, name: &'a str) -> &'a str {
        self.pairs.iter().find(|(_, right)| right == name).map_or(name, |(left, _)| left.as_str())
    }

    /// The name on the right of a column of the left side.
    pub(super) fn on_right<'a>(&'a self, name: &'a str) -> &'a str {
        self.pairs.iter().find(|(left, _)| left == name).map_or(name, |(_, right)| right.as_str())
    }

    /// A schema of the right side with the names of the left one.
    pub(super) fn schema(&self, right: &SchemaRef) -> SchemaRef {
        if self.pairs.is_empty() {
            return Arc::clone(right);
        }
        let renamed = |field: &Arc<Field>| field.as_ref().clone().with_name(self.on_left(field.name()));
        let fields: Vec<Field> = right.fields().iter().map(renamed).collect();
        Arc::new(Schema::new_with_metadata(fields, right.metadata().clone()))
    }

    /// Rows of the right side with the names of the left one.
    pub(super) fn rows(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if self.pairs.is_empty() {
            return Ok(batch);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        Ok(RecordBatch::try_new_with_options(self.schema(&batch.schema()), columns, &options)?)
    }

    /// Options that name columns by either side, in the names of the left one.
    pub(super) fn options(&self, options: &DiffOptions) -> DiffOptions {
        let renamed = |names: &Vec<String>| names.iter().map(|name| self.on_left(name).to_owned()).collect();
        DiffOptions {
            key: options.key.as_ref().map(renamed),
            columns: options.columns.as_ref().map(renamed),
            ..options.clone()
        }
    }
}
