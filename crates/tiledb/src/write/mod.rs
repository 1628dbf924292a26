//! Writing arrays: schemas, fragments, metadata, groups and their upkeep, in format version 22.
//!
//! Cells become tiles, tiles are filtered in parallel and appended to the files of a fragment, and the fragment becomes
//! visible with its commit. Until then nothing that reads the array sees it.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int32Array, RecordBatch};
//! use tesselle_core::Location;
//! use tesselle_core::storage::MemoryStorage;
//! use tesselle_tiledb::write::{ArrayWriter, CellOrder, SchemaBuilder};
//! use tesselle_tiledb::{Attribute, Datatype, Dimension, Bounds};
//!
//! # fn main() -> Result<(), tesselle_core::Error> {
//! let schema = SchemaBuilder::dense()
//!     .dimension(Dimension::new("x", Datatype::Int32, 0, 9, 5))
//!     .attribute(Attribute::new("a", Datatype::Int32))
//!     .build()?;
//! let place = Location::new(Arc::new(MemoryStorage::new()), "numbers");
//! let array = ArrayWriter::create(&place, &schema, None, None)?;
//! let column: ArrayRef = Arc::new(Int32Array::from_iter_values(0..10));
//! let batch = RecordBatch::try_from_iter([("a", column)])?;
//! let all = Bounds { low: 0.into(), high: 9.into() };
//! let written = array.write_dense(&[all], &batch, CellOrder::RowMajor, None)?;
//! assert_eq!((written.cells, written.tiles), (10, 2));
//! # Ok(())
//! # }
//! ```

mod abandoned;
mod append;
mod array;
pub(crate) mod cells;
mod commit;
mod consolidate;
mod coordinate;
mod delete;
mod dense;
mod dense_stream;
mod enumerated;
mod evolve;
pub(crate) mod fragment;
mod from_json;
mod group;
mod label;
mod metadata;
mod name;
mod number_block;
mod options;
pub(crate) mod order;
mod outside;
mod placed;
mod schema;
mod schema_builder;
pub(crate) mod sink;
mod sparse;
pub(crate) mod statistics;
#[cfg(test)]
mod string_tests;
#[cfg(test)]
mod tests;
mod tile_rows;
mod typed;
mod vacuum;

pub(crate) use append::append;
pub use array::{ArrayWriter, Written};
pub(crate) use array::{make_folders, store_schema};
pub(crate) use commit::{marker_path, put};
pub use consolidate::{Consolidation, PlannedFragment};
pub use delete::OnNull;
pub use dense::CellOrder;
pub(crate) use dense::advance;
pub use dense_stream::Placement;
pub use evolve::Evolution;
pub(crate) use group::DETAIL_VERSION;
pub use group::GroupWriter;
pub use name::WRITE_VERSION;
pub(crate) use name::fresh;
pub(crate) use schema_builder::check as check_schema;
pub use schema_builder::{DEFAULT_CAPACITY, NewSchema, SchemaBuilder};
pub use sparse::{OnDuplicate, SparseOptions};
pub use typed::WriteOptions;
pub use vacuum::{Removal, Vacuum};
