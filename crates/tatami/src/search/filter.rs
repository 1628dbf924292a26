//! Predicates on stored columns.

use tesselle_core::driver::Order;
use tesselle_core::{Driver, Predicate, Result, Scan, Table};

use super::meta::LiveDocs;
use super::segment::Segment;
use crate::table::FileTable;

/// The live documents of a segment that match `predicate`; reads only its columns.
pub(crate) fn allowed(segment: &Segment, predicate: &Predicate, driver: &Driver) -> Result<LiveDocs> {
    let table = FileTable::new(segment.file().clone())?;
    let mut columns: Vec<&str> = predicate.columns().into_iter().collect();
    let schema = table.schema();
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
