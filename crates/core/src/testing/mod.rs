//! Shared test support: conformance suites for implementations of the core traits, faulty and counting storages, arrays
//! and tables in memory, and strategies.
//!
//! The suites panic with a message that states the violated rule; they are meant to be called from a test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a violated rule fails the test")]

mod array;
mod counting;
mod damage;
mod exercise;
mod faulty;
mod folder;
pub mod golden;
mod memory_table;
mod repair;
mod rows;
mod sink;
mod storage;
pub mod strategies;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;

pub use array::TiledArray;
pub use counting::{CountingStorage, Counts};
pub use damage::{Random, cuts, flips, is_thorough};
pub use exercise::{exercise, exercise_at};
pub use faulty::FaultyStorage;
pub use folder::copy_folder;
pub use memory_table::MemoryTable;
pub use repair::{RepairTally, Rows, repair_contract, repair_flips};
pub use rows::{read_all, rows_as_strings};
pub use sink::{crash_conformance, sink_conformance};
pub use storage::storage_conformance;
pub use table::{stats_conformance, table_conformance};
