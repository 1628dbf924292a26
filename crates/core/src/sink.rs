//! Writing: batches in, one container out.

use arrow_array::RecordBatch;

use crate::error::Result;

/// Accepts record batches of one schema and commits them atomically.
///
/// Dropping a sink without [`Sink::finish`] leaves the previous state unchanged.
pub trait Sink: Send {
    /// Accepts a batch. Encoding may happen later and on other threads.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes pending data and commits: from here on readers see the new state.
    fn finish(self: Box<Self>) -> Result<Summary>;
}

/// The result of a finished write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows (or cells) written.
    pub rows: u64,
    /// Bytes of the new container.
    pub bytes: u64,
    /// Chunks, pages or tiles written.
    pub pieces: u64,
    /// What could not be stored unchanged, one line each.
    pub lost: Vec<String>,
}
