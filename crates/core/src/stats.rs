//! What is known of a table without reading its data, and what a run has cost.

use std::collections::BTreeMap;

use crate::scalar::Scalar;

/// A value and how far it can be trusted.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Known<T> {
    /// The true value.
    Exact(T),
    /// A bound: never less than what is there (for a minimum: never more).
    Bound(T),
    /// Only reading tells.
    #[default]
    Absent,
}

impl<T> Known<T> {
    /// The value, if exact.
    pub fn exact(&self) -> Option<&T> {
        match self {
            Self::Exact(value) => Some(value),
            _ => None,
        }
    }

    /// The value, exact or bound.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Exact(value) | Self::Bound(value) => Some(value),
            Self::Absent => None,
        }
    }
}

/// What is known of one column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnStats {
    /// Smallest value.
    pub min: Known<Scalar>,
    /// Largest value.
    pub max: Known<Scalar>,
    /// Sum of the values.
    pub sum: Known<Scalar>,
    /// How many rows are null.
    pub nulls: Known<u64>,
}

/// What is known of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableStats {
    /// How many rows it has.
    pub rows: Known<u64>,
    /// Stored size in bytes.
    pub bytes: Known<u64>,
    /// By column name; columns nothing is known of are left out.
    pub columns: BTreeMap<String, ColumnStats>,
}

/// What a plan or a run cost, in pieces and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunStats {
    /// Pieces the table has.
    pub pieces: u64,
    /// Pieces the plan left out.
    pub pruned: u64,
    /// Pieces that were read.
    pub read: u64,
    /// Requests to the storage, after coalescing.
    pub requests: u64,
    /// Bytes fetched from the storage.
    pub bytes_fetched: u64,
    /// Bytes of decoded output.
    pub bytes_decoded: u64,
    /// Rows that came out.
    pub rows: u64,
}
