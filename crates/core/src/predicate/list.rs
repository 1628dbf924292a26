//! Membership of long lists: the values are sorted once, and each row is looked up.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, TimeUnit};

use super::integers::match_integers;
use crate::scalar::Scalar;

/// From this many values on, a lookup in each row is cheaper than one pass over the rows for each value.
const LONG: usize = 8;

/// Whether each row is one of those `values` that have the type of the column, and the values that are left to compare;
/// `None` if too few have it.
pub(super) fn is_one_of<'v>(
    array: &'v ArrayRef,
    values: &'v [Scalar],
) -> Option<(BooleanArray, Vec<&'v Scalar>)> {
    if values.len() < LONG {
        return None;
    }
    macro_rules! integers {
        ($type:ty) => {
            among_integers(array.as_primitive::<$type>(), values)
        };
    }
    macro_rules! strings {
        ($own:expr) => {{
            let own = $own;
            among_strings(own, |row| own.value(row).as_ref(), values)
        }};
    }
    match_integers!(array.data_type(), integers, {
        DataType::Utf8 => strings!(array.as_string::<i32>()),
        DataType::LargeUtf8 => strings!(array.as_string::<i64>()),
        DataType::Utf8View => strings!(array.as_string_view()),
        DataType::Binary => strings!(array.as_binary::<i32>()),
        DataType::LargeBinary => strings!(array.as_binary::<i64>()),
        DataType::BinaryView => strings!(array.as_binary_view()),
        _ => None,
    })
}

fn among_integers<'v, T>(
    array: &PrimitiveArray<T>,
    values: &'v [Scalar],
) -> Option<(BooleanArray, Vec<&'v Scalar>)>
where
    T: ArrowPrimitiveType,
    T::Native: Ord + TryFrom<i128>,
{
    let own = |value: &Scalar| match value {
        Scalar::Int(value) => T::Native::try_from(*value).ok(),
        _ => None,
    };
    let rows = array.values();
    among(array, |row| rows[row], own, values)
}

fn among_strings<'v>(
    array: &dyn Array,
    row: impl Fn(usize) -> &'v [u8],
    values: &'v [Scalar],
) -> Option<(BooleanArray, Vec<&'v Scalar>)> {
    let own = |value: &'v Scalar| match value {
        Scalar::String(text) => Some(text.as_bytes()),
        Scalar::Bytes(bytes) => Some(bytes.as_slice()),
        _ => None,
    };
    among(array, row, own, values)
}

/// `own` is a value in the type of the column, `row` the value of a row, arbitrary where it is null.
fn among<'v, V: Ord>(
    array: &dyn Array,
    row: impl Fn(usize) -> V,
    own: impl Fn(&'v Scalar) -> Option<V>,
    values: &'v [Scalar],
) -> Option<(BooleanArray, Vec<&'v Scalar>)> {
    let (mut known, mut left) = (Vec::with_capacity(values.len()), Vec::new());
    for value in values {
        match own(value) {
            Some(value) => known.push(value),
            None => left.push(value),
        }
    }
    if known.len() < LONG {
        return None;
    }
    known.sort_unstable();
    let bits = BooleanBuffer::collect_bool(array.len(), |at| known.binary_search(&row(at)).is_ok());
    Some((BooleanArray::new(bits, array.nulls().cloned()), left))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int16Array, RecordBatch, StringArray};

    use super::super::{Comparison, Predicate};
    use super::*;

    fn check(column: ArrayRef, values: Vec<Scalar>) {
        let kind = column.data_type().clone();
        let batch = RecordBatch::try_from_iter([("c", column)]).unwrap();
        let each =
            values.iter().map(|value| Predicate::compare("c", Comparison::Eq, value.clone())).collect();
        let want = Predicate::Or(each).evaluate(&batch).unwrap();
        let got = Predicate::In { column: "c".into(), values }.evaluate(&batch).unwrap();
        assert_eq!(got.iter().collect::<Vec<_>>(), want.iter().collect::<Vec<_>>(), "{kind}");
    }

    #[test]
    fn a_long_list_selects_what_its_values_select_one_by_one() {
        let numbers: ArrayRef =
            Arc::new((0..200).map(|i| (i % 7 != 0).then_some(i - 50)).collect::<Int16Array>());
        let words: StringArray = (0..200).map(|i| (i % 5 != 0).then(|| format!("w{}", i / 3))).collect();
        let words: ArrayRef = Arc::new(words);
        let mut integers: Vec<Scalar> = (0..40).map(|i| Scalar::Int(i * 11 - 90)).collect();
        let mut strings: Vec<Scalar> = (0..40).map(|i| Scalar::String(format!("w{}", i * 7 % 90))).collect();
        strings.push(Scalar::Bytes(vec![0xff]));
        // Outside the type, between its values, unknown.
        integers.extend([Scalar::Int(1 << 40), Scalar::Float(3.0), Scalar::Float(4.5)]);
        for null in [false, true] {
            if null {
                integers.push(Scalar::Null);
                strings.push(Scalar::Null);
            }
            for kind in [
                DataType::Int16,
                DataType::Int64,
                DataType::Date32,
                DataType::Timestamp(TimeUnit::Millisecond, None),
                DataType::Float64,
                DataType::Decimal128(10, 2),
            ] {
                let numbers = match kind {
                    DataType::Date32 => arrow_cast::cast(&numbers, &DataType::Int32).unwrap(),
                    _ => Arc::clone(&numbers),
                };
                check(arrow_cast::cast(&numbers, &kind).unwrap(), integers.clone());
            }
            for kind in [
                DataType::Utf8,
                DataType::LargeUtf8,
                DataType::Utf8View,
                DataType::Binary,
                DataType::LargeBinary,
                DataType::BinaryView,
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            ] {
                check(arrow_cast::cast(&words, &kind).unwrap(), strings.clone());
            }
        }
    }
}
