//! One partition of a scan: tasks one after the other, batches out.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use datafusion::arrow::compute::{concat_batches, take};
use datafusion::common::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use futures::Stream;
use tesselle::core::{Cost, Remainder, Storage, Task};
use tesselle::driver::Lease;
use tesselle::{Driver, Error, Predicate, RunStats};

use super::Request;
use super::work::Share;
use crate::compact::compact;
use crate::error::external;

/// Batches pending between a fetching thread and its consumer.
const AHEAD: usize = 2;

/// Returns the tasks of a partition, when it starts.
type Start = Box<dyn FnOnce() -> tesselle::Result<Share> + Send>;

/// The tasks of a partition and what is done with their batches.
pub(super) struct Partition {
    driver: Driver,
    storage: Arc<dyn Storage>,
    request: Arc<Request>,
    start: Option<Start>,
    waiting: VecDeque<Box<dyn Task>>,
    running: Option<Running>,
    rest: Remainder,
    /// Filters of other operators that the table does not apply.
    condition: Option<Predicate>,
    /// Batches of few rows, until they are worth passing on.
    few: Vec<RecordBatch>,
    /// A batch of more rows than the operators work on at once, as far as it is not passed on.
    ready: Option<RecordBatch>,
    size: BatchSize,
    counted: RunStats,
    counts: Counts,
}

/// The batches that operators work on.
#[derive(Clone, Copy)]
pub(super) struct BatchSize {
    pub(super) rows: usize,
    /// Parts of a batch of more bytes are copies. A slice counts with all of its buffers, and an operator with little memory
    /// would have none for the second one.
    pub(super) shared: usize,
}

struct Running {
    task: Box<dyn Task>,
    /// What is left of its cost.
    left: Cost,
    _lease: Option<Lease>,
}

/// The result of one step of a partition.
enum Step {
    Batch(RecordBatch),
    /// A task ended without a batch; others may follow.
    Nothing,
    End,
}

impl Partition {
    pub(super) fn new(
        driver: &Driver,
        storage: Arc<dyn Storage>,
        request: Arc<Request>,
        start: Start,
        size: BatchSize,
        counts: Counts,
    ) -> Self {
        Self {
            driver: driver.for_run(),
            storage,
            start: Some(start),
            condition: None,
            few: Vec::new(),
            waiting: VecDeque::new(),
            running: None,
            ready: None,
            size,
            rest: Remainder::new(Arc::clone(&request.schema), request.residual.clone(), request.limit),
            request,
            counted: RunStats::default(),
            counts,
        }
    }

    /// Local files are mapped, so a partition decodes where it is polled and its batches are still in the cache when
    /// they are consumed. A store with latency gets a thread that may block.
    pub(super) fn stream(self) -> SendableRecordBatchStream {
        if self.storage.hints().concurrency <= 1 {
            return Box::pin(self);
        }
        let mut builder = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.request.schema), AHEAD);
        let sender = builder.tx();
        let mut partition = self;
        builder.spawn_blocking(move || {
            while !sender.is_closed() {
                match partition.step()? {
                    Step::Batch(batch) => {
                        // A consumer that was dropped needs no more batches.
                        if sender.blocking_send(Ok(batch)).is_err() {
                            break;
                        }
                    }
                    Step::Nothing => {}
                    Step::End => break,
                }
            }
            Ok(())
        });
        builder.build()
    }

    fn step(&mut self) -> Result<Step> {
        let clock = self.counts.baseline.elapsed_compute().clone();
        let timer = clock.timer();
        let step = self.advance();
        timer.done();
        let now = self.driver.counters().snapshot();
        self.counts.add(&self.counted, &now);
        self.counted = now;
        if let Ok(Step::Batch(batch)) = &step {
            let _ = batch.record_output(&self.counts.baseline);
        }
        step
    }

    /// The next rows of the batch that is ready.
    fn part(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.ready.take() else { return Ok(None) };
        let BatchSize { rows: most, shared } = self.size;
        let rows = batch.num_rows();
        let is_shared = batch.get_array_memory_size() <= shared;
        let part = batch.slice(0, rows.min(most));
        if rows > most {
            self.ready = Some(batch.slice(most, rows - most));
        }
        Ok(Some(if is_shared { part } else { copied(&part)? }))
    }

    fn advance(&mut self) -> Result<Step> {
        if let Some(part) = self.part()? {
            return Ok(Step::Batch(part));
        }
        if self.rest.is_done() {
            return Ok(Step::End);
        }
        if let Some(start) = self.start.take() {
            let share = start().map_err(external)?;
            self.driver.progress().expect(share.tasks.iter().map(|task| task.cost().bytes_in).sum());
            self.waiting = share.tasks.into();
            self.condition = share.condition;
        }
        if self.running.is_none() {
            let Some(task) = self.waiting.pop_front() else { return Ok(Step::End) };
            let cost = task.cost();
            // A partition that waited for memory here could block the one that will free it. There are no more partitions
            // than the budget allows, so it is safe to continue without a lease.
            let lease = self.driver.budget().try_take(cost.memory);
            self.running = Some(Running { task, left: cost, _lease: lease });
        }
        let Some(running) = &mut self.running else { return Ok(Step::End) };
        let next = self
            .driver
            .next_batch(&*self.storage, &mut *running.task, &mut running.left)
            .map_err(external)?;
        let Some(batch) = next else {
            self.running = None;
            // A query that needs only a few rows does not wait for another task.
            return Ok(self.gathered()?.map_or(Step::Nothing, Step::Batch));
        };
        let batch = self.rest.apply(&batch).map_err(external)?;
        let batch = match &self.condition {
            Some(condition) => condition.filter(&batch).map_err(external)?,
            None => batch,
        };
        self.collect(batch)?;
        Ok(self.part()?.map_or(Step::Nothing, Step::Batch))
    }

    /// Makes a batch ready, together with those before it that were too small. Operators have a cost per batch.
    fn collect(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        // The first rows are wanted as soon as they are there.
        let is_enough = |rows: usize| rows >= self.size.rows / 2 || self.request.limit.is_some();
        if self.few.is_empty() && is_enough(batch.num_rows()) {
            self.ready = Some(batch);
            return Ok(());
        }
        self.few.push(batch);
        if is_enough(self.few.iter().map(RecordBatch::num_rows).sum()) {
            self.ready = self.gathered()?;
        }
        Ok(())
    }

    /// The small batches together.
    fn gathered(&mut self) -> Result<Option<RecordBatch>> {
        let few = std::mem::take(&mut self.few);
        Ok(if few.is_empty() { None } else { Some(concat_batches(&self.request.schema, &few)?) })
    }
}

/// The rows in buffers of their own.
fn copied(batch: &RecordBatch) -> Result<RecordBatch> {
    let rows = u32::try_from(batch.num_rows()).map_err(|_| Error::internal("a batch has too many rows"));
    let rows = UInt32Array::from_iter_values(0..rows.map_err(external)?);
    let columns = batch.columns().iter().map(|column| take(column, &rows, None));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    compact(&RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

impl Stream for Partition {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.step() {
            Ok(Step::Batch(batch)) => Poll::Ready(Some(Ok(batch))),
            // A canceled query must be able to stop between tasks.
            Ok(Step::Nothing) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Ok(Step::End) => Poll::Ready(None),
            Err(error) => {
                self.waiting.clear();
                self.ready = None;
                self.running = None;
                Poll::Ready(Some(Err(error)))
            }
        }
    }
}

impl RecordBatchStream for Partition {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.request.schema)
    }
}

/// The counters of EXPLAIN ANALYZE.
pub(super) struct Counts {
    baseline: BaselineMetrics,
    pieces: Count,
    requests: Count,
    bytes: Count,
    decoded: Count,
}

impl Counts {
    pub(super) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            baseline: BaselineMetrics::new(metrics, partition),
            pieces: counter("chunks_read"),
            requests: counter("requests"),
            bytes: counter("bytes_fetched"),
            decoded: counter("bytes_decoded"),
        }
    }

    fn add(&self, before: &RunStats, now: &RunStats) {
        self.pieces.add((now.read - before.read) as usize);
        self.requests.add((now.requests - before.requests) as usize);
        self.bytes.add((now.bytes_fetched - before.bytes_fetched) as usize);
        self.decoded.add((now.bytes_decoded - before.bytes_decoded) as usize);
    }
}
