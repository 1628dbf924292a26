//! One file per verb.

pub(crate) mod append;
pub(crate) mod cat;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod index;
pub(crate) mod info;
pub(crate) mod man;
pub(crate) mod reduce;
pub(crate) mod reference;
pub(crate) mod repair;
pub(crate) mod search;
pub(crate) mod sketch;
#[cfg(feature = "sql")]
pub(crate) mod sql;
pub(crate) mod tatami;
pub(crate) mod tet;
pub(crate) mod tiledb;
pub(crate) mod tsfile;
pub(crate) mod verify;
