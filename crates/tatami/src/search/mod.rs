//! Keyword search over search segments.

pub mod analyzer;
pub mod bm25;
mod cursor;
mod disjunction;
mod highlight;
mod inverted;
mod matcher;
mod meta;
mod phrase;
mod query;
mod retrieve;
mod routing;
mod snippet;
mod statistics;
mod top;
mod write;

#[cfg(test)]
mod model_tests;

pub use highlight::{Highlight, highlight};
pub use meta::LiveDocs;
pub use query::{Query, Syntax};
pub use routing::{BigramBuilder, BigramIndex, Route, RoutingIndex, ShardTerm};
pub use snippet::{DEFAULT_SNIPPET_CHARS, snippet};
