//! Progress of long work, reported to a Python callable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use tesselle::driver::Progress;

/// Calls `callback(done, total)`.
struct Reporter {
    callback: Py<PyAny>,
    done: AtomicU64,
    total: AtomicU64,
    shown: AtomicU64,
}

/// Reports to `callback`, which takes bytes done and bytes in all.
pub(crate) fn reporter(callback: Py<PyAny>) -> Arc<dyn Progress> {
    Arc::new(Reporter {
        callback,
        done: AtomicU64::new(0),
        total: AtomicU64::new(0),
        shown: AtomicU64::new(0),
    })
}

impl Reporter {
    /// Calls Python about a hundred times in all, not once a tile.
    fn report(&self, done: u64, total: u64) {
        let shown = self.shown.load(Ordering::Relaxed);
        let step = (total / 100).max(1);
        if done < total && done < shown.saturating_add(step) {
            return;
        }
        if self.shown.compare_exchange(shown, done, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            Python::attach(|py| {
                if let Err(error) = self.callback.call1(py, (done, total)) {
                    // A failing bar must not end the work.
                    error.write_unraisable(py, None);
                }
            });
        }
    }
}

impl Progress for Reporter {
    fn expect(&self, total: u64) {
        self.total.fetch_add(total, Ordering::Relaxed);
    }

    fn advance(&self, amount: u64) {
        let done = self.done.fetch_add(amount, Ordering::Relaxed).saturating_add(amount);
        self.report(done, self.total.load(Ordering::Relaxed));
    }
}
