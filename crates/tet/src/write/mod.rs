//! Writing: chunks are cut and encoded in parallel, appended in order, and committed atomically.

mod append;
mod bands;
mod edit;
mod encode;
mod finish;
mod from_array;
pub(crate) mod grow;
mod odometer;
mod options;
mod rewrite;
mod schema;
mod sink;
mod spec;
mod typed;
mod writer;

pub(crate) use append::Copying;
pub use append::write_array;
pub use edit::{extend, remove, rename};
pub(crate) use from_array::{from_array, from_arrays};
pub(crate) use rewrite::rewrite_with;
pub use rewrite::{FooterChange, RewriteOptions, rewrite};
pub(crate) use sink::start;
pub use spec::{Alignment, DatasetSpec, FooterSpec, WriterOptions, default_chunk_shape};
pub use typed::{Footer, WriteOptions};
pub use writer::Writer;
