//! What the tests of every crate share: suites that any implementation of a seam is run through, storages that fail
//! or count, arrays in memory, and strategies.
//!
//! The suites panic with a message that names the broken rule; they are meant to be called from a test.

mod array;
pub mod strategies;

pub use array::TiledArray;
