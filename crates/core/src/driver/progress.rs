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

/// Reports the bytes of some work item by item: each item its share, and exactly all of them at the end.
pub struct Steps {
    progress: Arc<dyn Progress>,
    bytes: u64,
    items: u64,
}

impl Steps {
    /// Work on `items` that takes `bytes`, which are expected from now on.
    pub fn new(progress: &Arc<dyn Progress>, bytes: u64, items: u64) -> Self {
        progress.expect(bytes);
        Self { progress: Arc::clone(progress), bytes, items }
    }

    /// So many more items are done.
    pub fn advance(&mut self, items: u64) {
        self.progress.advance(take_share(&mut self.bytes, &mut self.items, items));
    }

    /// All is done, regardless of the number of items.
    pub fn finish(self) {
        self.progress.advance(self.bytes);
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps")
            .field("bytes", &self.bytes)
            .field("items", &self.items)
            .finish_non_exhaustive()
    }
}

/// Takes the bytes of `some` of the items that are left: as many as the items account for, and none if nothing is known
/// about items.
pub(crate) fn take_share(bytes: &mut u64, items: &mut u64, some: u64) -> u64 {
    let some = some.min(*items);
    if some == 0 {
        return 0;
    }
    let share = (u128::from(*bytes) * u128::from(some) / u128::from(*items)) as u64;
    *items -= some;
    *bytes -= share;
    share
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_all_bytes_and_never_to_more() {
        for (bytes, items, step) in
            [(10, 3, 1), (3, 10, 1), (1000, 7, 2), (u64::MAX, 5, 2), (9, 0, 1), (0, 4, 9)]
        {
            let (mut left, mut rest) = (bytes, items);
            let mut taken: Vec<u64> = (0..12).map(|_| take_share(&mut left, &mut rest, step)).collect();
            taken.push(left);
            assert_eq!(taken.iter().map(|share| u128::from(*share)).sum::<u128>(), u128::from(bytes));
            assert_eq!(left == 0, items > 0 || bytes == 0, "{bytes} bytes of {items} items");
        }
    }
}
