//! Reading: open a file, plan a scan, decode pages and blob runs, look up keys and rows.

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
