//! Writing: batches in, one container out.

use arrow_array::RecordBatch;

use crate::error::Result;

/// Takes record batches of one schema and commits them as a whole.
///
/// Dropping a sink without [`Sink::finish`] leaves nothing behind: the old state stays.
pub trait Sink: Send {
    /// Takes a batch. Encoding may happen later and on other threads.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what is pending and commits: from here on readers see the new state.
    fn finish(self: Box<Self>) -> Result<Summary>;
}

/// What a finished write produced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows (or cells) written.
    pub rows: u64,
    /// Bytes of the new container.
    pub bytes: u64,
    /// Pieces written.
    pub pieces: u64,
    /// What came and is not in the container as it came, a line each.
    pub lost: Vec<String>,
}
