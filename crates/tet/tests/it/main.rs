//! tet files. One binary: linking many takes longer than running the tests, and much space.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail by panicking")]

mod conformance;
mod corrupt;
mod crash;
mod edit;
mod golden;
mod large;
mod model;
mod read;
mod repair_flips;
mod write;
