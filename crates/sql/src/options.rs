//! How a session is set up.

use std::sync::Arc;

use tesselle::OpenOptions;
use tesselle::core::setters;
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

setters! { SessionOptions {
    with_threads => threads: impl Into<Option<usize>>,
    with_memory => memory: impl Into<Option<u64>>,
    with_open => open: OpenOptions,
    with_pushdown => pushdown: bool,
    with_cancel => cancel: CancelToken,
    with_progress => progress: Arc<dyn Progress>,
} }

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
