//! tatami files and collections. One binary: linking many takes longer than running the tests, and much space.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail by panicking")]

mod collection;
mod conformance;
mod corrupt;
mod damage;
mod deleted;
mod documents;
mod expected;
mod interop;
mod interop_search;
mod model;
mod positions;
mod queries;
mod read;
mod repair;
mod search;
mod segments;
mod write;
