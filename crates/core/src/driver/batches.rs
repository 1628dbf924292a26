//! Running a plan: tasks run on the pool, and batches are returned one by one.
//!
//! A task never blocks a thread while it waits for its consumer: when enough of its batches are pending, it is put
//! aside, and it continues when they are taken. So any number of runs can be open on one pool, read by any consumers in
//! any order.
//!
//! Why no run waits forever, for any budget, number of threads and interleaving of consumers:
//!
//! 1. No run waits for memory. A lease is granted or not. A run without a started task starts one even without a lease;
//!    a run with a started task does not need another lease to continue.
//! 2. Tasks wait for threads only in the pool's queue. A task on a thread steps until it pauses or ends; it takes no
//!    lock that is held across a step, and does not wait for a consumer. So everything in the queue gets its turn.
//! 3. A consumer waits only for a task that is on a thread or in the queue: a paused task has pending batches, which
//!    are returned first, and continues at the latest when the last but one of them is taken; an ended task is removed.
//! 4. A consumer on a thread of the pool works on the queue while it waits, so it may be the only thread.
//! 5. Cancellation wakes every consumer, regardless of the state of its tasks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use arrow_array::RecordBatch;
use bytes::Bytes;

use super::budget::Lease;
use super::cancel::Wake;
use super::{Driver, fetch, sizes};
use crate::error::{Error, Result};
use crate::stats::RunStats;
use crate::storage::Storage;
use crate::task::{Cost, Plan, Step, Task};

/// The order in which batches are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// That of the plan.
    #[default]
    Plan,
    /// As they become ready.
    Any,
}

/// Batches that may be pending per task, regardless of their size.
const AHEAD: usize = 2;
/// Bytes up to which more batches may be pending: later tasks of the plan work ahead, and the consumer is not woken for
/// every batch. The task's lease bounds them too, so that many cheap tasks together stay within the budget.
const AHEAD_BYTES: u64 = 4 << 20;
/// Maximum pending batches per task; a task that is further ahead pauses.
const MOST_AHEAD: usize = 32;

/// A batch or the failure of a task, and the position of the task in the plan; an error if the run was canceled.
type Ready = Result<(usize, Result<RecordBatch>)>;

/// The batches of a plan. Dropping it stops the work.
pub struct Batches {
    run: Arc<Run>,
    order: Order,
    failed: bool,
}

/// State shared by the consumer and the threads.
struct Run {
    driver: Driver,
    storage: Arc<dyn Storage>,
    stopped: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Box<dyn Task>>,
    started: usize,
    /// Tasks that are on a thread or about to be.
    active: usize,
    /// Started tasks by their position in the plan, until their last batch is taken.
    slots: BTreeMap<usize, Slot>,
    /// Who asked last and does not wait.
    waker: Option<Waker>,
}

/// A started task.
struct Slot {
    batches: VecDeque<RecordBatch>,
    /// The bytes of the batches that wait.
    bytes: u64,
    /// The bytes that may wait.
    room: u64,
    paused: Option<Running>,
    ended: Option<Result<()>>,
    /// Kept until the batches are taken, because they occupy the memory.
    _lease: Option<Lease>,
}

impl Slot {
    fn push(&mut self, batch: RecordBatch) {
        self.bytes = self.bytes.saturating_add(batch.get_array_memory_size() as u64);
        self.batches.push_back(batch);
    }

    fn pop(&mut self) -> Option<RecordBatch> {
        let batch = self.batches.pop_front()?;
        self.bytes = self.bytes.saturating_sub(batch.get_array_memory_size() as u64);
        Some(batch)
    }

    /// Whether the task is far enough ahead to pause.
    fn is_full(&self) -> bool {
        let many = self.bytes >= self.room || self.batches.len() >= MOST_AHEAD;
        many && self.batches.len() >= AHEAD
    }

    /// Whether a paused task should continue.
    fn is_low(&self) -> bool {
        let few = self.bytes <= self.room / 2 && self.batches.len() <= MOST_AHEAD / 2;
        few || self.batches.len() < AHEAD
    }
}

struct Running {
    task: Box<dyn Task>,
    /// What is left of its cost.
    left: Cost,
}

impl Driver {
    /// Runs `plan`, fetching from `storage`.
    ///
    /// At most one task per thread is in progress, fewer if the memory budget requires it, but always at least one.
    pub fn batches(&self, storage: Arc<dyn Storage>, plan: Plan, order: Order) -> Batches {
        let driver = self.clone();
        driver.counters.add(&plan.stats());
        driver.progress.expect(plan.tasks.iter().map(|task| task.cost().bytes_in).sum());
        let state =
            State { waiting: plan.tasks.into(), started: 0, active: 0, slots: BTreeMap::new(), waker: None };
        let run = Run {
            driver,
            storage,
            stopped: AtomicBool::new(false),
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        let run = Arc::new(run);
        run.driver.cancel.wake(&run);
        Batches { run, order, failed: false }
    }
}

impl Wake for Run {
    fn wake(&self) {
        // Under the lock, so that a consumer that has just checked is already waiting.
        self.announce(self.lock());
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let run = Arc::clone(&self.run);
        let mut state = run.lock();
        loop {
            match self.step(&mut state) {
                Poll::Ready(item) => {
                    drop(state);
                    return self.hand_out(item);
                }
                Poll::Pending => state = run.wait(state),
            }
        }
    }
}

impl Batches {
    /// All batches, as `keep` returns them, in the order of the plan. They are taken as they become ready, so that no
    /// task waits for an earlier one. Of several failures, the first in the plan is returned.
    pub(super) fn gather(
        mut self,
        mut keep: impl FnMut(RecordBatch) -> Result<Option<RecordBatch>>,
    ) -> Result<Vec<RecordBatch>> {
        self.order = Order::Any;
        let mut kept: Vec<(usize, RecordBatch)> = Vec::new();
        let mut failed = None;
        while let Some(ready) = self.next_ready() {
            let (number, batch) = ready?;
            match batch.and_then(&mut keep) {
                Ok(Some(batch)) => kept.push((number, batch)),
                Ok(None) => {}
                Err(error) => {
                    self.run.stop_from(number);
                    failed = Some(error);
                }
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        kept.sort_by_key(|(number, _)| *number);
        Ok(kept.into_iter().map(|(_, batch)| batch).collect())
    }

    fn next_ready(&self) -> Option<Ready> {
        let mut state = self.run.lock();
        loop {
            match self.step(&mut state) {
                Poll::Ready(item) => return item,
                Poll::Pending => state = self.run.wait(state),
            }
        }
    }

    /// Returns the next batch, or has `context` woken when it is worth asking again. No thread waits.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        let run = Arc::clone(&self.run);
        let mut state = run.lock();
        match self.step(&mut state) {
            Poll::Ready(item) => {
                drop(state);
                Poll::Ready(self.hand_out(item))
            }
            Poll::Pending => {
                // Under the lock: any later change finds the waker.
                let old = state.waker.replace(context.waker().clone());
                drop(state);
                drop(old);
                Poll::Pending
            }
        }
    }

    /// The next batch, where one is ready.
    fn step(&self, state: &mut State) -> Poll<Option<Ready>> {
        if self.failed {
            return Poll::Ready(None);
        }
        loop {
            self.run.driver.check_canceled()?;
            self.run.start_tasks(state);
            let slot = match self.order {
                Order::Plan => state.slots.iter_mut().next(),
                Order::Any => {
                    state.slots.iter_mut().find(|(_, slot)| !slot.batches.is_empty() || slot.ended.is_some())
                }
            };
            let Some((&number, slot)) = slot else {
                if state.slots.is_empty() {
                    return Poll::Ready(None);
                }
                return Poll::Pending;
            };
            if let Some(batch) = slot.pop() {
                if slot.is_low()
                    && let Some(running) = slot.paused.take()
                {
                    state.active += 1;
                    self.run.spawn(number, running);
                }
                return Poll::Ready(Some(Ok((number, Ok(batch)))));
            }
            match slot.ended.take() {
                Some(end) => {
                    state.slots.remove(&number);
                    if let Err(error) = end {
                        return Poll::Ready(Some(Ok((number, Err(error)))));
                    }
                }
                None => return Poll::Pending,
            }
        }
    }

    /// An error is the last item.
    fn hand_out(&mut self, item: Option<Ready>) -> Option<Result<RecordBatch>> {
        let item = item.map(|ready| ready.and_then(|(_, batch)| batch));
        if matches!(item, Some(Err(_))) {
            self.failed = true;
            self.run.stop();
        }
        item
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.run.stop();
    }
}

impl Run {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the consumer, whichever way it waits.
    fn announce(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.waker.take();
        self.changed.notify_all();
        drop(state);
        // A waker runs code of its runtime, which must not happen under the lock.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits until a task reports something. A thread of the pool helps instead: it may be the only one.
    fn wait<'s>(&'s self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        if self.driver.pool.current_thread_index().is_none() {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        if self.driver.pool.yield_now() == Some(rayon::Yield::Executed) {
            return self.lock();
        }
        let pause = Duration::from_millis(1);
        self.changed.wait_timeout(self.lock(), pause).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Starts tasks while threads and memory allow; always at least one.
    fn start_tasks(self: &Arc<Self>, state: &mut State) {
        let threads = self.driver.threads();
        // Tasks that ended early wait for earlier ones; others may use their threads meanwhile.
        while state.active < threads && state.slots.len() < threads * 2 {
            let Some(cost) = state.waiting.front().map(|task| task.cost()) else { return };
            let lease = self.driver.budget.try_take(cost.memory);
            // Without memory, the run waits for one of its own tasks to end. If it has none, another run holds the
            // memory, perhaps until this run is done: then one task exceeds the budget so that the run can proceed.
            if lease.is_none() && !state.slots.is_empty() {
                return;
            }
            let Some(task) = state.waiting.pop_front() else { return };
            let room = AHEAD_BYTES.min(cost.memory);
            let slot =
                Slot { batches: VecDeque::new(), bytes: 0, room, paused: None, ended: None, _lease: lease };
            state.slots.insert(state.started, slot);
            state.active += 1;
            self.spawn(state.started, Running { task, left: cost });
            state.started += 1;
        }
    }

    fn spawn(self: &Arc<Self>, number: usize, running: Running) {
        let run = Arc::clone(self);
        self.driver.spawn(move || run.advance(number, running));
    }

    /// Nothing more is wanted of the task with this position in the plan and of later ones.
    fn stop_from(&self, number: usize) {
        let mut state = self.lock();
        let tasks = (std::mem::take(&mut state.waiting), state.slots.split_off(&number));
        drop(state);
        // Drop handlers of tasks must not run under the lock.
        drop(tasks);
    }

    /// Nothing more is wanted.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.stop_from(0);
    }

    /// Steps a task until it ends or is far enough ahead.
    fn advance(self: &Arc<Self>, number: usize, mut running: Running) {
        let end = loop {
            let stopped = || self.stopped.load(Ordering::Relaxed);
            match self.driver.guarded_batch(&*self.storage, &mut *running.task, &mut running.left, stopped) {
                Ok(Some(batch)) => {
                    let mut state = self.lock();
                    let Some(slot) = state.slots.get_mut(&number) else { return };
                    slot.push(batch);
                    if slot.is_full() {
                        slot.paused = Some(running);
                        state.active -= 1;
                        self.start_tasks(&mut state);
                        return self.announce(state);
                    }
                    self.announce(state);
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        drop(running);
        let mut state = self.lock();
        let Some(slot) = state.slots.get_mut(&number) else { return };
        slot.ended = Some(end);
        state.active -= 1;
        self.start_tasks(&mut state);
        self.announce(state);
    }
}

impl Driver {
    /// Returns the next batch of one task, decoded on this thread, for callers with their own threads that pause
    /// between batches; `None` at the end. `left` is the task's cost before its first step; every batch reports its share of
    /// the bytes as progress, and takes it from there. A panic inside the task is an error.
    pub fn next_batch(
        &self,
        storage: &dyn Storage,
        task: &mut dyn Task,
        left: &mut Cost,
    ) -> Result<Option<RecordBatch>> {
        self.guarded_batch(storage, task, left, || false)
    }

    fn guarded_batch(
        &self,
        storage: &dyn Storage,
        task: &mut dyn Task,
        left: &mut Cost,
        stopped: impl Fn() -> bool,
    ) -> Result<Option<RecordBatch>> {
        let step = std::panic::AssertUnwindSafe(|| self.step_to_batch(storage, task, left, stopped));
        std::panic::catch_unwind(step).unwrap_or_else(|panic| Err(panicked(&*panic)))
    }

    /// The next batch of a task; `None` at the end, or if no more are needed.
    fn step_to_batch(
        &self,
        storage: &dyn Storage,
        task: &mut dyn Task,
        left: &mut Cost,
        stopped: impl Fn() -> bool,
    ) -> Result<Option<RecordBatch>> {
        let mut fetched: Vec<Bytes> = Vec::new();
        loop {
            self.check_canceled()?;
            if stopped() {
                return Ok(None);
            }
            self.check_piece(task.largest_piece())?;
            match task.step(std::mem::take(&mut fetched))? {
                Step::Need(ranges) => fetched = fetch(storage, &ranges, &self.counters)?,
                Step::Sizes(files) => fetched = sizes(storage, &files, &self.counters)?,
                Step::Batch(batch) => {
                    self.counters.add(&RunStats {
                        bytes_decoded: batch.get_array_memory_size() as u64,
                        rows: batch.num_rows() as u64,
                        ..RunStats::default()
                    });
                    self.progress.advance(left.take(batch.num_rows() as u64));
                    return Ok(Some(batch));
                }
                Step::Done => {
                    self.counters.add(&RunStats { read: left.pieces, ..RunStats::default() });
                    self.progress.advance(std::mem::take(&mut left.bytes_in));
                    return Ok(None);
                }
            }
        }
    }
}

/// A panic is a bug in this library; it ends the run, not the process.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    match text.or_else(|| panic.downcast_ref::<String>().cloned()) {
        Some(text) => Error::internal(format!("a task panicked: {text}")),
        None => Error::internal("a task panicked"),
    }
}
