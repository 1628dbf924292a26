//! The `tess` binary. One binary: linking many takes longer than running the tests, and much space.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail by panicking")]

mod cli;
#[cfg(feature = "sql")]
mod everyday;
#[cfg(unix)]
mod files;
#[cfg(feature = "sql")]
mod guide;
mod guide_commands;
mod inputs;
mod labels;
mod limits;
mod npy;
mod seen;
#[cfg(unix)]
mod signals;
#[cfg(feature = "sql")]
mod sql;
#[cfg(feature = "sql")]
mod stored_types;
mod support;
mod tatami;
mod tatami_processes;
mod tet;
mod tiledb;
mod tiledb_schema;
mod tsfile;
