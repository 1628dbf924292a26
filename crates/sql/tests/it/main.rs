//! SQL over files of every format. One binary: linking DataFusion takes longer than running the tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

mod asynchronous;
mod budgets;
mod copy;
mod examples;
mod explain;
mod files;
mod learned;
mod progress;
mod pushdown;
mod slt;
mod statements;
mod support;
mod topk;
