//! How a session is set up.

use std::sync::Arc;

use tesselle::OpenOptions;
use tesselle::driver::{CancelToken, Progress, Silent};

/// How a session is set up.
#[non_exhaustive]
#[derive(Clone)]
pub struct SessionOptions {
    /// Threads that decode and compute; `None` is one per core.
    pub threads: Option<usize>,
    /// Memory for queries; above it operators spill to disk. `None` is three quarters of the free memory.
    pub memory: Option<u64>,
    /// How files are opened: time travel, keys.
    pub open: OpenOptions,
    /// Whether filters, limits and counts are pushed down to the formats; off only to compare results.
    pub pushdown: bool,
    /// Permanently ends the session's work.
    pub cancel: CancelToken,
    /// Receives how many bytes scans will read, and have read.
    pub progress: Arc<dyn Progress>,
}

impl SessionOptions {
    /// Sets [`SessionOptions::threads`](Self#structfield.threads).
    #[must_use]
    pub fn with_threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into();
        self
    }

    /// Sets [`SessionOptions::memory`](Self#structfield.memory).
    #[must_use]
    pub fn with_memory(mut self, memory: impl Into<Option<u64>>) -> Self {
        self.memory = memory.into();
        self
    }

    /// Sets [`SessionOptions::open`](Self#structfield.open).
    #[must_use]
    pub fn with_open(mut self, open: OpenOptions) -> Self {
        self.open = open;
        self
    }

    /// Sets [`SessionOptions::pushdown`](Self#structfield.pushdown).
    #[must_use]
    pub fn with_pushdown(mut self, pushdown: bool) -> Self {
        self.pushdown = pushdown;
        self
    }

    /// Sets [`SessionOptions::cancel`](Self#structfield.cancel).
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets [`SessionOptions::progress`](Self#structfield.progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }
}

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { threads, memory, open, pushdown, .. } = self;
        let mut debug = f.debug_struct("SessionOptions");
        debug
            .field("threads", threads)
            .field("memory", memory)
            .field("open", open)
            .field("pushdown", pushdown);
        debug.finish_non_exhaustive()
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            threads: None,
            memory: None,
            open: OpenOptions::default(),
            pushdown: true,
            cancel: CancelToken::new(),
            progress: Arc::new(Silent),
        }
    }
}
