//! Single values of any datatype: bounds of domains, ranges and statistics.
//!
//! Metadata is small, so one widened representation is enough here; cell data never uses it.

use std::cmp::Ordering;

use tesselle_core::Scalar;

use super::datatype::{Datatype, Physical};
use crate::{Error, Result};

/// Parses one value of `datatype` from exactly its bytes.
pub(crate) fn parse_scalar(datatype: Datatype, bytes: &[u8]) -> Result<Scalar> {
    fn fixed<const N: usize>(bytes: &[u8], datatype: Datatype) -> Result<[u8; N]> {
        bytes.try_into().map_err(|_| {
            Error::corrupt(format!("a {} value has {} bytes, expected {N}", datatype.name(), bytes.len()))
        })
    }
    Ok(match datatype.physical() {
        Physical::I8 => i8::from_le_bytes(fixed(bytes, datatype)?).into(),
        Physical::I16 => i16::from_le_bytes(fixed(bytes, datatype)?).into(),
        Physical::I32 => i32::from_le_bytes(fixed(bytes, datatype)?).into(),
        Physical::I64 => i64::from_le_bytes(fixed(bytes, datatype)?).into(),
        Physical::U8 => u8::from_le_bytes(fixed(bytes, datatype)?).into(),
        Physical::U16 => u16::from_le_bytes(fixed(bytes, datatype)?).into(),
        Physical::U32 => u32::from_le_bytes(fixed(bytes, datatype)?).into(),
        Physical::U64 => u64::from_le_bytes(fixed(bytes, datatype)?).into(),
        Physical::F32 => f32::from_le_bytes(fixed(bytes, datatype)?).into(),
        Physical::F64 => f64::from_le_bytes(fixed(bytes, datatype)?).into(),
    })
}

/// Bytes of a string or binary cell: a string if they are UTF-8.
pub(crate) fn string_or_bytes(bytes: &[u8]) -> Scalar {
    std::str::from_utf8(bytes).map_or_else(|_| Scalar::Bytes(bytes.to_vec()), Scalar::from)
}

/// Appends a value as `datatype` stores it; strings and bytes unchanged.
pub(crate) fn write_scalar(value: &Scalar, datatype: Datatype, out: &mut Vec<u8>) -> Result<()> {
    let misfit = || Error::invalid(format!("{value} does not fit {}", datatype.name()));
    macro_rules! int {
        ($v:expr, $t:ty) => {
            out.extend_from_slice(&<$t>::try_from(*$v).map_err(|_| misfit())?.to_le_bytes())
        };
    }
    match (value, datatype.physical()) {
        (Scalar::Bytes(bytes), _) => out.extend_from_slice(bytes),
        (Scalar::String(text), _) => out.extend_from_slice(text.as_bytes()),
        (Scalar::Bool(v), Physical::U8) => out.push(u8::from(*v)),
        (Scalar::Int(v), Physical::I8) => int!(v, i8),
        (Scalar::Int(v), Physical::I16) => int!(v, i16),
        (Scalar::Int(v), Physical::I32) => int!(v, i32),
        (Scalar::Int(v), Physical::I64) => int!(v, i64),
        (Scalar::Int(v), Physical::U8) => int!(v, u8),
        (Scalar::Int(v), Physical::U16) => int!(v, u16),
        (Scalar::Int(v), Physical::U32) => int!(v, u32),
        (Scalar::Int(v), Physical::U64) => int!(v, u64),
        (Scalar::Float(v), Physical::F32) => out.extend_from_slice(&(*v as f32).to_le_bytes()),
        (Scalar::Float(v), Physical::F64) => out.extend_from_slice(&v.to_le_bytes()),
        _ => return Err(misfit()),
    }
    Ok(())
}

/// An inclusive range of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// The lower end.
    pub low: Scalar,
    /// The upper end.
    pub high: Scalar,
}

impl Bounds {
    /// Whether the two ranges can share a value.
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

    /// `[low, high]` in JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!([self.low.to_json(), self.high.to_json()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_width_come_back() {
        for (datatype, value) in [
            (Datatype::Int8, Scalar::Int(-128)),
            (Datatype::Uint64, Scalar::from(u64::MAX)),
            (Datatype::DatetimeNs, Scalar::from(i64::MIN)),
            (Datatype::Float32, Scalar::Float(1.5)),
            (Datatype::Float64, Scalar::Float(f64::INFINITY)),
        ] {
            let mut bytes = Vec::new();
            write_scalar(&value, datatype, &mut bytes).unwrap();
            assert_eq!(bytes.len(), datatype.size());
            assert_eq!(parse_scalar(datatype, &bytes).unwrap(), value);
        }
        assert!(write_scalar(&Scalar::Int(300), Datatype::Uint8, &mut Vec::new()).is_err());
        assert!(parse_scalar(Datatype::Int32, &[1, 2]).is_err());
    }

    #[test]
    fn ranges_intersect_cover_and_extend_each_other() {
        let range = |low, high| Bounds { low: Scalar::Int(low), high: Scalar::Int(high) };
        assert!(range(0, 5).intersects(&range(5, 9)) && !range(0, 4).intersects(&range(5, 9)));
        assert!(range(0, 9).covers(&range(0, 9)) && !range(1, 9).covers(&range(0, 9)));
        let mut wide = range(3, 4);
        wide.extend(&range(1, 9));
        assert_eq!(wide, range(1, 9));
    }
}
