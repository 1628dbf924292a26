//! The columns a scan decodes and returns.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use tesselle_core::{At, Predicate, Scan, Within};

use super::schema::{Column, Source};
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
    early: Option<Early>,
}

/// The part of a condition that equal coordinates answer alike: it can be applied before the newest cell is found.
#[derive(Debug)]
struct Early {
    predicate: Predicate,
    /// Positions in the columns of the projection.
    columns: Vec<usize>,
    schema: SchemaRef,
    /// Whether nothing else of the condition is left.
    is_all: bool,
}

impl Projection {
    pub(crate) fn try_new(array: &Array, scan: &Scan) -> Result<Self> {
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
        let predicate = scan.predicate.clone();
        // Both zeros are one coordinate, which conditions may tell apart.
        let exact = |name: &str| {
            let column = columns.iter().find(|column| column.name == name);
            column.is_some_and(|c| matches!(c.source, Source::Dimension(_)) && !c.datatype.is_float())
        };
        let conjuncts = predicate.as_ref().map(Predicate::conjuncts).unwrap_or_default();
        let all = conjuncts.len();
        let early: Vec<Predicate> = conjuncts
            .into_iter()
            .filter(|part| !part.has_custom() && part.columns().into_iter().all(exact))
            .cloned()
            .collect();
        let early = if early.is_empty() {
            None
        } else {
            let is_all = early.len() == all;
            let predicate = Predicate::And(early);
            let names = predicate.columns();
            let positions: Vec<usize> =
                (0..tested).filter(|i| columns.get(*i).is_some_and(|c| names.contains(&*c.name))).collect();
            let schema = fields(&mut positions.iter().copied())?;
            drop(names);
            Some(Early { predicate, columns: positions, schema, is_all })
        };
        Ok(Self { columns, tested, output, schema, tested_schema, predicate, early })
    }

    /// The columns, by position, of the part of the predicate that is applied to every cell before duplicates are
    /// dropped; `None` if there is none.
    pub(crate) fn early(&self) -> Option<&[usize]> {
        self.early.as_ref().map(|early| early.columns.as_slice())
    }

    /// Whether rows that passed early pass.
    pub(crate) fn is_decided_early(&self) -> bool {
        self.predicate.is_none() || self.early.as_ref().is_some_and(|early| early.is_all)
    }

    /// The rows that satisfy the early part, given the columns of [`Projection::early`]; `None` means all.
    pub(crate) fn passing_early(&self, tested: &[ArrayRef], rows: usize) -> Result<Option<Vec<u32>>> {
        match &self.early {
            Some(early) => passing(&early.predicate, &early.schema, tested, rows),
            None => Ok(None),
        }
    }

    /// The columns that the predicate needs.
    pub(crate) fn tested(&self) -> &[Column] {
        self.columns.within(..self.tested)
    }

    /// The rows that satisfy the predicate, given its columns; `None` means all.
    pub(crate) fn passing(&self, tested: &[ArrayRef], rows: usize) -> Result<Option<Vec<u32>>> {
        let Some(predicate) = &self.predicate else { return Ok(None) };
        passing(predicate, &self.tested_schema, tested, rows)
    }

    /// The batch of the decoded columns, in the order of `columns`.
    pub(crate) fn batch(&self, arrays: &[ArrayRef], rows: usize) -> Result<RecordBatch> {
        let chosen = self.output.iter().map(|i| arrays.at(*i).cloned()).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), chosen, &options)?)
    }
}

fn passing(
    predicate: &Predicate,
    schema: &SchemaRef,
    tested: &[ArrayRef],
    rows: usize,
) -> Result<Option<Vec<u32>>> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), tested.to_vec(), &options)?;
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
