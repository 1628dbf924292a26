//! Writing: chunks are cut and encoded in parallel, appended in order, and committed atomically.

mod append;
mod bands;
mod counter;
pub(crate) mod datasets;
mod edit;
mod encode;
mod finish;
mod from_array;
pub(crate) mod options;
mod schema;
mod sink;
pub(crate) mod spec;
mod typed;
pub(crate) mod writer;

pub(crate) use append::append;
pub(crate) use datasets::Copying;
pub use datasets::write_array;
pub use edit::{extend, remove, rename};
pub(crate) use from_array::{from_array, from_arrays};
pub(crate) use sink::start;
pub use spec::{Alignment, DatasetSpec, FooterSpec, WriterOptions, default_chunk_shape};
pub use typed::{Footer, WriteOptions};
pub use writer::Writer;
