//! Predicates on stored columns.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use tesselle_core::driver::Order;
use tesselle_core::{Driver, Predicate, Result, Scan, TYPE_KEY, Table};

use super::meta::LiveDocs;
use super::segment::Segment;
use crate::table::FileTable;

/// The live documents of a segment that match `predicate`; reads only its columns.
pub(crate) fn allowed(segment: &Segment, predicate: &Predicate, driver: &Driver) -> Result<LiveDocs> {
    let table = FileTable::try_new(segment.file().clone())?;
    let schema = table.schema();
    let predicate = &predicate.bind(&schema)?;
    let mut columns: Vec<&str> = predicate.columns().into_iter().collect();
    if columns.is_empty() {
        // Expand a constant to one value per row.
        columns.extend(schema.fields().first().map(|field| field.name().as_str()));
    }
    let scan = Scan::all().columns(columns);
    let plan = table.plan(&scan)?;
    let mut allowed = LiveDocs::all(segment.docs());
    let mut row = 0u32;
    for batch in driver.for_run().batches(table.storage(), plan, Order::Plan) {
        let batch = batch?;
        let batch = if predicate.has_custom() { with_strings(&batch)? } else { batch };
        let mask = predicate.evaluate(&batch)?;
        for i in 0..mask.len() {
            let holds = mask.value(i) && !arrow_array::Array::is_null(&mask, i);
            if !holds {
                allowed.delete(row);
            }
            row += 1;
        }
    }
    if let Some(live) = segment.live() {
        allowed.intersect(live);
    }
    Ok(allowed)
}

/// Segments are read with their strings as bytes, but SQL conditions need strings. Values that are not UTF-8 become null.
fn with_strings(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.schema_ref().fields().iter().zip(batch.columns()).map(|(field, column)| {
        let is_string = field.metadata().get(TYPE_KEY).is_some_and(|own| own == "string");
        let column = match column.data_type() {
            DataType::Binary if is_string => arrow_cast::cast(column, &DataType::Utf8)?,
            _ => Arc::clone(column),
        };
        Ok((field.name().clone(), column, true))
    });
    Ok(RecordBatch::try_from_iter_with_nullable(columns.collect::<Result<Vec<_>>>()?)?)
}
