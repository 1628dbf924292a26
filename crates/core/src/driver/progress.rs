//! Progress reporting.

use std::fmt;
use std::sync::Arc;

/// Receives progress updates. Called often and from several threads: implementations must be cheap.
pub trait Progress: Send + Sync {
    /// The expected total in bytes (or in pieces, if bytes are unknown).
    fn expect(&self, total: u64);

    /// This much more is done.
    fn advance(&self, amount: u64);
}

/// Discards progress updates.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn expect(&self, _total: u64) {}

    fn advance(&self, _amount: u64) {}
}

/// A receiver of progress updates as an option: nobody by default.
#[derive(Clone)]
pub struct Reporter(Arc<dyn Progress>);

impl Reporter {
    /// Reports to `progress`.
    pub fn new(progress: Arc<dyn Progress>) -> Self {
        Self(progress)
    }
}

impl Default for Reporter {
    fn default() -> Self {
        Self(Arc::new(Silent))
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter").finish_non_exhaustive()
    }
}

impl Progress for Reporter {
    fn expect(&self, total: u64) {
        self.0.expect(total);
    }

    fn advance(&self, amount: u64) {
        self.0.advance(amount);
    }
}
