//! The only owner of threads, memory and progress.
//!
//! A driver runs plans: it fetches the ranges that tasks need, coalescing nearby ones, decodes on its own pool within a
//! memory budget, and returns batches in plan order or as they become ready. It can be canceled from anywhere.

mod batches;
mod budget;
mod cancel;
mod coalesce;
mod copy;
mod counters;
mod future;
#[cfg(test)]
mod interleaving;
pub mod parallel;
mod progress;
mod scan;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

pub use batches::{Batches, Order};
pub use budget::{Budget, Lease};
pub use cancel::{CancelToken, Wake};
pub use coalesce::{fetch, sizes};
pub use copy::copy;
pub use counters::Counters;
pub use future::Spawned;
pub(crate) use progress::take_share;
pub use progress::{Progress, Reporter, Silent, Steps};
pub use scan::{Part, Rows, plan, scan, scan_part, split};
pub use shared::{default_driver, set_default_driver, try_map};

use crate::error::{Error, ErrorKind, Result};
use crate::setters;

/// How a driver is set up.
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct DriverOptions {
    /// Decoding threads; `None` is one per core.
    pub threads: Option<usize>,
    /// Memory for tasks in progress, in bytes; `None` is a quarter of the machine's free memory, at least 256 MiB.
    pub memory: Option<u64>,
}

setters! { DriverOptions {
    with_threads => threads: impl Into<Option<usize>>,
    with_memory => memory: impl Into<Option<u64>>,
} }

/// Runs tasks.
#[derive(Clone)]
pub struct Driver {
    pool: Arc<rayon::ThreadPool>,
    budget: Arc<Budget>,
    cancel: CancelToken,
    progress: Arc<dyn Progress>,
    counters: Arc<Counters>,
    /// The largest piece (chunk, page, tile) that may be decoded.
    largest_piece: u64,
}

/// Pieces up to this size are decoded under any limit: the program itself takes more.
const ALWAYS_FITS: u64 = 16 << 20;

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("threads", &self.threads())
            .field("memory", &self.budget.total())
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// Starts the pool.
    pub fn try_new(options: &DriverOptions) -> Result<Self> {
        let threads =
            options.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .thread_name(|i| format!("tesselle-{i}"))
            .build()
            .map_err(|e| Error::new(ErrorKind::Io, "cannot start threads").source(e))?;
        let memory = options.memory.unwrap_or_else(budget::default_memory);
        Ok(Self {
            pool: Arc::new(pool),
            budget: Arc::new(Budget::new(memory)),
            cancel: CancelToken::new(),
            progress: Arc::new(Silent),
            counters: Arc::default(),
            largest_piece: options.memory.map_or(u64::MAX, |memory| memory.max(ALWAYS_FITS)),
        })
    }

    /// The same pool and budget for pieces of up to `bytes`, if the budget is only a part of the allowed memory.
    #[must_use]
    pub fn with_largest_piece(&self, bytes: u64) -> Self {
        Self { largest_piece: bytes.max(ALWAYS_FITS), ..self.clone() }
    }

    /// The same pool with a budget of its own.
    #[must_use]
    pub fn with_memory(&self, bytes: u64) -> Self {
        Self { budget: Arc::new(Budget::new(bytes)), ..self.clone() }
    }

    /// Refuses a piece that takes more memory than was allowed, before it is allocated.
    pub fn check_piece(&self, bytes: u64) -> Result<()> {
        if bytes <= self.largest_piece {
            return Ok(());
        }
        let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
        let (needed, allowed) = (mebibytes(bytes), mebibytes(self.largest_piece));
        Err(Error::limit(format!(
            "one chunk, page or tile needs {needed} MiB of memory, but only {allowed} MiB are allowed"
        ))
        .hint(format!("allow at least {needed} MiB")))
    }

    /// The same pool and budget, reporting to `progress`.
    #[must_use]
    pub fn with_progress(&self, progress: Arc<dyn Progress>) -> Self {
        Self { progress, ..self.clone() }
    }

    /// The same pool and budget with separate counters. Canceling this driver cancels the run; canceling the run does
    /// not affect this driver.
    #[must_use]
    pub fn for_run(&self) -> Self {
        Self { cancel: self.cancel.child(), counters: Arc::default(), ..self.clone() }
    }

    /// The same pool and budget, canceled with this driver or with `token`.
    #[must_use]
    pub fn under(&self, token: &CancelToken) -> Self {
        Self { cancel: self.cancel.joined(token), ..self.clone() }
    }

    /// How many threads decode.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// The memory budget.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The work done so far.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The receiver of progress updates.
    pub fn progress(&self) -> &Arc<dyn Progress> {
        &self.progress
    }

    /// The token that stops this driver and all runs derived from it.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Stops the work at its next check; work in progress ends with `Canceled`.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Returns an error once the work is canceled. Every potentially long loop calls it.
    pub fn check_canceled(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Runs `work` on the pool, so that the loops of [`parallel`] inside it use this driver's threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// Does `work` for all items on the pool, until one fails or the work is canceled; results and the returned error
    /// follow the order of the items.
    pub fn try_map<T: Send, R: Send>(
        &self,
        items: impl IntoIterator<Item = T> + Send,
        work: impl Fn(T) -> Result<R> + Sync + Send,
    ) -> Result<Vec<R>> {
        self.install(|| {
            parallel::try_map(items, |item| {
                self.check_canceled()?;
                work(item)
            })
        })
    }

    /// Does `work` for all items, on this thread and at the same time on others of the pool, until one fails; the returned
    /// error is that of the first failing item in order. Each thread that takes part creates a state once.
    ///
    /// This thread does not wait for the others to wake up, which takes longer than a small read.
    pub(crate) fn share<T: Send, S>(
        &self,
        items: Vec<T>,
        make: impl Fn() -> S + Sync + Send,
        work: impl Fn(&mut S, T) -> Result<()> + Sync + Send,
    ) -> Result<()> {
        let helpers = self.threads().min(items.len()).saturating_sub(1);
        let left = Mutex::new(items.into_iter().enumerate());
        let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let lock = || failed.lock().unwrap_or_else(PoisonError::into_inner);
        let take = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let run = || {
            let mut own = make();
            while let Some((number, item)) = take() {
                if lock().as_ref().is_some_and(|(first, _)| *first < number) {
                    return;
                }
                if let Err(error) = work(&mut own, item) {
                    let mut failed = lock();
                    if failed.as_ref().is_none_or(|(first, _)| number < *first) {
                        *failed = Some((number, error));
                    }
                }
            }
        };
        self.pool.in_place_scope(|scope| {
            (0..helpers).for_each(|_| scope.spawn(|_| run()));
            run();
        });
        match lock().take() {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Runs `work` on the pool without waiting for it.
    fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        self.pool.spawn(work);
    }
}
