//! One partition of a scan: tasks one after the other, batches out.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use futures::Stream;
use tesselle::core::{Cost, Remainder, Storage, Task};
use tesselle::driver::Lease;
use tesselle::{Driver, RunStats};

use super::Request;
use crate::error::external;

/// Batches pending between a fetching thread and its consumer.
const AHEAD: usize = 2;

/// The tasks of a partition and what is done with their batches.
pub(super) struct Partition {
    driver: Driver,
    storage: Arc<dyn Storage>,
    request: Arc<Request>,
    waiting: VecDeque<Box<dyn Task>>,
    running: Option<Running>,
    rest: Remainder,
    counted: RunStats,
    counts: Counts,
}

struct Running {
    task: Box<dyn Task>,
    cost: Cost,
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
        tasks: Vec<Box<dyn Task>>,
        counts: Counts,
    ) -> Self {
        driver.progress().expect(tasks.iter().map(|task| task.cost().bytes_in).sum());
        Self {
            driver: driver.for_run(),
            storage,
            waiting: tasks.into(),
            running: None,
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

    fn advance(&mut self) -> Result<Step> {
        if self.rest.is_done() {
            return Ok(Step::End);
        }
        if self.running.is_none() {
            let Some(task) = self.waiting.pop_front() else { return Ok(Step::End) };
            let cost = task.cost();
            // A partition that waited for memory here could block the one that will free it. There are no more partitions
            // than the budget allows, so it is safe to continue without a lease.
            let lease = self.driver.budget().try_take(cost.memory);
            self.running = Some(Running { task, cost, _lease: lease });
        }
        let Some(running) = &mut self.running else { return Ok(Step::End) };
        let next =
            self.driver.next_batch(&*self.storage, &mut *running.task, running.cost).map_err(external)?;
        let Some(batch) = next else {
            self.driver.progress().advance(running.cost.bytes_in);
            self.running = None;
            return Ok(Step::Nothing);
        };
        let batch = self.rest.apply(&batch).map_err(external)?;
        Ok(if batch.num_rows() == 0 { Step::Nothing } else { Step::Batch(batch) })
    }
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
