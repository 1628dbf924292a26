//! Single values of any datatype, as bounds of domains, ranges and statistics use them.
//!
//! Metadata is small, so one widened form is enough here; data never goes through this type.

use std::cmp::Ordering;

use serde_json::{Number, Value as Json};

use super::datatype::{Datatype, Physical};
use crate::{Error, Result};

/// One value in a form that loses nothing: every integer type fits `i128`, `f32` fits `f64`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer, a datetime, a time or a boolean.
    Int(i128),
    /// A float.
    Float(f64),
    /// Text or bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// Reads one value of `datatype` from exactly its bytes.
    pub fn parse(datatype: Datatype, bytes: &[u8]) -> Result<Self> {
        fn fixed<const N: usize>(bytes: &[u8], datatype: Datatype) -> Result<[u8; N]> {
            bytes.try_into().map_err(|_| {
                Error::corrupt(format!("a {} value has {} bytes, expected {N}", datatype.name(), bytes.len()))
            })
        }
        Ok(match datatype.physical() {
            Physical::I8 => Self::Int(i8::from_le_bytes(fixed(bytes, datatype)?).into()),
            Physical::I16 => Self::Int(i16::from_le_bytes(fixed(bytes, datatype)?).into()),
            Physical::I32 => Self::Int(i32::from_le_bytes(fixed(bytes, datatype)?).into()),
            Physical::I64 => Self::Int(i64::from_le_bytes(fixed(bytes, datatype)?).into()),
            Physical::U8 => Self::Int(u8::from_le_bytes(fixed(bytes, datatype)?).into()),
            Physical::U16 => Self::Int(u16::from_le_bytes(fixed(bytes, datatype)?).into()),
            Physical::U32 => Self::Int(u32::from_le_bytes(fixed(bytes, datatype)?).into()),
            Physical::U64 => Self::Int(u64::from_le_bytes(fixed(bytes, datatype)?).into()),
            Physical::F32 => Self::Float(f32::from_le_bytes(fixed(bytes, datatype)?).into()),
            Physical::F64 => Self::Float(f64::from_le_bytes(fixed(bytes, datatype)?)),
        })
    }

    /// Appends the value as `datatype` stores it; text and bytes as they are.
    pub fn write(&self, datatype: Datatype, out: &mut Vec<u8>) -> Result<()> {
        let narrow = || Error::invalid(format!("{self:?} does not fit {}", datatype.name()));
        macro_rules! int {
            ($v:expr, $t:ty) => {
                out.extend_from_slice(&<$t>::try_from(*$v).map_err(|_| narrow())?.to_le_bytes())
            };
        }
        match (self, datatype.physical()) {
            (Self::Bytes(bytes), _) => out.extend_from_slice(bytes),
            (Self::Int(v), Physical::I8) => int!(v, i8),
            (Self::Int(v), Physical::I16) => int!(v, i16),
            (Self::Int(v), Physical::I32) => int!(v, i32),
            (Self::Int(v), Physical::I64) => int!(v, i64),
            (Self::Int(v), Physical::U8) => int!(v, u8),
            (Self::Int(v), Physical::U16) => int!(v, u16),
            (Self::Int(v), Physical::U32) => int!(v, u32),
            (Self::Int(v), Physical::U64) => int!(v, u64),
            (Self::Float(v), Physical::F32) => out.extend_from_slice(&(*v as f32).to_le_bytes()),
            (Self::Float(v), Physical::F64) => out.extend_from_slice(&v.to_le_bytes()),
            _ => return Err(narrow()),
        }
        Ok(())
    }

    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(v) => Some(*v),
            _ => None,
        }
    }

    /// Compares values of one kind; `None` across kinds and for NaN.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// The value in JSON; infinities, NaN and bytes that are not text in the house's notation.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Int(v) => i64::try_from(*v)
                .map(Json::from)
                .or_else(|_| u64::try_from(*v).map(Json::from))
                .unwrap_or_else(|_| Json::from(v.to_string())),
            Self::Float(v) => float_json(*v),
            Self::Bytes(bytes) => bytes_json(bytes),
        }
    }
}

/// A float in JSON; what JSON has no number for becomes a word.
pub fn float_json(v: f64) -> Json {
    match Number::from_f64(v) {
        Some(number) => Json::Number(number),
        None if v.is_nan() => Json::from("NaN"),
        None if v > 0.0 => Json::from("Infinity"),
        None => Json::from("-Infinity"),
    }
}

/// Bytes in JSON: text where they are text, otherwise in hexadecimal.
pub fn bytes_json(bytes: &[u8]) -> Json {
    std::str::from_utf8(bytes).map_or_else(|_| serde_json::json!({ "hex": hex(bytes) }), Json::from)
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// An inclusive range of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// The lower end.
    pub low: Value,
    /// The upper end.
    pub high: Value,
}

impl Range {
    /// Whether the two ranges can share a value. Ends that cannot be compared (NaN) count as shared.
    pub fn intersects(&self, other: &Self) -> bool {
        self.low.compare(&other.high) != Some(Ordering::Greater)
            && other.low.compare(&self.high) != Some(Ordering::Greater)
    }

    /// Whether every value of `other` lies in this range.
    pub fn covers(&self, other: &Self) -> bool {
        matches!(self.low.compare(&other.low), Some(Ordering::Less | Ordering::Equal))
            && matches!(self.high.compare(&other.high), Some(Ordering::Greater | Ordering::Equal))
    }

    /// Widens this range so that it covers `other`.
    pub fn extend(&mut self, other: &Self) {
        if other.low.compare(&self.low) == Some(Ordering::Less) {
            self.low = other.low.clone();
        }
        if other.high.compare(&self.high) == Some(Ordering::Greater) {
            self.high = other.high.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_width_come_back() {
        for (datatype, value) in [
            (Datatype::Int8, Value::Int(-128)),
            (Datatype::Uint64, Value::Int(u64::MAX.into())),
            (Datatype::DatetimeNs, Value::Int(i64::MIN.into())),
            (Datatype::Float32, Value::Float(1.5)),
            (Datatype::Float64, Value::Float(f64::INFINITY)),
        ] {
            let mut bytes = Vec::new();
            value.write(datatype, &mut bytes).unwrap();
            assert_eq!(bytes.len(), datatype.size());
            assert_eq!(Value::parse(datatype, &bytes).unwrap(), value);
        }
        assert!(Value::Int(300).write(Datatype::Uint8, &mut Vec::new()).is_err());
        assert!(Value::parse(Datatype::Int32, &[1, 2]).is_err());
    }

    #[test]
    fn json_keeps_large_integers_and_names_special_floats() {
        assert_eq!(Value::Int(u64::MAX.into()).to_json(), serde_json::json!(u64::MAX));
        assert_eq!(Value::Float(f64::NEG_INFINITY).to_json(), serde_json::json!("-Infinity"));
        assert_eq!(Value::Bytes(vec![0xff]).to_json(), serde_json::json!({"hex": "ff"}));
    }

    #[test]
    fn ranges_know_how_they_lie_to_each_other() {
        let range = |low, high| Range { low: Value::Int(low), high: Value::Int(high) };
        assert!(range(0, 5).intersects(&range(5, 9)) && !range(0, 4).intersects(&range(5, 9)));
        assert!(range(0, 9).covers(&range(0, 9)) && !range(1, 9).covers(&range(0, 9)));
        let nan = Range { low: Value::Float(f64::NAN), high: Value::Float(f64::NAN) };
        assert!(nan.intersects(&Range { low: Value::Float(0.0), high: Value::Float(1.0) }));
    }
}
