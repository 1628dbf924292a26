//! Keyword search over search segments.

pub mod analyzer;
pub mod bm25;
mod meta;
mod snippet;

pub use snippet::{DEFAULT_SNIPPET_CHARS, snippet};
