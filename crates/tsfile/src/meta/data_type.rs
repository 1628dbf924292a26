//! Types of values and their codes.

use tesselle_core::{Error, Result};

/// The type of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataType {
    /// True or false.
    Boolean,
    /// 32-bit integer.
    Int32,
    /// 64-bit integer.
    Int64,
    /// Single.
    Float,
    /// Double.
    Double,
    /// Bytes, meant to be UTF-8.
    Text,
    /// The time column of an aligned device, without values.
    Vector,
    /// 64-bit time in the file's unit (version 4).
    Timestamp,
    /// A day as the decimal number yyyymmdd (version 4).
    Date,
    /// Bytes (version 4).
    Blob,
    /// UTF-8 string (version 4).
    String,
}

/// The physical form of a type in pages and statistics; several types share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Physical {
    /// One byte.
    Boolean,
    /// Four bytes.
    Int32,
    /// Eight bytes.
    Int64,
    /// Four bytes, IEEE-754.
    Float,
    /// Eight bytes, IEEE-754.
    Double,
    /// Length and bytes.
    Binary,
}

/// Runs `$body` with `$list` bound to the values of a fixed-width column of the enum `$of`, or `$other` with `$strings`
/// bound to its strings.
macro_rules! each_physical {
    ($of:ident, $column:expr, $list:ident => $body:expr, $strings:ident => $other:expr) => {
        match $column {
            $of::Boolean($list) => $body,
            $of::Int32($list) => $body,
            $of::Int64($list) => $body,
            $of::Float($list) => $body,
            $of::Double($list) => $body,
            $of::Binary($strings) => $other,
        }
    };
}
pub(crate) use each_physical;

impl DataType {
    /// All types.
    pub const ALL: [Self; 11] = [
        Self::Boolean,
        Self::Int32,
        Self::Int64,
        Self::Float,
        Self::Double,
        Self::Text,
        Self::Vector,
        Self::Timestamp,
        Self::Date,
        Self::Blob,
        Self::String,
    ];

    /// The code in files.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Boolean => 0,
            Self::Int32 => 1,
            Self::Int64 => 2,
            Self::Float => 3,
            Self::Double => 4,
            Self::Text => 5,
            Self::Vector => 6,
            Self::Timestamp => 8,
            Self::Date => 9,
            Self::Blob => 10,
            Self::String => 11,
        }
    }

    /// The type of a code.
    pub(crate) fn from_code(code: i32) -> Result<Self> {
        Self::ALL.into_iter().find(|t| i32::from(t.code()) == code).ok_or_else(|| {
            Error::corrupt(format!("data type {code} is not known"))
                .class("unsupported_type")
                .hint("supported are 0 to 6 and 8 to 11")
        })
    }

    /// The name in the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Boolean => "BOOLEAN",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Text => "TEXT",
            Self::Vector => "VECTOR",
            Self::Timestamp => "TIMESTAMP",
            Self::Date => "DATE",
            Self::Blob => "BLOB",
            Self::String => "STRING",
        }
    }

    /// The type of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The physical form; `None` for the time column.
    pub fn physical(self) -> Option<Physical> {
        Some(match self {
            Self::Boolean => Physical::Boolean,
            Self::Int32 | Self::Date => Physical::Int32,
            Self::Int64 | Self::Timestamp => Physical::Int64,
            Self::Float => Physical::Float,
            Self::Double => Physical::Double,
            Self::Text | Self::String | Self::Blob => Physical::Binary,
            Self::Vector => return None,
        })
    }

    /// Whether values are strings.
    pub fn is_string(self) -> bool {
        matches!(self, Self::Text | Self::String)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_round_trip() {
        for t in DataType::ALL {
            assert_eq!(DataType::from_code(i32::from(t.code())).unwrap(), t);
            assert_eq!(DataType::from_name(t.name()), Some(t));
        }
        assert!(DataType::from_code(7).is_err());
        assert!(DataType::from_code(-1).is_err());
    }
}
