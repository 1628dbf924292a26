//! The columns a scan decodes and returns.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use tesselle_core::{At, Predicate, Scan, Within};

use super::schema::Column;
use crate::Result;
use crate::open::Array;

/// The columns of a scan: those the predicate needs first, then the others.
#[derive(Debug)]
pub(crate) struct Projection {
    /// All columns to decode.
    pub(crate) columns: Vec<Column>,
    /// How many of them the predicate needs; they come first.
    pub(crate) tested: usize,
    /// Positions in `columns` of the output.
    output: Vec<usize>,
    schema: SchemaRef,
    tested_schema: SchemaRef,
    /// The condition that rows must satisfy.
    pub(crate) predicate: Option<Predicate>,
}

impl Projection {
    pub(crate) fn new(array: &Array, scan: &Scan) -> Result<Self> {
        let mut columns: Vec<Column> = Vec::new();
        if let Some(predicate) = &scan.predicate {
            for name in predicate.columns() {
                columns.push(array.column(name)?.clone());
            }
        }
        let tested = columns.len();
        let names: Vec<&str> = match &scan.columns {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => array.columns.iter().map(|column| column.name.as_str()).collect(),
        };
        let mut output = Vec::with_capacity(names.len());
        for name in names {
            let at = columns.iter().position(|column| column.name == name);
            output.push(at.unwrap_or(columns.len()));
            if at.is_none() {
                columns.push(array.column(name)?.clone());
            }
        }
        let fields = |positions: &mut dyn Iterator<Item = usize>| -> Result<SchemaRef> {
            let fields: Vec<_> =
                positions.map(|i| Ok(Arc::clone(&columns.at(i)?.field))).collect::<Result<_>>()?;
            Ok(Arc::new(Schema::new(fields)))
        };
        let schema = fields(&mut output.iter().copied())?;
        let tested_schema = fields(&mut (0..tested))?;
        Ok(Self { columns, tested, output, schema, tested_schema, predicate: scan.predicate.clone() })
    }

    /// The columns that the predicate needs.
    pub(crate) fn tested(&self) -> &[Column] {
        self.columns.within(..self.tested)
    }

    /// The rows that satisfy the predicate, given its columns; `None` means all.
    pub(crate) fn passing(&self, tested: &[ArrayRef], rows: usize) -> Result<Option<Vec<u32>>> {
        let Some(predicate) = &self.predicate else { return Ok(None) };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&self.tested_schema), tested.to_vec(), &options)?;
        let mask = predicate.evaluate(&batch)?;
        let values = match mask.nulls() {
            Some(nulls) => mask.values() & nulls.inner(),
            None => mask.values().clone(),
        };
        if values.count_set_bits() == rows {
            return Ok(None);
        }
        Ok(Some(values.set_indices().map(|i| i as u32).collect()))
    }

    /// The batch of the decoded columns, in the order of `columns`.
    pub(crate) fn batch(&self, arrays: &[ArrayRef], rows: usize) -> Result<RecordBatch> {
        let chosen = self.output.iter().map(|i| arrays.at(*i).cloned()).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), chosen, &options)?)
    }
}
