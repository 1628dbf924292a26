//! Writing new containers: rows, and arrays as a whole.

pub(crate) mod array;
mod report;
pub(crate) mod rows;
pub(crate) mod target;
mod watched;

pub use array::{CreateArray, create_array};
pub use report::WriteReport;
pub use rows::{Create, Writer, create};
