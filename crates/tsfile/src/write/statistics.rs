//! Statistics of the points of a page.

use std::cmp::Ordering;

use super::values::Slice;
use crate::meta::value::compare_strings;
use crate::meta::{Statistics, Sum, Value, Version};

/// The statistics of points in time order. Fields that the version lacks are computed if they are cheap; the
/// version determines what is written.
pub(crate) fn of_points(times: &[i64], values: Slice<'_>, version: Version) -> Statistics {
    let mut stats = of_times(times);
    if times.is_empty() {
        return stats;
    }
    let flat = version.is_flat();
    match values {
        Slice::Boolean(list) => {
            fill(&mut stats, list, |&v| Value::Boolean(v), |a, b| b.cmp(a));
            let count = list.iter().filter(|v| **v).count() as i64;
            stats.sum = Some(if flat { Sum::Float(0.0) } else { Sum::Integer(count) });
        }
        Slice::Int32(list) => {
            fill(&mut stats, list, |&v| Value::Int32(v), |a, b| b.cmp(a));
            stats.sum = Some(if version.is_compact() {
                Sum::Integer(list.iter().map(|&v| i64::from(v)).fold(0, i64::wrapping_add))
            } else {
                Sum::Float(list.iter().fold(0.0, |sum, &v| sum + f64::from(v)))
            });
        }
        Slice::Int64(list) => {
            fill(&mut stats, list, |&v| Value::Int64(v), |a, b| b.cmp(a));
            stats.sum = Some(Sum::Float(list.iter().fold(0.0, |sum, &v| sum + v as f64)));
        }
        Slice::Float(list) => {
            fill(&mut stats, list, |&v| Value::Float(if v.is_nan() { f32::NAN } else { v }), order);
            stats.sum = Some(float_sum(list.iter().map(|&v| f64::from(v))));
        }
        Slice::Double(list) => {
            fill(&mut stats, list, |&v| Value::Double(if v.is_nan() { f64::NAN } else { v }), order);
            stats.sum = Some(float_sum(list.iter().copied()));
        }
        Slice::Binary(strings) => {
            let list: Vec<&[u8]> = strings.iter().collect();
            fill(&mut stats, &list, |v| Value::Binary(v.to_vec()), |a, b| compare_strings(b, a, version));
            stats.sum = flat.then_some(Sum::Float(0.0));
        }
    }
    stats
}

/// Count and times only, as for a time column.
pub(crate) fn of_times(times: &[i64]) -> Statistics {
    let (Some(&start_time), Some(&end_time)) = (times.first(), times.last()) else {
        return Statistics::default();
    };
    Statistics { count: times.len() as u64, start_time, end_time, ..Statistics::default() }
}

/// Sums value by value. Java writes only one NaN; which NaN arithmetic yields depends on the machine.
fn float_sum(values: impl Iterator<Item = f64>) -> Sum {
    let sum = values.fold(0.0, |sum, v| sum + v);
    Sum::Float(if sum.is_nan() { f64::NAN } else { sum })
}

/// A value that cannot be compared (NaN) replaces nothing and is never replaced.
fn order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    b.partial_cmp(a).unwrap_or(Ordering::Equal)
}

/// `next(best, value)` is `Less` if `value` comes before `best`, so that equal values keep the earlier one.
fn fill<T>(
    stats: &mut Statistics,
    list: &[T],
    value: impl Fn(&T) -> Value,
    next: impl Fn(&T, &T) -> Ordering,
) {
    let (Some(first), Some(last)) = (list.first(), list.last()) else { return };
    let (mut min, mut max) = (first, first);
    for item in list {
        if next(min, item) == Ordering::Less {
            min = item;
        }
        if next(max, item) == Ordering::Greater {
            max = item;
        }
    }
    stats.min = Some(value(min));
    stats.max = Some(value(max));
    stats.first = Some(value(first));
    stats.last = Some(value(last));
}
