//! Answering a scan completely: what a table leaves of the request is done here, once for all formats.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::batches::{Batches, Order};
use super::{CancelToken, Driver};
use crate::error::Result;
use crate::scan::{Remainder, Scan};
use crate::stats::RunStats;
use crate::table::{Pushdown, Table};

/// Runs `scan` over `table`: exactly the rows and columns asked for.
pub fn scan(table: &dyn Table, scan: &Scan, driver: &Driver, order: Order) -> Result<Rows> {
    let schema = table.schema();
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

/// The rows of a scan, batch by batch: a [`RecordBatchReader`], so that they go wherever Arrow goes. An error of this library comes
/// inside an [`ArrowError`] and turns back into itself by `?` or [`Error::from`](crate::Error::from).
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

    /// What stops the run.
    pub fn cancel_token(&self) -> &CancelToken {
        self.driver.cancel_token()
    }

    /// Returns the next batch, or has `context` woken when it is worth asking again: for asynchronous callers. The work goes on
    /// on the threads of the driver, and no thread waits.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        while !self.rest.is_done() {
            let Some(batch) = ready!(self.batches.poll_next(context)) else { return Poll::Ready(None) };
            match batch.and_then(|batch| self.rest.apply(&batch)) {
                Ok(batch) if batch.num_rows() == 0 => {}
                other => return Poll::Ready(Some(other)),
            }
        }
        Poll::Ready(None)
    }

    /// Reads all batches.
    pub fn read_all(self) -> Result<Vec<RecordBatch>> {
        self.into_batches().collect()
    }

    /// The batches with errors of this library, rather than Arrow's.
    pub fn into_batches(self) -> impl Iterator<Item = Result<RecordBatch>> + Send {
        self.map(|batch| Ok(batch?))
    }

    /// What the run has cost so far.
    pub fn stats(&self) -> RunStats {
        self.driver.counters().snapshot()
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_done() {
            match self.batches.next()?.and_then(|batch| self.rest.apply(&batch)) {
                Ok(batch) if batch.num_rows() == 0 => {}
                other => return Some(other.map_err(ArrowError::from)),
            }
        }
        None
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        Self::schema(self)
    }
}
