//! Memory for work in progress.

use std::sync::{Arc, Mutex, PoisonError};

/// A fixed number of bytes to lease. Requests never block: a request for more than is free returns `None`, and the
/// caller decides.
#[derive(Debug)]
pub struct Budget {
    total: u64,
    used: Mutex<u64>,
}

impl Budget {
    /// A budget of `total` bytes.
    pub fn new(total: u64) -> Self {
        Self { total, used: Mutex::new(0) }
    }

    /// The total.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The bytes in use.
    pub fn used(&self) -> u64 {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leases `bytes`, or returns `None` if they are not free. A request larger than the whole budget counts as the
    /// whole budget, so that one large task can run alone.
    pub fn try_take(self: &Arc<Self>, bytes: u64) -> Option<Lease> {
        let bytes = bytes.min(self.total);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if *used + bytes > self.total {
            return None;
        }
        *used += bytes;
        drop(used);
        Some(Lease { budget: Arc::clone(self), bytes })
    }
}

/// Leased bytes of a budget; returned on drop.
#[derive(Debug)]
pub struct Lease {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Drop for Lease {
    fn drop(&mut self) {
        *self.budget.used.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
    }
}

/// A quarter of the machine's free memory, at least 256 MiB; 1 GiB if the system does not report it.
pub(super) fn default_memory() -> u64 {
    const LEAST: u64 = 256 << 20;
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
    });
    free.map_or(1 << 30, |free| (free / 4).max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_given_back_and_never_exceeded() {
        let budget = Arc::new(Budget::new(100));
        let first = budget.try_take(60).unwrap();
        assert!(budget.try_take(41).is_none());
        let second = budget.try_take(40).unwrap();
        assert_eq!(budget.used(), 100);
        drop(first);
        drop(second);
        let whole = budget.try_take(1_000_000).unwrap();
        assert_eq!(budget.used(), 100);
        drop(whole);
        assert_eq!(budget.used(), 0);
    }
}
