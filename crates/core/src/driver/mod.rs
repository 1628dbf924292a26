//! The one place that owns threads, memory and progress.
//!
//! A driver runs plans: it fetches what tasks need, with near ranges joined, decodes on its own pool within a memory
//! budget, and hands out batches in plan order or as they come. It can be cancelled from anywhere.

mod batches;
mod budget;
mod coalesce;
mod counters;
mod progress;
mod scan;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use batches::{Batches, Order};
pub use budget::{Budget, Lease};
pub use coalesce::{fetch, sizes};
pub use counters::Counters;
pub use progress::{Progress, Silent};
pub use scan::{Rows, scan};

use crate::error::{Error, ErrorKind, Result};

/// How a driver is set up.
#[derive(Debug, Clone, Default)]
pub struct DriverOptions {
    /// Decoding threads; `None` is one per core.
    pub threads: Option<usize>,
    /// Memory for tasks under way, in bytes; `None` is a quarter of what the machine has free, at least 256 MiB.
    pub memory: Option<u64>,
}

/// Runs tasks.
#[derive(Clone)]
pub struct Driver {
    pool: Arc<rayon::ThreadPool>,
    budget: Arc<Budget>,
    canceled: Arc<AtomicBool>,
    progress: Arc<dyn Progress>,
    counters: Arc<Counters>,
}

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
    pub fn new(options: &DriverOptions) -> Result<Self> {
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
            canceled: Arc::default(),
            progress: Arc::new(Silent),
            counters: Arc::default(),
        })
    }

    /// The same pool and budget, reporting to `progress`.
    #[must_use]
    pub fn with_progress(&self, progress: Arc<dyn Progress>) -> Self {
        Self { progress, ..self.clone() }
    }

    /// The same pool and budget with counters and a cancellation of its own.
    #[must_use]
    pub fn for_run(&self) -> Self {
        Self { canceled: Arc::default(), counters: Arc::default(), ..self.clone() }
    }

    /// How many threads decode.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// The memory budget.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// What has been done so far.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Who is told about progress.
    pub fn progress(&self) -> &Arc<dyn Progress> {
        &self.progress
    }

    /// Stops the work as soon as its tasks look; what is under way ends with `Canceled`.
    pub fn cancel(&self) {
        self.canceled.store(true, Ordering::Relaxed);
    }

    /// An error once the work is cancelled.
    pub fn check_canceled(&self) -> Result<()> {
        if self.canceled.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Canceled, "the work was cancelled"));
        }
        Ok(())
    }

    /// Runs `work` on the pool, so that rayon's parallel iterators inside it use this driver's threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// Runs `work` on the pool without waiting for it.
    fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        self.pool.spawn(work);
    }
}
