//! Checks that rows arrive in the order of the sort key: a wrong order would break lookups.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use tesselle_core::{Error, Result};

use crate::meta::types::LogicalType;
use crate::meta::zone::compare;
use crate::scalars::{binary_at, bytes_at, dispatch};

/// Keeps the last key.
#[derive(Debug)]
pub(crate) struct OrderCheck {
    column: String,
    logical: LogicalType,
    last: Option<Vec<u8>>,
    rows: u64,
}

impl OrderCheck {
    pub(crate) fn new(column: String, logical: LogicalType) -> Self {
        Self { column, logical, last: None, rows: 0 }
    }

    /// Goes on after the keys of rows that are there already.
    pub(crate) fn resume(&mut self, keys: &dyn Array) {
        if let Some(last) = keys.len().checked_sub(1) {
            self.last = Some(bytes_at(keys, self.logical, last));
        }
    }

    /// Checks the keys of the next rows.
    pub(crate) fn check(&mut self, keys: &dyn Array) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        if keys.null_count() > 0 {
            return Err(Error::invalid(format!("sort key '{}' has a null", self.column))
                .hint("drop the null keys, or write without a sort key"));
        }
        let first = bytes_at(keys, self.logical, 0);
        let meets = self.last.as_ref().is_none_or(|last| compare(self.logical, last, &first).is_le());
        let broken = if meets { first_descent(keys, self.logical) } else { Some(0) };
        if let Some(row) = broken {
            let row = self.rows + row as u64;
            return Err(Error::invalid(format!(
                "row {row} is not in the order of the sort key '{}'",
                self.column
            ))
            .hint("sort the rows first, or write without a sort key"));
        }
        self.last = Some(bytes_at(keys, self.logical, keys.len() - 1));
        self.rows += keys.len() as u64;
        Ok(())
    }
}

/// The first row with a key below the previous one, or a NaN.
fn first_descent(keys: &dyn Array, logical: LogicalType) -> Option<usize> {
    macro_rules! numbers {
        ($type:ty) => {
            keys.as_primitive_opt::<$type>().and_then(descent)
        };
    }
    dispatch!(
        logical,
        numbers,
        match logical {
            LogicalType::Bool => {
                let bits = keys.as_boolean_opt()?;
                (1..bits.len()).find(|row| bits.value(row - 1) & !bits.value(*row))
            }
            _ => (1..keys.len()).find(|row| binary_at(keys, row - 1) > binary_at(keys, *row)),
        }
    )
}

fn descent<T: ArrowPrimitiveType>(keys: &PrimitiveArray<T>) -> Option<usize> {
    let values = keys.values();
    // Written so that a NaN, which is unordered, counts as a descent.
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "the negation handles NaN")]
    let bad = values.windows(2).position(|pair| matches!(pair, [a, b] if !(a <= b)));
    #[expect(clippy::eq_op, reason = "a NaN check that works for every type")]
    let lone = values.first().filter(|v| v != v).map(|_| 0);
    lone.or(bad.map(|at| at + 1))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int32Array, StringArray};

    use super::*;

    #[test]
    fn descents_nulls_and_nan_are_refused_across_batches() {
        let mut ints = OrderCheck::new("k".into(), LogicalType::Int32);
        ints.check(&Int32Array::from(vec![-5, -5, 3])).unwrap();
        ints.check(&Int32Array::from(vec![3, 9])).unwrap();
        let error = ints.check(&Int32Array::from(vec![8])).unwrap_err();
        assert!(error.to_string().contains("row 5"), "{error}");
        assert!(ints.check(&Int32Array::from(vec![Some(9), None])).is_err());
        let mut strings = OrderCheck::new("k".into(), LogicalType::String);
        assert!(strings.check(&StringArray::from(vec!["a", "b", "ab"])).is_err());
        for keys in [vec![f64::NAN], vec![1.0, f64::NAN], vec![f64::NAN, 1.0]] {
            assert!(
                OrderCheck::new("k".into(), LogicalType::Float64).check(&Float64Array::from(keys)).is_err()
            );
        }
    }
}
