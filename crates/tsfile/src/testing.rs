//! Access for tests and fuzzers to the deletions next to a file. Not part of the API.

pub use crate::meta::deletion::{Deletion, Target};
pub use crate::meta::mods2::{parse_all, write};
pub use crate::meta::tag_condition::TagCondition;
