//! Scalars, their order, and their min and max.
//!
//! A scalar is one value as bytes: the little-endian number, one byte for a boolean, or the raw bytes of a
//! string without its length.

use std::cmp::Ordering;

use tesselle_core::Scalar;

use super::types::LogicalType;

/// Bounds of the non-null values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) min: Vec<u8>,
    pub(crate) max: Vec<u8>,
}

impl Zone {
    /// Whether both bounds are valid scalars of the type; a NaN bound is not.
    pub(crate) fn is_usable(&self, logical: LogicalType) -> bool {
        [&self.min, &self.max].into_iter().all(|bound| match to_scalar(logical, bound) {
            Some(Scalar::Float(x)) => !x.is_nan(),
            other => other.is_some(),
        })
    }

    /// Extends these bounds to include `other`; on equal scalars the earlier bytes are kept.
    pub(crate) fn merge(&mut self, logical: LogicalType, other: &Self) {
        if compare(logical, &other.min, &self.min) == Ordering::Less {
            self.min.clone_from(&other.min);
        }
        if compare(logical, &other.max, &self.max) == Ordering::Greater {
            self.max.clone_from(&other.max);
        }
    }

    /// Merges the bounds of parts, in order. Parts without bounds are ignored.
    pub(crate) fn merge_all<'a>(
        logical: LogicalType,
        parts: impl IntoIterator<Item = Option<&'a Self>>,
    ) -> Option<Self> {
        let mut all: Option<Self> = None;
        for part in parts.into_iter().flatten() {
            match &mut all {
                Some(zone) => zone.merge(logical, part),
                None => all = Some(part.clone()),
            }
        }
        all
    }
}

/// The order of two scalars of one type. NaN is unordered, and a scalar of a wrong width is equal to
/// everything: neither can prove that a value is absent.
pub(crate) fn compare(logical: LogicalType, a: &[u8], b: &[u8]) -> Ordering {
    if logical.is_binary() {
        return a.cmp(b);
    }
    match (to_scalar(logical, a), to_scalar(logical, b)) {
        (Some(Scalar::Int(a)), Some(Scalar::Int(b))) => a.cmp(&b),
        (Some(Scalar::Bool(a)), Some(Scalar::Bool(b))) => a.cmp(&b),
        (Some(Scalar::Float(a)), Some(Scalar::Float(b))) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    }
}

/// The value of a scalar; `None` for a wrong width or a type without scalars.
pub(crate) fn to_scalar(logical: LogicalType, bytes: &[u8]) -> Option<Scalar> {
    macro_rules! number {
        ($type:ty) => {
            Scalar::from(<$type>::from_le_bytes(bytes.try_into().ok()?))
        };
    }
    Some(match logical {
        LogicalType::Bool => Scalar::Bool(match bytes {
            [byte] => *byte != 0,
            _ => return None,
        }),
        LogicalType::Int8 => number!(i8),
        LogicalType::Int16 => number!(i16),
        LogicalType::Int32 => number!(i32),
        LogicalType::Int64 | LogicalType::TimestampMicros => number!(i64),
        LogicalType::UInt8 => number!(u8),
        LogicalType::UInt16 => number!(u16),
        LogicalType::UInt32 => number!(u32),
        LogicalType::UInt64 => number!(u64),
        LogicalType::Float32 => number!(f32),
        LogicalType::Float64 => number!(f64),
        LogicalType::String => match std::str::from_utf8(bytes) {
            Ok(string) => Scalar::String(string.to_owned()),
            Err(_) => Scalar::Bytes(bytes.to_vec()),
        },
        LogicalType::Bytes => Scalar::Bytes(bytes.to_vec()),
        LogicalType::List | LogicalType::BlobRef => return None,
    })
}

/// The bytes of a value in a column of this type; `None` if no value of the column can equal it.
pub(crate) fn from_scalar(logical: LogicalType, value: &Scalar) -> Option<Vec<u8>> {
    macro_rules! integer {
        ($type:ty) => {
            <$type>::try_from(as_integer(value)?).ok()?.to_le_bytes().to_vec()
        };
    }
    Some(match logical {
        LogicalType::Bool => match value {
            Scalar::Bool(b) => vec![u8::from(*b)],
            _ => vec![u8::from(match as_integer(value)? {
                0 => false,
                1 => true,
                _ => return None,
            })],
        },
        LogicalType::Int8 => integer!(i8),
        LogicalType::Int16 => integer!(i16),
        LogicalType::Int32 => integer!(i32),
        LogicalType::Int64 | LogicalType::TimestampMicros => integer!(i64),
        LogicalType::UInt8 => integer!(u8),
        LogicalType::UInt16 => integer!(u16),
        LogicalType::UInt32 => integer!(u32),
        LogicalType::UInt64 => integer!(u64),
        LogicalType::Float32 => {
            let wide = as_float(value)?;
            let narrow = wide as f32;
            (f64::from(narrow) == wide).then(|| narrow.to_le_bytes().to_vec())?
        }
        LogicalType::Float64 => as_float(value)?.to_le_bytes().to_vec(),
        LogicalType::String | LogicalType::Bytes => match value {
            Scalar::String(string) => string.as_bytes().to_vec(),
            Scalar::Bytes(bytes) => bytes.clone(),
            _ => return None,
        },
        LogicalType::List | LogicalType::BlobRef => return None,
    })
}

fn as_integer(value: &Scalar) -> Option<i128> {
    match value {
        Scalar::Int(n) => Some(*n),
        Scalar::Bool(b) => Some(i128::from(*b)),
        Scalar::Float(x) if x.fract() == 0.0 && x.abs() < 1e30 => Some(*x as i128),
        _ => None,
    }
}

fn as_float(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::Float(x) => Some(*x),
        Scalar::Int(n) => Some(*n as f64).filter(|x| *x as i128 == *n),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(min: impl Into<Vec<u8>>, max: impl Into<Vec<u8>>) -> Zone {
        Zone { min: min.into(), max: max.into() }
    }

    #[test]
    fn numbers_compare_by_value_and_strings_by_bytes() {
        assert_eq!(compare(LogicalType::Int16, &(-1i16).to_le_bytes(), &1i16.to_le_bytes()), Ordering::Less);
        assert_eq!(compare(LogicalType::UInt16, &[0xff, 0xff], &[1, 0]), Ordering::Greater);
        assert_eq!(
            compare(LogicalType::Float32, &(-0.0f32).to_le_bytes(), &0.0f32.to_le_bytes()),
            Ordering::Equal
        );
        assert_eq!(
            compare(LogicalType::Float64, &f64::NAN.to_le_bytes(), &1.0f64.to_le_bytes()),
            Ordering::Equal
        );
        assert_eq!(compare(LogicalType::String, b"ab", b"abc"), Ordering::Less);
        assert_eq!(compare(LogicalType::Int64, b"short", &0i64.to_le_bytes()), Ordering::Equal);
    }

    #[test]
    fn bounds_merge_and_nan_invalidates_them() {
        let mut all = zone([5, 0, 0, 0], [9, 0, 0, 0]);
        all.merge(LogicalType::Int32, &zone((-2i32).to_le_bytes(), [7, 0, 0, 0]));
        assert_eq!(all, zone((-2i32).to_le_bytes(), [9, 0, 0, 0]));
        assert!(all.is_usable(LogicalType::Int32));
        assert!(!all.is_usable(LogicalType::Int64));
        assert!(!zone(f32::NAN.to_le_bytes(), 1.0f32.to_le_bytes()).is_usable(LogicalType::Float32));
    }

    #[test]
    fn a_value_outside_the_type_has_no_scalar() {
        assert_eq!(from_scalar(LogicalType::UInt8, &Scalar::Int(-1)), None);
        assert_eq!(from_scalar(LogicalType::UInt8, &Scalar::Float(7.0)), Some(vec![7]));
        assert_eq!(from_scalar(LogicalType::Float32, &Scalar::Float(0.1)), None);
        assert_eq!(from_scalar(LogicalType::Bytes, &Scalar::String("a".into())), Some(vec![b'a']));
    }
}
