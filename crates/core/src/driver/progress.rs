//! Progress reporting.

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
