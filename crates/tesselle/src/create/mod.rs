//! Writing of new containers: rows and whole arrays.

pub(crate) mod array;
pub(crate) mod arrays;
mod report;
pub(crate) mod rows;
pub(crate) mod target;

pub use array::{CreateArray, create_array};
pub use arrays::{CreateArrays, create_arrays};
pub use report::WriteReport;
pub use rows::{Create, Writer, create};
