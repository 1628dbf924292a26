//! Reading: opens files, plans scans, decodes pages and blob runs, looks up keys and rows.

pub(crate) mod blob;
pub(crate) mod cache;
pub(crate) mod chunk;
pub(crate) mod column;
pub(crate) mod dictionary;
pub(crate) mod key;
pub(crate) mod live;
pub(crate) mod payload;
pub(crate) mod plan;
pub(crate) mod prune;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod task;
pub(crate) mod values;
