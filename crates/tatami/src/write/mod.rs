//! Writing: batches in, one file out, with memory for one row group and a bounded amount of blobs.

pub(crate) mod append;
pub(crate) mod blobs;
pub(crate) mod cascade;
pub(crate) mod dictionary;
pub(crate) mod group;
pub(crate) mod options;
pub(crate) mod order;
pub(crate) mod page;
pub(crate) mod schema;
pub(crate) mod start;
pub(crate) mod strings;
pub(crate) mod typed;
pub(crate) mod writer;
