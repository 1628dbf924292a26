//! One value in metadata: min, max, first or last.

use std::cmp::Ordering;

use serde_json::{Value as Json, json};
use tesselle_core::{Cursor, Result, hex, json_bytes, json_float};

use super::primitive::Primitives as _;
use super::{DataType, Physical, PutPrimitives, Version};

/// A single value of any type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// BOOLEAN.
    Boolean(bool),
    /// INT32 and DATE.
    Int32(i32),
    /// INT64 and TIMESTAMP.
    Int64(i64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// TEXT, STRING and BLOB.
    Binary(Vec<u8>),
}

impl Value {
    /// Reads a value in its big-endian form; strings have a length prefix.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, physical: Physical) -> Result<Self> {
        Ok(match physical {
            Physical::Boolean => Self::Boolean(cursor.u8()? != 0),
            Physical::Int32 => Self::Int32(cursor.i32_be()?),
            Physical::Int64 => Self::Int64(cursor.i64_be()?),
            Physical::Float => Self::Float(cursor.f32_be()?),
            Physical::Double => Self::Double(cursor.f64_be()?),
            Physical::Binary => Self::Binary(cursor.bin()?.to_vec()),
        })
    }

    /// Writes the form that [`Value::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Binary(bytes) => out.put_bin(bytes),
            other => {
                other.write_bare(out);
                Ok(())
            }
        }
    }

    /// Writes the value without a length, as in digests.
    pub(crate) fn write_bare(&self, out: &mut Vec<u8>) {
        match self {
            Self::Boolean(v) => out.push(u8::from(*v)),
            Self::Int32(v) => out.put_i32(*v),
            Self::Int64(v) => out.put_i64(*v),
            Self::Float(v) => out.extend_from_slice(&v.to_be_bytes()),
            Self::Double(v) => out.put_f64(*v),
            Self::Binary(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// Reads all of `bytes` as one value without a length.
    pub(crate) fn parse_bare(bytes: &[u8], physical: Physical, offset: u64) -> Result<Self> {
        if physical == Physical::Binary {
            return Ok(Self::Binary(bytes.to_vec()));
        }
        let mut cursor = Cursor::new(bytes, offset, "statistic");
        let value = Self::parse(&mut cursor, physical)?;
        cursor.expect_end()?;
        Ok(value)
    }

    /// The order of the format: numbers by value (NaN is unordered), strings by bytes, a prefix first. In the
    /// first two versions bytes compare as signed.
    pub(crate) fn compare(&self, other: &Self, version: Version) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => Some(a.cmp(b)),
            (Self::Int32(a), Self::Int32(b)) => Some(a.cmp(b)),
            (Self::Int64(a), Self::Int64(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(b),
            (Self::Binary(a), Self::Binary(b)) => Some(compare_strings(a, b, version)),
            _ => None,
        }
    }

    /// Whether both have the same bits; all NaNs are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Self::Double(a), Self::Double(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            _ => self == other,
        }
    }

    /// The value as reports print it.
    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::Boolean(v) => json!(v),
            Self::Int32(v) => json!(v),
            Self::Int64(v) => json!(v),
            // The shortest decimal form of a float differs from that of the same value as a double.
            Self::Float(v) => json_float(v.to_string().parse().unwrap_or(f64::from(*v))),
            Self::Double(v) => json_float(*v),
            Self::Binary(bytes) => json_bytes(bytes),
        }
    }

    /// The value as reports print it for a column of type `data_type`: BLOB always in hexadecimal.
    pub(crate) fn to_json_as(&self, data_type: DataType) -> Json {
        match (self, data_type) {
            (Self::Binary(bytes), DataType::Blob) => json!({ "hex": hex(bytes) }),
            _ => self.to_json(),
        }
    }
}

/// The order of strings in statistics: 0.8 and 000001 compare bytes as signed, like Java; version 4 as
/// unsigned. The versions in between store no bounds of strings.
pub(crate) fn compare_strings(a: &[u8], b: &[u8], version: Version) -> Ordering {
    if !version.is_flat() {
        return a.cmp(b);
    }
    let differing = a.iter().zip(b).find(|(x, y)| x != y);
    differing.map_or(a.len().cmp(&b.len()), |(x, y)| x.cast_signed().cmp(&y.cast_signed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_ordered_by_signed_bytes_in_the_first_versions() {
        assert_eq!(compare_strings("β".as_bytes(), b"a", Version::V1), Ordering::Less);
        assert_eq!(compare_strings("β".as_bytes(), b"a", Version::V4), Ordering::Greater);
        assert_eq!(compare_strings(b"ab", b"abc", Version::V1), Ordering::Less);
        assert_eq!(compare_strings(b"", b"", Version::V1), Ordering::Equal);
    }

    #[test]
    fn floats_keep_their_shortest_decimal_form() {
        assert_eq!(Value::Float(1.1).to_json().to_string(), "1.1");
        assert_eq!(Value::Double(f64::NEG_INFINITY).to_json(), json!("-Infinity"));
        assert_eq!(Value::Double(-0.0).to_json().to_string(), "-0.0");
        assert_eq!(Value::Binary(vec![0xff]).to_json(), json!({"hex": "ff"}));
    }

    #[test]
    fn values_round_trip() {
        let values = [
            (Physical::Boolean, Value::Boolean(true)),
            (Physical::Int32, Value::Int32(-2)),
            (Physical::Int64, Value::Int64(i64::MIN)),
            (Physical::Float, Value::Float(1.5)),
            (Physical::Double, Value::Double(-2.0)),
            (Physical::Binary, Value::Binary(b"ab".to_vec())),
        ];
        for (physical, value) in values {
            let (mut out, mut bare) = (Vec::new(), Vec::new());
            value.write(&mut out).unwrap();
            value.write_bare(&mut bare);
            assert_eq!(Value::parse(&mut Cursor::new(&out, 0, "v"), physical).unwrap(), value);
            assert_eq!(Value::parse_bare(&bare, physical, 0).unwrap(), value);
        }
    }
}
