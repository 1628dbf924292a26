//! Statistics known without reading data, and the cost of a run.

use std::collections::BTreeMap;

use crate::predicate::ColumnBounds;
use crate::scalar::Scalar;

/// A value and its exactness.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Known<T> {
    /// The true value.
    Exact(T),
    /// A bound: never less than the actual value (for a minimum: never more).
    Bound(T),
    /// Unknown without reading the data.
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

/// The statistics of one column.
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
    /// The number of non-null rows, if known although the number of rows is not.
    pub values: Known<u64>,
}

impl ColumnStats {
    /// Combines tight bounds of all pieces of a column; unknown unless the bounds of every piece are known.
    pub fn of_pieces(pieces: impl IntoIterator<Item = Option<ColumnBounds>>) -> Self {
        let (mut min, mut max): (Option<Scalar>, Option<Scalar>) = (None, None);
        let (mut nulls, mut bounded) = (Some(0_u64), true);
        for piece in pieces {
            let Some(piece) = piece else { return Self::default() };
            nulls = nulls.zip(piece.nulls).and_then(|(sum, n)| sum.checked_add(n));
            let only_nulls = piece.rows.is_some() && piece.nulls == piece.rows;
            match (piece.min, piece.max) {
                _ if only_nulls => {}
                (Some(low), Some(high)) => {
                    min = Some(min.map_or_else(|| low.clone(), |min| min.min(low.clone())));
                    max = Some(max.map_or_else(|| high.clone(), |max| max.max(high.clone())));
                }
                _ => bounded = false,
            }
        }
        let exact = |value: Option<Scalar>| value.filter(|_| bounded).map_or(Known::Absent, Known::Exact);
        let nulls = nulls.map_or(Known::Absent, Known::Exact);
        Self { min: exact(min), max: exact(max), nulls, ..Self::default() }
    }
}

/// The statistics of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableStats {
    /// How many rows it has.
    pub rows: Known<u64>,
    /// Stored size in bytes.
    pub bytes: Known<u64>,
    /// By column name; columns without statistics are absent.
    pub columns: BTreeMap<String, ColumnStats>,
}

/// The cost of a plan or a run, in pieces and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RunStats {
    /// Pieces of the table.
    pub pieces: u64,
    /// Pieces pruned by the plan.
    pub pruned: u64,
    /// Pieces that were read.
    pub read: u64,
    /// Requests to the storage, after coalescing.
    pub requests: u64,
    /// Bytes fetched from the storage.
    pub bytes_fetched: u64,
    /// Bytes of decoded output.
    pub bytes_decoded: u64,
    /// Rows returned.
    pub rows: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_added_up_and_an_unknown_one_hides_the_rest() {
        let piece = |min: i64, max: i64| Some(ColumnBounds::range(min, max));
        let whole = ColumnStats::of_pieces([piece(3, 9), piece(-2, 4)]);
        assert_eq!((whole.min, whole.max), (Known::Exact(Scalar::Int(-2)), Known::Exact(Scalar::Int(9))));
        assert_eq!(whole.nulls, Known::Exact(0));
        assert_eq!(ColumnStats::of_pieces([piece(3, 9), None]), ColumnStats::default());

        let only_nulls = Some(ColumnBounds { min: None, max: None, nulls: Some(4), rows: Some(4) });
        let whole = ColumnStats::of_pieces([only_nulls, piece(1, 2)]);
        assert_eq!((whole.min, whole.nulls), (Known::Exact(Scalar::Int(1)), Known::Exact(4)));
        let open = Some(ColumnBounds { min: None, max: None, nulls: Some(1), rows: Some(4) });
        let whole = ColumnStats::of_pieces([open, piece(1, 2)]);
        assert_eq!((whole.min, whole.max, whole.nulls), (Known::Absent, Known::Absent, Known::Exact(1)));
    }
}
