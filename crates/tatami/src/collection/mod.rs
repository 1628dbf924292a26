//! Collections: folders of files with a manifest that lists the members and summarizes each.

mod catalog;
mod columns;
mod container;
mod manifest;
mod member;
mod merge;
mod table;

pub use catalog::Collection;
pub(crate) use catalog::LOCK_WAIT;
pub(crate) use container::CollectionContainer;
pub(crate) use manifest::MAGIC as MANIFEST_MAGIC;
pub use member::{Member, MemberZone};
pub use merge::Merged;
pub(crate) use merge::common_metadata;

/// The name of the manifest in a collection's folder.
pub const MANIFEST_NAME: &str = "tatami.manifest";
