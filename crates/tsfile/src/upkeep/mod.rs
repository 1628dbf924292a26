//! Maintenance: deletions next to files, and merging data directories into one file.

mod compact;
mod delete;

pub(crate) use compact::resource_of;
pub use compact::{Compacted, compact};
pub use delete::{Deleted, Points, Series, delete};
