//! Keyword search over search segments: files whose rows are documents, with an inverted index over their words.
//!
//! [`search`] runs a query on one segment or a folder of them; [`index`] builds a segment from record
//! batches; [`delete`] permanently deletes documents from a segment, [`merge_segments`] combines several.
//! Hits and scores equal those of the original engine, bit for bit. `docs/formats/tatami-search.md` describes
//! the bytes.
//!
//! ```text
//! query ─ parse ─> tokens ─ dictionary ─> lists ─ block-max walk ─> best documents ─ forward columns ─> hits
//! rows ─ analyze ─> term map ─ spill ─> sorted runs ─ merge ─> lists, skips, dictionary ─> segment
//! ```
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{ArrayRef, RecordBatch, StringArray};
//! use tesselle_core::storage::MemoryStorage;
//! use tesselle_core::{Driver, DriverOptions, Location, OpenOptions};
//! use tesselle_tatami::search::{IndexOptions, SearchOptions, index, search};
//!
//! # fn main() -> tesselle_core::Result<()> {
//! let driver = Driver::try_new(&DriverOptions::default())?;
//! let location = Location::new(Arc::new(MemoryStorage::default()), "notes.tatami");
//! let notes = StringArray::from(vec!["a stone bridge", "the river", "a bridge over the river"]);
//! let rows = RecordBatch::try_from_iter([("body", Arc::new(notes) as ArrayRef)])?;
//! index([Ok(rows.clone())], &rows.schema(), &location, &IndexOptions::text(["body"]), &driver)?;
//!
//! let found = search(&location, "+river bridge", &SearchOptions::default(), &OpenOptions::default(), &driver)?;
//! let docs: Vec<u32> = found.hits.iter().map(|hit| hit.doc).collect();
//! assert_eq!(docs, [2, 1]);
//! # Ok(())
//! # }
//! ```

mod adjacent;
pub mod analyzer;
pub mod bm25;
mod boost;
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
mod terms;
mod top;
mod update;
mod verify;
mod window;
mod write;

#[cfg(test)]
mod model_tests;

pub use boost::Boosts;
pub use delete::{Deleted, Deletion, delete};
pub(crate) use describe::describe;
pub use highlight::{Highlight, highlight};
pub use hit::{Fields, Hit, Hits, SegmentCounts};
pub use meta::{DictionaryKind, LiveDocs};
pub use query::{Query, Syntax};
pub use routing::{BigramBuilder, BigramIndex, Route, RoutingIndex, ShardTerm};
pub use searcher::{Ranked, SearchOptions, Searcher, search};
pub(crate) use segment::{Reading, has_segment_columns, is_segment, read_live};
pub use segment::{Segment, Shape};
pub use snippet::{DEFAULT_SNIPPET_CHARS, snippet};
pub use terms::Term;
pub use update::update;
pub(crate) use verify::{verify, verify_as};
pub use write::{IndexOptions, SegmentBuilder, index, merge_segments};
pub(crate) use write::{RunBytes, combine};
