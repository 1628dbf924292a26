//! Builds segments: documents in, one file out, with memory bounded by a budget.
//!
//! Documents are tokenized in parallel into a term map, which is spilled as a sorted run whenever it exceeds
//! the budget; at the end the runs are merged term by term. The result depends only on the documents, not on
//! the budget, the threads or the batches.

mod accumulate;
mod builder;
mod combine;
mod encode;
#[cfg(test)]
mod fixture_tests;
mod hash;
mod identity;
mod merge;
mod options;
mod roles;
mod scratch;
mod shard;
#[cfg(test)]
mod tests;

pub use builder::{SegmentBuilder, index};
pub(crate) use combine::combine;
pub use combine::merge_segments;
pub use options::IndexOptions;
pub(crate) use scratch::RunBytes;
