//! Reading: files, plans, tasks.

pub(crate) mod batch;
pub(crate) mod column;
pub(crate) mod date;
pub(crate) mod device_data;
pub(crate) mod file;
pub(crate) mod find;
pub(crate) mod join;
pub(crate) mod loaded;
pub(crate) mod page;
pub(crate) mod page_headers;
pub(crate) mod plan;
pub(crate) mod prune;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod source;
pub(crate) mod sources;
pub(crate) mod task;
pub(crate) mod times;
pub(crate) mod values;

/// The name of the time column in every table.
pub(crate) const TIME: &str = "time";
