//! Answering a scan completely: what a table leaves of the request is done here, once for all formats.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::Driver;
use super::batches::{Batches, Order};
use crate::error::Result;
use crate::scan::{Remainder, Scan};
use crate::stats::RunStats;
use crate::table::{Pushdown, Table};

/// Runs `scan` over `table`: exactly the rows and columns asked for.
pub fn scan(table: &dyn Table, scan: &Scan, driver: &Driver, order: Order) -> Result<Rows> {
    let schema = table.schema();
    let scan = &scan.bind(&schema)?;
    let wanted = Arc::new(schema.project(&scan.column_indices(&schema)?)?);
    let residual = scan.predicate.clone().filter(|p| table.pushdown(p) != Pushdown::Exact);
    let mut inner = scan.clone();
    let mut columns: Vec<String> = wanted.fields().iter().map(|f| f.name().clone()).collect();
    if let Some(predicate) = &scan.predicate {
        let tested = predicate.columns();
        Scan::all().columns(tested.iter().copied()).column_indices(&schema)?;
        for name in tested {
            if residual.is_some() && !columns.iter().any(|c| c == name) {
                columns.push(name.to_owned());
            }
        }
    }
    inner.columns = Some(columns);
    if residual.is_some() {
        inner.limit = None;
    }
    let run = driver.for_run();
    let plan = table.plan(&inner)?;
    let batches = run.batches(table.storage(), plan, order);
    Ok(Rows { batches, rest: Remainder::new(wanted, residual, scan.limit), driver: run })
}

/// The answer of a scan, batch by batch.
pub struct Rows {
    batches: Batches,
    rest: Remainder,
    driver: Driver,
}

impl Rows {
    /// The columns of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.rest.schema())
    }

    /// What the run has cost so far.
    pub fn stats(&self) -> RunStats {
        self.driver.counters().snapshot()
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_done() {
            match self.batches.next()?.and_then(|batch| self.rest.apply(&batch)) {
                Ok(batch) if batch.num_rows() == 0 => {}
                other => return Some(other),
            }
        }
        None
    }
}
