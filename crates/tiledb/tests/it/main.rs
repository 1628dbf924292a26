//! TileDB arrays and groups. One binary: linking many takes longer than running the tests, and much space.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail by panicking")]

#[cfg(unix)]
mod concurrent;
mod conformance;
mod corrupt;
mod domain;
mod keep;
#[cfg(unix)]
mod kill;
mod model;
mod pushdown;
mod read;
mod repair;
mod strings;
mod support;
mod upkeep;
mod verify;
mod versions;
mod windows;
mod write;
