//! Building segments: documents in, one file out, memory bounded by a budget.
//!
//! Documents are tokenised in parallel into a term map, which is spilled as a sorted run whenever it outgrows the
//! budget; at the end the runs are merged term by term. The result depends on the documents alone, not on the
//! budget, the threads or the batches.

mod accumulate;
mod encode;
mod hash;
mod merge;
mod scratch;
#[cfg(test)]
mod tests;

pub(crate) use accumulate::{Accumulator, Shard};
pub(crate) use encode::{EncodedRuns, RunEncoder};
pub(crate) use merge::{merge, spill};
pub(crate) use scratch::{Scratch, Spool, Spooled};
