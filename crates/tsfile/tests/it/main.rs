//! TsFiles. One binary: linking many takes longer than running the tests, and much space.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail by panicking")]

mod corrupt;
mod damage;
mod deletions;
mod empty;
mod floats;
mod freq;
mod golden;
mod health;
mod lzo;
mod model;
mod original;
mod pages;
mod read;
mod rewrite;
mod upkeep;
mod write;
