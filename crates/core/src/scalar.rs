//! A single value of predicates and statistics.

use std::cmp::Ordering;
use std::fmt;

/// A value without its storage width: integers of every width and time unit are one kind, compared exactly.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Scalar {
    /// No value.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of any width, or a time in its column's unit.
    Int(i128),
    /// A float of any width.
    Float(#[cfg_attr(feature = "serde", serde(with = "crate::ticket::bits"))] f64),
    /// A string.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Scalar {
    /// Compares two values of comparable kinds. `None` if either is null or the kinds do not compare (such as a number
    /// and a string). NaN is equal to itself and above every other float, as in SQL engines that sort it last.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => Some(compare_floats(*a, *b)),
            (Self::Int(a), Self::Float(b)) => Some(compare_int_float(*a, *b)),
            (Self::Float(a), Self::Int(b)) => Some(compare_int_float(*b, *a).reverse()),
            (Self::String(a), Self::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::String(a), Self::Bytes(b)) => Some(a.as_bytes().cmp(b)),
            (Self::Bytes(a), Self::String(b)) => Some(a.as_slice().cmp(b.as_bytes())),
            (Self::Bool(a), Self::Int(b)) => Some(i128::from(*a).cmp(b)),
            (Self::Int(a), Self::Bool(b)) => Some(a.cmp(&i128::from(*b))),
            _ => None,
        }
    }

    /// The smaller of two values; a null or incomparable one loses.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        match self.compare(&other) {
            Some(Ordering::Greater) => other,
            None if self == Self::Null => other,
            _ => self,
        }
    }

    /// The larger of two values; a null or incomparable one loses.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        match self.compare(&other) {
            Some(Ordering::Less) => other,
            None if self == Self::Null => other,
            _ => self,
        }
    }

    /// The JSON form: special floats as names, bytes that are not UTF-8 as hex.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Self::Null => Value::Null,
            Self::Bool(b) => Value::from(*b),
            Self::Int(i) => i64::try_from(*i)
                .map(Value::from)
                .or_else(|_| u64::try_from(*i).map(Value::from))
                .unwrap_or_else(|_| Value::from(i.to_string())),
            Self::Float(f) => json_float(*f),
            Self::String(t) => Value::from(t.as_str()),
            Self::Bytes(b) => json_bytes(b),
        }
    }
}

/// A float as JSON: NaN and infinities by name.
pub fn json_float(value: f64) -> serde_json::Value {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    serde_json::Value::from(value)
}

/// Bytes as JSON: a string if they are UTF-8, else `{"hex": …}`.
pub fn json_bytes(value: &[u8]) -> serde_json::Value {
    match std::str::from_utf8(value) {
        Ok(text) => text.into(),
        Err(_) => serde_json::json!({ "hex": hex(value) }),
    }
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of pairs of hexadecimal digits; `None` if there is anything else.
pub fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(value(*high)? << 4 | value(*low)?),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(b) => f.write_str(if *b { "TRUE" } else { "FALSE" }),
            Self::Int(i) => write!(f, "{i}"),
            // An out-of-range literal is how a condition spells an infinity.
            Self::Float(x) if x.is_infinite() => f.write_str(if *x > 0.0 { "1e999" } else { "-1e999" }),
            Self::Float(x) => write!(f, "{x:?}"),
            Self::String(t) => write!(f, "'{}'", t.replace('\'', "''")),
            Self::Bytes(b) => write!(f, "X'{}'", hex(b)),
        }
    }
}

fn compare_floats(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
    }
}

/// Exact, even above 2^53, where a conversion would round.
fn compare_int_float(a: i128, b: f64) -> Ordering {
    if b.is_nan() || b >= 1.7e38 {
        return Ordering::Less;
    }
    if b <= -1.7e38 {
        return Ordering::Greater;
    }
    let floor = b.floor();
    a.cmp(&(floor as i128)).then(if b > floor { Ordering::Less } else { Ordering::Equal })
}

macro_rules! from_integer {
    ($($type:ty),*) => {$(
        impl From<$type> for Scalar {
            fn from(value: $type) -> Self {
                Self::Int(i128::from(value))
            }
        }
    )*};
}
from_integer!(i8, i16, i32, i64, u8, u16, u32, u64);

impl From<f32> for Scalar {
    fn from(value: f32) -> Self {
        Self::Float(f64::from(value))
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Scalar {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_compare_exactly() {
        let big = Scalar::Int((1 << 53) + 1);
        assert_eq!(big.compare(&Scalar::Float(9_007_199_254_740_992.0)), Some(Ordering::Greater));
        assert_eq!(Scalar::Int(3).compare(&Scalar::Float(3.5)), Some(Ordering::Less));
        assert_eq!(Scalar::Int(-3).compare(&Scalar::Float(-3.5)), Some(Ordering::Greater));
        assert_eq!(Scalar::Int(i128::MAX).compare(&Scalar::Float(f64::INFINITY)), Some(Ordering::Less));
        assert_eq!(Scalar::Null.compare(&Scalar::Int(1)), None);
        assert_eq!(Scalar::String("1".into()).compare(&Scalar::Int(1)), None);
    }

    #[test]
    fn json_represents_special_values() {
        assert_eq!(Scalar::Float(f64::NAN).to_json(), "NaN");
        assert_eq!(Scalar::Bytes(vec![0xff]).to_json()["hex"], "ff");
        assert_eq!(Scalar::from(u64::MAX).to_json(), serde_json::json!(u64::MAX));
    }
}
