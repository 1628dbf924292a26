//! Compares statistics with the points they describe, or with the statistics of their parts.

use crate::meta::{ChunkHeader, DataType, Encoding, Statistics, Sum, Value};
use crate::points;
use crate::read::loaded::Loaded;

/// Integers up to this value, and their sums, are exact as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Relative tolerance for the sums of parts: they depend on the order of addition.
const SUM_ORDER: f64 = 1e-6;

/// How statistics are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Compare {
    /// Stated with merged statistics: all fields, float sums approximately.
    Merged,
    /// Stated statistics with decoded values in stored order: all fields, exactly.
    Decoded,
    /// Like `Decoded`, but the encoding preserves each value only within this distance.
    Near(f64),
    /// Count and times only: the encoding may have changed any value.
    Times,
}

impl Compare {
    /// How the statistics of a page are compared with its points.
    pub(super) fn page(loaded: &Loaded, number: usize, stated: &Statistics) -> Self {
        let header = &loaded.header;
        let (encoding, data_type) = (header.encoding, header.data_type);
        if !encoding.is_lossy(data_type) {
            return Self::Decoded;
        }
        let is_float = matches!(data_type, DataType::Float | DataType::Double);
        let Some((min, max)) = bounds(stated) else { return Self::Times };
        let magnitude = min.abs().max(max.abs());
        // The rounding error of the type at the largest value, over all points of a page.
        let digits = if data_type == DataType::Float { 1e-3 } else { 1e-9 };
        match encoding {
            Encoding::Rle | Encoding::Ts2Diff => {
                let limit = if data_type == DataType::Float { 2f64.powi(31) } else { 2f64.powi(63) };
                match points::decimals(loaded, number) {
                    Some(unit) if magnitude / unit < limit / 2.0 => Self::Near(unit + magnitude * 1e-7),
                    _ => Self::Times,
                }
            }
            Encoding::Camel => Self::Near(magnitude * digits),
            Encoding::Rlbe if is_float => Self::Near(magnitude * digits),
            Encoding::Rlbe | Encoding::Sprintz if is_narrow(header, stated) => Self::Decoded,
            _ => Self::Times,
        }
    }
}

/// Min and max of numbers, if all of them are finite.
fn bounds(stated: &Statistics) -> Option<(f64, f64)> {
    let number = |value: &Option<Value>| match value {
        Some(Value::Int32(v)) => Some(f64::from(*v)),
        Some(Value::Int64(v)) => Some(*v as f64),
        Some(Value::Float(v)) => Some(f64::from(*v)),
        Some(Value::Double(v)) => Some(*v),
        _ => None,
    };
    let bounds = (number(&stated.min)?, number(&stated.max)?);
    let is_finite = bounds.0.is_finite() && bounds.1.is_finite() && stated.sum_as_float().is_finite();
    is_finite.then_some(bounds)
}

/// Whether values are so close together that an encoding of their differences cannot overflow.
fn is_narrow(header: &ChunkHeader, stated: &Statistics) -> bool {
    let word = |value: &Option<Value>| match value {
        Some(Value::Int32(v)) => Some(i128::from(*v)),
        Some(Value::Int64(v)) => Some(i128::from(*v)),
        Some(Value::Float(v)) => Some(i128::from(v.to_bits().cast_signed())),
        Some(Value::Double(v)) => Some(i128::from(v.to_bits().cast_signed())),
        _ => None,
    };
    let wide = matches!(header.data_type, DataType::Int64 | DataType::Timestamp | DataType::Double);
    let limit = 1i128 << if wide { 56 } else { 24 };
    let (Some(min), Some(max)) = (word(&stated.min), word(&stated.max)) else { return false };
    (max - min).abs() < limit
}

/// Describes the difference. Fields that either side lacks are not compared.
pub(crate) fn difference(stated: &Statistics, found: &Statistics, compare: Compare) -> Option<String> {
    if stated.count != found.count {
        return Some(format!("count {} and {}", stated.count, found.count));
    }
    if stated.count == 0 {
        return None;
    }
    let times = |s: &Statistics| (s.start_time, s.end_time);
    if times(stated) != times(found) {
        return Some(format!("times {:?} and {:?}", times(stated), times(found)));
    }
    if compare == Compare::Times {
        return None;
    }
    let fields = [
        ("min", &stated.min, &found.min),
        ("max", &stated.max, &found.max),
        ("first", &stated.first, &found.first),
        ("last", &stated.last, &found.last),
    ];
    for (name, a, b) in fields {
        if let (Some(a), Some(b)) = (a, b)
            && !is_equal(a, b, compare)
        {
            return Some(format!("{name} {} and {}", a.to_json(), b.to_json()));
        }
    }
    match (stated.sum, found.sum) {
        (Some(Sum::Integer(a)), Some(Sum::Integer(b))) if a != b => Some(format!("sum {a} and {b}")),
        (Some(Sum::Float(a)), Some(Sum::Float(b))) if !is_same_sum(a, b, stated, compare) => {
            Some(format!("sum {a:?} and {b:?}"))
        }
        _ => None,
    }
}

/// Zeros of either sign are equal in the comparisons of the writers.
fn is_equal(a: &Value, b: &Value, compare: Compare) -> bool {
    if a.is_same(b) || a.compare(b, crate::meta::Version::V4) == Some(std::cmp::Ordering::Equal) {
        return true;
    }
    let Compare::Near(unit) = compare else { return false };
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => f64::from((a - b).abs()) <= unit,
        (Value::Double(a), Value::Double(b)) => (a - b).abs() <= unit,
        _ => false,
    }
}

fn is_same_sum(a: f64, b: f64, stated: &Statistics, compare: Compare) -> bool {
    if a == b || (a.is_nan() && b.is_nan()) {
        return true;
    }
    let distance = (a - b).abs();
    let is_near = |tolerance: f64| distance.is_finite() && distance <= tolerance;
    match compare {
        Compare::Decoded | Compare::Times => false,
        Compare::Near(unit) => is_near(unit * stated.count as f64),
        Compare::Merged => {
            let is_integer = matches!(stated.min, Some(Value::Int32(_) | Value::Int64(_)));
            // Below 2^53 integers add up exactly in any order.
            let largest = bounds(stated).map_or(f64::INFINITY, |(min, max)| min.abs().max(max.abs()));
            let is_exact = is_integer && largest * (stated.count as f64) < EXACT;
            !is_exact && is_near(SUM_ORDER * a.abs().max(b.abs()).max(1.0))
        }
    }
}
