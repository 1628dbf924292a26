//! What the tests of every crate share: suites that any implementation of a seam is run through, storages that fail
//! or count, arrays and tables in memory, and strategies.
//!
//! The suites panic with a message that names the broken rule; they are meant to be called from a test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken rule ends the test that looks for it"
)]

mod array;
mod counting;
mod damage;
mod exercise;
mod faulty;
mod folder;
mod memory_table;
mod mending;
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
pub use damage::{Random, cuts, flips};
pub use exercise::{exercise, exercise_at};
pub use faulty::FaultyStorage;
pub use folder::copy_folder;
pub use memory_table::MemoryTable;
pub use mending::{Mendings, Rows, mend_flips, repair_law};
pub use rows::{read_all, rows_as_text};
pub use sink::{crash_conformance, sink_conformance};
pub use storage::storage_conformance;
pub use table::{stats_conformance, table_conformance};
