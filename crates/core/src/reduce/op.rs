//! The operations.

use std::fmt;
use std::str::FromStr;

use crate::array::DType;
use crate::error::{Error, Result};

/// A reduction operation. The sum and count of no cells are 0; other operations need at least one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// The number of cells, NaN included. Reads no data.
    Count,
    /// The sum: exact for integers; for floats in double precision with compensation. NaN propagates.
    Sum,
    /// The mean, a double. NaN propagates.
    Mean,
    /// The smallest value. NaN is skipped; the result is NaN only if all values are NaN.
    Min,
    /// The largest value. NaN is skipped; the result is NaN only if all values are NaN.
    Max,
    /// The population variance (divided by n), a double. NaN and infinities yield NaN.
    Var,
    /// The square root of the variance.
    Std,
    /// The row-major index of the smallest value among the reduced axes, the lowest in case of ties. NaN is skipped; 0
    /// if all values are NaN.
    ArgMin,
    /// The row-major index of the largest value, as [`ReduceOp::ArgMin`].
    ArgMax,
    /// How many cells are NaN.
    NanCount,
}

impl ReduceOp {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Count,
        Self::Sum,
        Self::Mean,
        Self::Min,
        Self::Max,
        Self::Var,
        Self::Std,
        Self::ArgMin,
        Self::ArgMax,
        Self::NanCount,
    ];

    /// Whether the operation is defined for no cells.
    pub(super) fn has_value_of_nothing(self) -> bool {
        matches!(self, Self::Count | Self::Sum | Self::NanCount)
    }

    /// The name, as it parses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::Var => "var",
            Self::Std => "std",
            Self::ArgMin => "argmin",
            Self::ArgMax => "argmax",
            Self::NanCount => "nan_count",
        }
    }

    /// Whether the result over cells of this type is a float.
    pub fn is_float(self, dtype: DType) -> bool {
        match self {
            Self::Mean | Self::Var | Self::Std => true,
            Self::Sum | Self::Min | Self::Max => dtype.is_float(),
            Self::Count | Self::ArgMin | Self::ArgMax | Self::NanCount => false,
        }
    }
}

impl fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ReduceOp {
    type Err = Error;

    /// Parses the names of [`ReduceOp::name`], and `arg_min`, `arg_max` and `nancount`.
    fn from_str(text: &str) -> Result<Self> {
        let plain = text.replace('_', "");
        let named = Self::ALL.into_iter().find(|op| op.name().replace('_', "") == plain);
        named.ok_or_else(|| Error::unknown_name("operation", text, Self::ALL.map(Self::name)))
    }
}
