//! Writing of new containers: rows and whole arrays.

pub(crate) mod array;
mod report;
pub(crate) mod rows;
pub(crate) mod target;

pub use array::{CreateArray, create_array};
pub use report::WriteReport;
pub use rows::{Create, Writer, create};
