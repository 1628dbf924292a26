//! Files of text records as tables: blocks of whole records, inferred and parsed in parallel.

mod blocks;
mod decimals;
mod format;
mod joined;
mod table;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
pub(super) use format::{fitted, open, stage};
pub(crate) use table::TextTable;

/// An error of another crate.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The differences between text formats.
pub(crate) trait Syntax: Send + Sync + 'static {
    /// The state of a scan for the ends of records.
    type ScanState: Default;
    /// The inferred kinds of the columns.
    type Inferred: Default + Send;

    /// The name in messages.
    fn name(&self) -> &'static str;

    /// The number of lines before the first record.
    fn header_lines(&self) -> u64;

    /// Behind the last record that ends in `window`, and where the scan is at its end. The first window begins the file.
    fn end_of_records(&self, window: &[u8], state: &mut Self::ScanState, first: bool) -> Option<usize>;

    /// Whether the input ends inside a record that is not finished, such as after a quote that is never closed.
    fn is_open(state: &Self::ScanState) -> bool;

    /// The names of the columns, if the first line has them.
    fn names(&self, head: &[u8]) -> Result<Option<Vec<String>>, BoxError>;

    /// The inferred kinds of the columns of a block, and its number of records. The first block has the header line.
    fn infer(&self, block: &[u8], first: bool) -> Result<(Self::Inferred, u64), BoxError>;

    /// Combines the kinds of two blocks.
    fn join(&self, a: Self::Inferred, b: Self::Inferred) -> Self::Inferred;

    /// The columns.
    fn schema(&self, names: Vec<String>, found: Self::Inferred) -> Result<Schema, BoxError>;

    /// A parser of a block that returns these columns of `schema`, and gets whether the block is the first.
    fn decoder(
        &self,
        schema: &SchemaRef,
        columns: &[usize],
        rows: usize,
        block: (&[u8], bool),
    ) -> Result<Box<dyn Decode>, BoxError>;
}

/// Parses records into batches.
pub(crate) trait Decode: Send {
    /// Consumes a part of the input and returns its length; 0 once a batch is full or the input is at its end.
    fn decode(&mut self, text: &[u8]) -> Result<usize, ArrowError>;

    /// The batch of the consumed input.
    fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError>;
}
