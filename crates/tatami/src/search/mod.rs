//! Keyword search over search segments.

pub mod analyzer;
pub mod bm25;
mod cursor;
mod delete;
mod describe;
mod disjunction;
mod filter;
mod highlight;
mod hit;
mod inverted;
mod matcher;
mod meta;
mod phrase;
mod query;
mod retrieve;
mod routing;
mod searcher;
mod segment;
mod snippet;
mod statistics;
mod stored;
mod top;
mod verify;
mod write;

#[cfg(test)]
mod model_tests;

pub(crate) use describe::describe;
pub(crate) use verify::verify;
pub(crate) use write::RunBytes;

pub use delete::{Deleted, Deletion, delete};
pub use highlight::{Highlight, highlight};
pub use hit::{Fields, Hit, Hits, SegmentCounts};
pub use meta::{DictionaryKind, LiveDocs};
pub use query::{Query, Syntax};
pub use routing::{BigramBuilder, BigramIndex, Route, RoutingIndex, ShardTerm};
pub use searcher::{Ranked, SearchOptions, Searcher, search};
pub use segment::{Segment, Shape};
pub use snippet::{DEFAULT_SNIPPET_CHARS, snippet};
pub use write::{IndexOptions, SegmentBuilder, index};
