//! The facade over every format. One binary: linking many takes longer than running the tests, and much space.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail by panicking")]

mod append;
mod convert;
mod create;
mod diff;
mod examples;
mod interop_tatami;
mod keep;
mod neutral;
mod pieces;
mod progress;
mod statistics;
#[cfg(feature = "async")]
mod stream;
mod support;
mod text;
mod types;
mod upgrade;
mod words;
mod zarr;
