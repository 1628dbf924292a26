//! Complete execution of a scan: applies the parts of the request that a table does not, once for all formats.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::batches::{Batches, Order};
use super::{CancelToken, Driver};
use crate::error::{Error, Result};
use crate::scan::{Remainder, Scan};
use crate::stats::RunStats;
use crate::table::{Pushdown, Table};
use crate::task::Plan;

/// Runs `scan` over `table` and returns exactly the requested rows and columns.
pub fn scan(table: &dyn Table, scan: &Scan, driver: &Driver, order: Order) -> Result<Rows> {
    let prepared = if table.plans_in_parallel() {
        driver.install(|| prepare(table, scan))?
    } else {
        prepare(table, scan)?
    };
    Ok(run(table, prepared, driver, order))
}

/// Runs the part of `scan` that [`split`] cut out, in the table's order. A table that has other tasks than when it was
/// split is refused.
pub fn scan_part(table: &dyn Table, scan: &Scan, part: &Part, driver: &Driver) -> Result<Rows> {
    let mut prepared = prepare(table, scan)?;
    let tasks = &mut prepared.plan.tasks;
    if tasks.len() != part.of || part.end > part.of {
        return Err(Error::invalid("the data has changed since the scan was split").hint("split it again"));
    }
    tasks.truncate(part.end);
    tasks.drain(..part.start.min(part.end));
    Ok(run(table, prepared, driver, Order::Plan))
}

/// Cuts `scan` into at most `parts` runs of consecutive tasks, of about equal cost. Together they give all rows, once.
pub fn split(table: &dyn Table, scan: &Scan, parts: usize) -> Result<Vec<Part>> {
    if scan.limit.is_some() {
        return Err(Error::invalid(
            "a scan with a limit cannot be split: its parts do not know of each other",
        ));
    }
    let plan = prepare(table, scan)?.plan;
    let of = plan.tasks.len();
    let runs = plan.runs(parts.max(1));
    Ok(runs.into_iter().map(|run| Part { start: run.start, end: run.end, of }).collect())
}

/// The plan of `scan`: its tasks, without running any.
pub fn plan(table: &dyn Table, scan: &Scan) -> Result<Plan> {
    Ok(prepare(table, scan)?.plan)
}

/// A part of a scan: a run of the tasks of its plan. Plans are deterministic, so this selects the same rows everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Part {
    /// The first task.
    pub start: usize,
    /// The task after the last.
    pub end: usize,
    /// How many tasks the plan has.
    pub of: usize,
}

/// The request to a table, and the work it leaves.
struct Prepared {
    plan: Plan,
    rest: Remainder,
}

fn prepare(table: &dyn Table, scan: &Scan) -> Result<Prepared> {
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
    let plan = table.plan(&inner)?;
    Ok(Prepared { plan, rest: Remainder::new(wanted, residual, scan.limit) })
}

fn run(table: &dyn Table, prepared: Prepared, driver: &Driver, order: Order) -> Rows {
    let run = driver.for_run();
    let batches = run.batches(table.storage(), prepared.plan, order);
    Rows { batches, rest: prepared.rest, driver: run }
}

/// The rows of a scan, batch by batch, as a [`RecordBatchReader`]. An error of this library is wrapped in an [`ArrowError`];
/// `?` and [`Error::from`](crate::Error::from) unwrap it.
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

    /// The token that stops the run.
    pub fn cancel_token(&self) -> &CancelToken {
        self.driver.cancel_token()
    }

    /// Polls for the next batch, for asynchronous callers. The work continues on the threads of the driver, and no thread
    /// waits.
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
        if self.rest.has_limit() {
            // The first rows count, so batches are taken in order.
            return self.into_batches().collect();
        }
        let Self { batches, mut rest, .. } = self;
        batches.gather(|batch| {
            let batch = rest.apply(&batch)?;
            Ok((batch.num_rows() > 0).then_some(batch))
        })
    }

    /// The batches with errors of this library, rather than Arrow's.
    pub fn into_batches(self) -> impl Iterator<Item = Result<RecordBatch>> + Send {
        self.map(|batch| Ok(batch?))
    }

    /// The cost of the run so far.
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
