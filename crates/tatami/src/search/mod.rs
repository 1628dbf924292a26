//! Keyword search over search segments.

pub mod analyzer;
pub mod bm25;
mod snippet;

pub use snippet::{DEFAULT_SNIPPET_CHARS, snippet};
