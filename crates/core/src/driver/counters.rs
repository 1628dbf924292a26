//! Counters of a run's cost, shared by all threads.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::stats::RunStats;

/// Running totals.
#[derive(Debug, Default)]
pub struct Counters {
    pieces: AtomicU64,
    pruned: AtomicU64,
    read: AtomicU64,
    requests: AtomicU64,
    bytes_fetched: AtomicU64,
    bytes_decoded: AtomicU64,
    rows: AtomicU64,
}

impl Counters {
    /// Adds `stats`.
    pub fn add(&self, stats: &RunStats) {
        let pairs = [
            (&self.pieces, stats.pieces),
            (&self.pruned, stats.pruned),
            (&self.read, stats.read),
            (&self.requests, stats.requests),
            (&self.bytes_fetched, stats.bytes_fetched),
            (&self.bytes_decoded, stats.bytes_decoded),
            (&self.rows, stats.rows),
        ];
        for (counter, amount) in pairs {
            if amount > 0 {
                counter.fetch_add(amount, Ordering::Relaxed);
            }
        }
    }

    /// The totals so far.
    pub fn snapshot(&self) -> RunStats {
        RunStats {
            pieces: self.pieces.load(Ordering::Relaxed),
            pruned: self.pruned.load(Ordering::Relaxed),
            read: self.read.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            bytes_fetched: self.bytes_fetched.load(Ordering::Relaxed),
            bytes_decoded: self.bytes_decoded.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
        }
    }
}
