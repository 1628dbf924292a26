//! Telling someone how far the work is.

/// Is told about long work. Called from several threads, often: implementations must be cheap.
pub trait Progress: Send + Sync {
    /// The work will take about this many bytes (or pieces, where bytes are not known).
    fn expect(&self, total: u64);

    /// This much more is done.
    fn advance(&self, amount: u64);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn expect(&self, _total: u64) {}

    fn advance(&self, _amount: u64) {}
}
