//! Running a plan: tasks on the pool, batches out one by one.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use arrow_array::RecordBatch;
use bytes::Bytes;

use super::budget::Lease;
use super::{Driver, fetch};
use crate::error::{Error, Result};
use crate::stats::RunStats;
use crate::storage::Storage;
use crate::task::{Plan, Step, Task};

/// The order in which batches come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// That of the plan.
    #[default]
    Plan,
    /// As they are ready.
    Any,
}

/// Batches that wait per task; a task that is further ahead pauses.
const AHEAD: usize = 2;

/// The batches of a plan. Dropping it stops the work.
pub struct Batches {
    driver: Driver,
    storage: Arc<dyn Storage>,
    waiting: VecDeque<Box<dyn Task>>,
    running: VecDeque<Receiver<Message>>,
    most_running: usize,
    order: Order,
    // In the order `Any` all tasks share one channel.
    shared: Option<(SyncSender<Message>, Receiver<Message>, usize)>,
    failed: bool,
}

enum Message {
    Batch(RecordBatch),
    Failed(Error),
    Done,
}

impl Driver {
    /// Runs `plan`, fetching from `storage`.
    ///
    /// At most one task per thread is under way, fewer when the memory budget says so, so a task always has a
    /// thread to finish on and its consumer never waits for one that has not started.
    pub fn batches(&self, storage: Arc<dyn Storage>, plan: Plan, order: Order) -> Batches {
        let driver = self.clone();
        driver.counters.add(&plan.stats());
        driver.progress.expect(plan.tasks.iter().map(|task| task.cost().bytes_in).sum());
        let most_running = driver.threads();
        let shared = (order == Order::Any).then(|| {
            let (sender, receiver) = sync_channel(AHEAD * most_running);
            (sender, receiver, 0)
        });
        Batches {
            driver,
            storage,
            waiting: plan.tasks.into(),
            running: VecDeque::new(),
            most_running,
            order,
            shared,
            failed: false,
        }
    }
}

impl Batches {
    fn under_way(&self) -> usize {
        self.shared.as_ref().map_or(self.running.len(), |(_, _, n)| *n)
    }

    /// Starts tasks while threads and memory allow; always at least one.
    fn start_tasks(&mut self) {
        while self.under_way() < self.most_running {
            let Some(task) = self.waiting.front() else { return };
            let memory = task.cost().memory;
            let lease = match self.driver.budget.try_take(memory) {
                Some(lease) => lease,
                // Others are under way: their end frees memory.
                None if self.under_way() > 0 => return,
                // Somebody else holds the memory; one task may always run.
                None => self.driver.budget.take(memory),
            };
            let Some(task) = self.waiting.pop_front() else { return };
            let sender = if let Some((sender, _, n)) = &mut self.shared {
                *n += 1;
                sender.clone()
            } else {
                let (sender, receiver) = sync_channel(AHEAD);
                self.running.push_back(receiver);
                sender
            };
            let (driver, storage) = (self.driver.clone(), Arc::clone(&self.storage));
            self.driver.spawn(move || run(&driver, &*storage, task, lease, &sender));
        }
    }

    fn receive(&mut self) -> Option<Message> {
        match (&self.shared, self.order) {
            (Some((_, _, 0)), _) => None,
            (Some((_, receiver, _)), _) => receiver.recv().ok(),
            // A task that went away without a word has panicked: a defect of ours.
            _ => self.running.front().map(|r| {
                r.recv()
                    .unwrap_or_else(|_| Message::Failed(Error::internal("a task ended without an answer")))
            }),
        }
    }

    fn task_ended(&mut self) {
        match &mut self.shared {
            Some((_, _, n)) => *n -= 1,
            None => drop(self.running.pop_front()),
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        loop {
            self.start_tasks();
            match self.receive()? {
                Message::Batch(batch) => return Some(Ok(batch)),
                Message::Done => self.task_ended(),
                Message::Failed(error) => {
                    self.failed = true;
                    self.driver.cancel();
                    return Some(Err(error));
                }
            }
        }
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // Tasks notice by their channel, or before their next fetch.
        if self.under_way() > 0 {
            self.driver.cancel();
        }
    }
}

/// Steps one task to its end. A receiver that is gone ends it silently.
fn run(
    driver: &Driver,
    storage: &dyn Storage,
    mut task: Box<dyn Task>,
    lease: Lease,
    sender: &SyncSender<Message>,
) {
    let guarded = std::panic::AssertUnwindSafe(|| steps(driver, storage, &mut *task, sender));
    let end = match std::panic::catch_unwind(guarded) {
        Ok(Ok(())) => Message::Done,
        Ok(Err(error)) => Message::Failed(error),
        Err(_) => Message::Failed(Error::internal("a task panicked")),
    };
    drop(task);
    drop(lease);
    let _ = sender.send(end);
}

fn steps(
    driver: &Driver,
    storage: &dyn Storage,
    task: &mut dyn Task,
    sender: &SyncSender<Message>,
) -> Result<()> {
    driver.run_task(storage, task, &mut |batch| match sender.send(Message::Batch(batch)) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    })
}

impl Driver {
    /// Steps one task to its end on this thread, for callers that bring their own threads. `emit` takes each batch
    /// and may break the work off.
    pub fn run_task(
        &self,
        storage: &dyn Storage,
        task: &mut dyn Task,
        emit: &mut dyn FnMut(RecordBatch) -> ControlFlow<()>,
    ) -> Result<()> {
        let cost = task.cost();
        let mut fetched: Vec<Bytes> = Vec::new();
        loop {
            self.check_canceled()?;
            match task.step(std::mem::take(&mut fetched))? {
                Step::Need(ranges) => fetched = fetch(storage, &ranges, &self.counters)?,
                Step::Batch(batch) => {
                    self.counters.add(&RunStats {
                        bytes_decoded: batch.get_array_memory_size() as u64,
                        rows: batch.num_rows() as u64,
                        ..RunStats::default()
                    });
                    if emit(batch).is_break() {
                        return Ok(());
                    }
                }
                Step::Done => {
                    self.counters.add(&RunStats { read: cost.pieces, ..RunStats::default() });
                    self.progress.advance(cost.bytes_in);
                    return Ok(());
                }
            }
        }
    }
}
