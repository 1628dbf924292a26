//! Reading: files, plans, tasks.

pub(crate) mod file;
