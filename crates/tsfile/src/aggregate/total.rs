//! Aggregates of points, from statistics or from the points themselves.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use serde_json::{Map, Value as Json, json};
use tesselle_core::{Error, Result, json_float};

use crate::meta::statistics::Sum;
use crate::meta::{DataType, Statistics, Value, Version};
use crate::read::prune::bounds_of;

/// Aggregates of some points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Aggregates {
    /// Number of points.
    pub count: u64,
    /// Minimum value, ignoring NaN; for numbers, times and dates.
    pub min: Option<Value>,
    /// Maximum value, ignoring NaN.
    pub max: Option<Value>,
    /// Sum of numbers: exact for INT32, for the others a double, rounded as in the statistics of the format.
    pub sum: Option<Sum>,
    /// The earliest point.
    pub first: Option<(i64, Value)>,
    /// The latest point.
    pub last: Option<(i64, Value)>,
}

fn has_bounds(data_type: DataType) -> bool {
    has_sum(data_type) || matches!(data_type, DataType::Timestamp | DataType::Date)
}

fn has_sum(data_type: DataType) -> bool {
    matches!(data_type, DataType::Int32 | DataType::Int64 | DataType::Float | DataType::Double)
}

impl Aggregates {
    /// The aggregates that statistics state; `None` if they are incomplete: NaN among the values, no first
    /// and last value.
    pub(super) fn of_statistics(statistics: &Statistics, data_type: DataType) -> Option<Self> {
        let mut all = Self {
            count: statistics.count,
            first: Some((statistics.start_time, statistics.first.clone()?)),
            last: Some((statistics.end_time, statistics.last.clone()?)),
            ..Self::default()
        };
        if has_bounds(data_type) {
            bounds_of(statistics, data_type)?;
            (all.min, all.max) = (statistics.min.clone(), statistics.max.clone());
        }
        if has_sum(data_type) {
            all.sum = Some(statistics.sum?);
        }
        Some(all)
    }

    /// Aggregates points in time order, as scans return stored values.
    pub(super) fn of_points(times: &[i64], values: &ArrayRef, data_type: DataType) -> Result<Self> {
        let mut all = Self { count: times.len() as u64, ..Self::default() };
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(all) };
        let value = |row: usize| value_at(values, row, data_type);
        all.first = Some((*first, value(0)?));
        all.last = Some((*last, value(times.len() - 1)?));
        match data_type {
            DataType::Int32 => {
                let values = values.as_primitive::<Int32Type>().values();
                (all.min, all.max) = bounds(values, Value::Int32);
                all.sum = Some(Sum::Integer(values.iter().map(|v| i64::from(*v)).sum()));
            }
            DataType::Date => {
                let values = values.as_primitive::<Int64Type>().values();
                (all.min, all.max) = bounds(values, |v| Value::Int32(v as i32));
            }
            DataType::Int64 | DataType::Timestamp => {
                let values = values.as_primitive::<Int64Type>().values();
                (all.min, all.max) = bounds(values, Value::Int64);
                if has_sum(data_type) {
                    all.sum = Some(Sum::Float(values.iter().map(|v| *v as f64).sum()));
                }
            }
            DataType::Float => {
                let values = values.as_primitive::<Float32Type>().values();
                (all.min, all.max) = bounds(values, Value::Float);
                all.sum = Some(Sum::Float(values.iter().map(|v| f64::from(*v)).sum()));
            }
            DataType::Double => {
                let values = values.as_primitive::<Float64Type>().values();
                (all.min, all.max) = bounds(values, Value::Double);
                all.sum = Some(Sum::Float(values.iter().sum()));
            }
            _ => {}
        }
        Ok(all)
    }

    /// Merges the aggregates of other points of the same series.
    pub(super) fn merge(&mut self, other: Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other;
            return;
        }
        self.count = self.count.saturating_add(other.count);
        keep(&mut self.min, other.min, Ordering::Less);
        keep(&mut self.max, other.max, Ordering::Greater);
        self.sum = match (self.sum, other.sum) {
            (Some(Sum::Integer(a)), Some(Sum::Integer(b))) => Some(Sum::Integer(a.saturating_add(b))),
            (Some(Sum::Float(a)), Some(Sum::Float(b))) => Some(Sum::Float(a + b)),
            _ => None,
        };
        let time = |point: &Option<(i64, Value)>| point.as_ref().map(|(time, _)| *time);
        if time(&other.first) < time(&self.first) {
            self.first = other.first;
        }
        if time(&other.last) > time(&self.last) {
            self.last = other.last;
        }
    }

    /// The aggregates as reports print them; those that this type does not have are omitted.
    pub fn to_json(&self, data_type: DataType) -> Map<String, Json> {
        let mut object = Map::new();
        object.insert("count".into(), json!(self.count));
        let shown = |value: &Option<Value>| value.as_ref().map(|v| v.to_json_as(data_type));
        if has_bounds(data_type) {
            object.insert("min".into(), json!(shown(&self.min)));
            object.insert("max".into(), json!(shown(&self.max)));
        }
        if has_sum(data_type) {
            let sum = self.sum.map(|sum| match sum {
                Sum::Integer(sum) => json!(sum),
                Sum::Float(sum) => json_float(sum),
            });
            object.insert("sum".into(), json!(sum));
        }
        let point = |point: &Option<(i64, Value)>| {
            point.as_ref().map(|(time, value)| json!({ "time": time, "value": value.to_json_as(data_type) }))
        };
        object.insert("first".into(), json!(point(&self.first)));
        object.insert("last".into(), json!(point(&self.last)));
        object
    }
}

/// Keeps the value that comes first in `order`; a value that cannot be compared never does.
fn keep(kept: &mut Option<Value>, other: Option<Value>, order: Ordering) {
    let Some(other) = other else { return };
    let better = kept.as_ref().is_none_or(|kept| other.compare(kept, Version::V4) == Some(order));
    if better {
        *kept = Some(other);
    }
}

/// The minimum and maximum value, ignoring NaN.
fn bounds<T: Copy + PartialOrd>(values: &[T], wrap: impl Fn(T) -> Value) -> (Option<Value>, Option<Value>) {
    let mut numbers = values.iter().copied().filter(|v| v.partial_cmp(v).is_some());
    let Some(first) = numbers.next() else { return (None, None) };
    let (min, max) = numbers
        .fold((first, first), |(min, max), v| (if v < min { v } else { min }, if v > max { v } else { max }));
    (Some(wrap(min)), Some(wrap(max)))
}

fn value_at(values: &ArrayRef, row: usize, data_type: DataType) -> Result<Value> {
    if row >= values.len() {
        return Err(Error::internal("a point has no value"));
    }
    Ok(match data_type {
        DataType::Boolean => Value::Boolean(values.as_boolean().value(row)),
        DataType::Int32 => Value::Int32(values.as_primitive::<Int32Type>().value(row)),
        DataType::Date => Value::Int32(values.as_primitive::<Int64Type>().value(row) as i32),
        DataType::Int64 | DataType::Timestamp => Value::Int64(values.as_primitive::<Int64Type>().value(row)),
        DataType::Float => Value::Float(values.as_primitive::<Float32Type>().value(row)),
        DataType::Double => Value::Double(values.as_primitive::<Float64Type>().value(row)),
        DataType::Text | DataType::String | DataType::Blob => {
            Value::Binary(values.as_binary::<i32>().value(row).to_vec())
        }
        DataType::Vector => return Err(Error::internal("a time column is read as values")),
    })
}
