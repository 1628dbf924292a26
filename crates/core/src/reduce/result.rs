//! The result of a reduction.

use serde_json::Value;

use super::ReduceOp;
use crate::error::{Error, Result};
use crate::scalar::{Scalar, json_float};

/// The answer of a reduction.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduced {
    /// The operation.
    pub op: ReduceOp,
    /// The extents of the kept axes, in their order; empty when everything is reduced.
    pub shape: Vec<u64>,
    /// The values, row-major; one when everything is reduced.
    pub values: Values,
}

/// Typed values. Counts and indexes are integers; sums, minimums and maximums are integers if the cells are, else
/// doubles; means, variances and deviations are doubles. A sum of 64-bit integers needs more than 64 bits, so integers
/// are wide.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Exact integers.
    Int(Vec<i128>),
    /// Doubles.
    Float(Vec<f64>),
}

impl Reduced {
    /// The only value, when everything was reduced.
    pub fn scalar(&self) -> Option<Scalar> {
        if !self.shape.is_empty() {
            return None;
        }
        match &self.values {
            Values::Int(list) => list.first().map(|v| Scalar::Int(*v)),
            Values::Float(list) => list.first().map(|v| Scalar::Float(*v)),
        }
    }

    /// The object of `--json`: operation, shape, and the values as a number or as nested lists. Integers that exceed 64
    /// bits are strings, special floats are names.
    pub fn to_json(&self) -> Value {
        let values = match &self.values {
            Values::Int(list) => list.iter().map(|v| Scalar::Int(*v).to_json()).collect::<Vec<_>>(),
            Values::Float(list) => list.iter().map(|v| json_float(*v)).collect(),
        };
        let values = nested(&self.shape, values);
        serde_json::json!({ "operation": self.op.name(), "shape": self.shape, "values": values })
    }
}

/// Row-major values as nested lists; the only one as itself.
pub(super) fn nested(shape: &[u64], mut values: Vec<Value>) -> Value {
    // Innermost lists first; the outermost axis is the list itself.
    for extent in shape.iter().skip(1).rev() {
        let extent = usize::try_from(*extent).unwrap_or(usize::MAX).max(1);
        let mut rest = values.into_iter().peekable();
        let mut lists = Vec::new();
        while rest.peek().is_some() {
            lists.push(Value::Array(rest.by_ref().take(extent).collect()));
        }
        values = lists;
    }
    if shape.is_empty() { values.pop().unwrap_or(Value::Null) } else { Value::Array(values) }
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(list) => list.len(),
            Self::Float(list) => list.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same integer `n` times.
    pub(super) fn repeated(value: i128, n: usize) -> Result<Self> {
        filled(value, n).map(Self::Int)
    }

    /// Zeros.
    pub(super) fn of_nothing(float: bool, n: usize) -> Result<Self> {
        if float { filled(0.0, n).map(Self::Float) } else { filled(0, n).map(Self::Int) }
    }

    /// Copies `run` values of `part` to each of `places`, in order.
    pub(super) fn scatter(&mut self, part: &Self, run: usize, places: impl Iterator<Item = usize>) {
        match (self, part) {
            (Self::Int(all), Self::Int(part)) => scatter(all, part, run, places),
            (Self::Float(all), Self::Float(part)) => scatter(all, part, run, places),
            _ => {}
        }
    }
}

fn scatter<T: Copy>(all: &mut [T], part: &[T], run: usize, places: impl Iterator<Item = usize>) {
    for (place, values) in places.zip(part.chunks(run.max(1))) {
        if let Some(dst) = all.get_mut(place..).and_then(|rest| rest.get_mut(..values.len())) {
            dst.copy_from_slice(values);
        }
    }
}

/// Allocates a list; returns an error instead of aborting if there is not enough memory.
fn filled<T: Clone>(value: T, n: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(n)
        .map_err(|_| Error::limit(format!("not enough memory for a result of {n} values")))?;
    list.resize(n, value);
    Ok(list)
}
