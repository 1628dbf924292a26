//! Changes to what is stored: deletions next to files, and data directories merged into one file.

mod compact;
mod delete;

pub(crate) use compact::resource_of;
pub use compact::{Compacted, compact};
pub use delete::{Deleted, Points, Series, delete};
