//! The datatypes of fields (spec §6): their numbers, names, widths and default fill values.

use crate::{Error, Result};

/// A TileDB datatype, numbered as on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are those of the format")]
pub enum Datatype {
    Int32 = 0,
    Int64 = 1,
    Float32 = 2,
    Float64 = 3,
    Char = 4,
    Int8 = 5,
    Uint8 = 6,
    Int16 = 7,
    Uint16 = 8,
    Uint32 = 9,
    Uint64 = 10,
    StringAscii = 11,
    StringUtf8 = 12,
    StringUtf16 = 13,
    StringUtf32 = 14,
    StringUcs2 = 15,
    StringUcs4 = 16,
    Any = 17,
    DatetimeYear = 18,
    DatetimeMonth = 19,
    DatetimeWeek = 20,
    DatetimeDay = 21,
    DatetimeHr = 22,
    DatetimeMin = 23,
    DatetimeSec = 24,
    DatetimeMs = 25,
    DatetimeUs = 26,
    DatetimeNs = 27,
    DatetimePs = 28,
    DatetimeFs = 29,
    DatetimeAs = 30,
    TimeHr = 31,
    TimeMin = 32,
    TimeSec = 33,
    TimeMs = 34,
    TimeUs = 35,
    TimeNs = 36,
    TimePs = 37,
    TimeFs = 38,
    TimeAs = 39,
    Blob = 40,
    Bool = 41,
    GeomWkb = 42,
    GeomWkt = 43,
}

/// Datatypes with their names, in the order of their numbers.
const TABLE: [(Datatype, &str); 44] = [
    (Datatype::Int32, "INT32"),
    (Datatype::Int64, "INT64"),
    (Datatype::Float32, "FLOAT32"),
    (Datatype::Float64, "FLOAT64"),
    (Datatype::Char, "CHAR"),
    (Datatype::Int8, "INT8"),
    (Datatype::Uint8, "UINT8"),
    (Datatype::Int16, "INT16"),
    (Datatype::Uint16, "UINT16"),
    (Datatype::Uint32, "UINT32"),
    (Datatype::Uint64, "UINT64"),
    (Datatype::StringAscii, "STRING_ASCII"),
    (Datatype::StringUtf8, "STRING_UTF8"),
    (Datatype::StringUtf16, "STRING_UTF16"),
    (Datatype::StringUtf32, "STRING_UTF32"),
    (Datatype::StringUcs2, "STRING_UCS2"),
    (Datatype::StringUcs4, "STRING_UCS4"),
    (Datatype::Any, "ANY"),
    (Datatype::DatetimeYear, "DATETIME_YEAR"),
    (Datatype::DatetimeMonth, "DATETIME_MONTH"),
    (Datatype::DatetimeWeek, "DATETIME_WEEK"),
    (Datatype::DatetimeDay, "DATETIME_DAY"),
    (Datatype::DatetimeHr, "DATETIME_HR"),
    (Datatype::DatetimeMin, "DATETIME_MIN"),
    (Datatype::DatetimeSec, "DATETIME_SEC"),
    (Datatype::DatetimeMs, "DATETIME_MS"),
    (Datatype::DatetimeUs, "DATETIME_US"),
    (Datatype::DatetimeNs, "DATETIME_NS"),
    (Datatype::DatetimePs, "DATETIME_PS"),
    (Datatype::DatetimeFs, "DATETIME_FS"),
    (Datatype::DatetimeAs, "DATETIME_AS"),
    (Datatype::TimeHr, "TIME_HR"),
    (Datatype::TimeMin, "TIME_MIN"),
    (Datatype::TimeSec, "TIME_SEC"),
    (Datatype::TimeMs, "TIME_MS"),
    (Datatype::TimeUs, "TIME_US"),
    (Datatype::TimeNs, "TIME_NS"),
    (Datatype::TimePs, "TIME_PS"),
    (Datatype::TimeFs, "TIME_FS"),
    (Datatype::TimeAs, "TIME_AS"),
    (Datatype::Blob, "BLOB"),
    (Datatype::Bool, "BOOL"),
    (Datatype::GeomWkb, "GEOM_WKB"),
    (Datatype::GeomWkt, "GEOM_WKT"),
];

/// The machine representation of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the machine types")]
pub enum Physical {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Physical {
    /// Bytes of one value.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

impl Datatype {
    /// The datatype with this number.
    pub(crate) fn from_id(id: u8) -> Result<Self> {
        TABLE.get(usize::from(id)).map(|entry| entry.0).ok_or_else(|| {
            Error::unsupported(format!("datatype {id} is not known; known are 0 to {}", TABLE.len() - 1))
        })
    }

    /// The datatype with this name (`INT32`, `DATETIME_MS`).
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|entry| entry.1 == name).map(|entry| entry.0)
    }

    /// The number on disk.
    pub(crate) const fn id(self) -> u8 {
        self as u8
    }

    /// The name as the format spells it.
    pub fn name(self) -> &'static str {
        TABLE.get(self as usize).map_or("", |entry| entry.1)
    }

    /// Bytes of one value.
    pub const fn size(self) -> usize {
        self.physical().size()
    }

    /// The machine representation of one value.
    pub const fn physical(self) -> Physical {
        match self {
            Self::Int8 | Self::Char => Physical::I8,
            Self::Int16 => Physical::I16,
            Self::Int32 => Physical::I32,
            Self::Uint16 | Self::StringUtf16 | Self::StringUcs2 => Physical::U16,
            Self::Uint32 | Self::StringUtf32 | Self::StringUcs4 => Physical::U32,
            Self::Uint64 => Physical::U64,
            Self::Float32 => Physical::F32,
            Self::Float64 => Physical::F64,
            Self::Int64 => Physical::I64,
            Self::Uint8
            | Self::StringAscii
            | Self::StringUtf8
            | Self::Any
            | Self::Blob
            | Self::Bool
            | Self::GeomWkb
            | Self::GeomWkt => Physical::U8,
            _ => Physical::I64,
        }
    }

    /// Whether this is a datetime or a time of day, stored as a signed 64-bit count.
    pub const fn is_time(self) -> bool {
        matches!(self as u8, 18..=39)
    }

    /// Whether values are strings in one-byte units (read as Utf8 when of variable length).
    pub const fn is_byte_string(self) -> bool {
        matches!(self, Self::StringAscii | Self::StringUtf8 | Self::GeomWkt)
    }

    /// Whether values are opaque bytes (read as Binary).
    pub const fn is_bytes(self) -> bool {
        matches!(self, Self::Char | Self::Blob | Self::Any | Self::GeomWkb)
    }

    /// Whether this is one of the string types.
    pub const fn is_string(self) -> bool {
        matches!(self as u8, 11..=16)
    }

    /// Whether this is an integer type proper (not a time, not a string, not a boolean).
    pub const fn is_integer(self) -> bool {
        matches!(self as u8, 0 | 1 | 5..=10)
    }

    /// Whether this is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// The bytes of one default fill value.
    pub(crate) fn default_fill(self) -> Vec<u8> {
        match self {
            Self::Char => vec![0x80],
            Self::Int8 => i8::MIN.to_le_bytes().to_vec(),
            Self::Int16 => i16::MIN.to_le_bytes().to_vec(),
            Self::Int32 => i32::MIN.to_le_bytes().to_vec(),
            Self::Int64 => i64::MIN.to_le_bytes().to_vec(),
            Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Uint64 => vec![0xff; self.size()],
            Self::Float32 => 0x7fc0_0000_u32.to_le_bytes().to_vec(),
            Self::Float64 => 0x7ff8_0000_0000_0000_u64.to_le_bytes().to_vec(),
            _ if self.is_time() => i64::MIN.to_le_bytes().to_vec(),
            _ => vec![0; self.size()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree_with_the_table() {
        for (i, (datatype, name)) in TABLE.iter().enumerate() {
            assert_eq!(usize::from(datatype.id()), i);
            assert_eq!(Datatype::from_id(datatype.id()).unwrap(), *datatype);
            assert_eq!(Datatype::from_name(name), Some(*datatype));
            assert_eq!(datatype.name(), *name);
            assert_eq!(datatype.default_fill().len(), datatype.size());
        }
        assert!(Datatype::from_id(44).is_err());
    }
}
