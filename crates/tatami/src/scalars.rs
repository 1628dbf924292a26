//! Scalars of Arrow arrays: the values of a column for zone maps, key indexes and bloom filters.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;

use crate::meta::types::LogicalType;
use crate::meta::zone::Zone;

/// Calls `$do!(array)` with the array cast to its primitive type, or `$other` for the rest.
macro_rules! dispatch {
    ($logical:expr, $do:ident, $other:expr) => {
        match $logical {
            LogicalType::Int8 => $do!(Int8Type),
            LogicalType::Int16 => $do!(Int16Type),
            LogicalType::Int32 => $do!(Int32Type),
            LogicalType::Int64 => $do!(Int64Type),
            LogicalType::TimestampMicros => $do!(TimestampMicrosecondType),
            LogicalType::UInt8 => $do!(UInt8Type),
            LogicalType::UInt16 => $do!(UInt16Type),
            LogicalType::UInt32 => $do!(UInt32Type),
            LogicalType::UInt64 => $do!(UInt64Type),
            LogicalType::Float32 => $do!(Float32Type),
            LogicalType::Float64 => $do!(Float64Type),
            _ => $other,
        }
    };
}

pub(crate) use dispatch;

/// The bytes of a string or binary value.
pub(crate) fn binary_at(array: &dyn Array, row: usize) -> &[u8] {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).as_bytes(),
        DataType::Utf8View => array.as_string_view().value(row).as_bytes(),
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::BinaryView => array.as_binary_view().value(row),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
        _ => &[],
    }
}

/// The scalar of a row that is not null.
pub(crate) fn bytes_at(array: &dyn Array, logical: LogicalType, row: usize) -> Vec<u8> {
    macro_rules! number {
        ($type:ty) => {
            array.as_primitive_opt::<$type>().map(|a| a.value(row).to_le_bytes().to_vec()).unwrap_or_default()
        };
    }
    dispatch!(
        logical,
        number,
        match logical {
            LogicalType::Bool =>
                array.as_boolean_opt().map(|a| vec![u8::from(a.value(row))]).unwrap_or_default(),
            _ => binary_at(array, row).to_vec(),
        }
    )
}

/// Calls `take` with the scalar of every row that is not null.
pub(crate) fn for_each(array: &dyn Array, logical: LogicalType, mut take: impl FnMut(&[u8])) {
    macro_rules! numbers {
        ($type:ty) => {
            if let Some(array) = array.as_primitive_opt::<$type>() {
                present(array).for_each(|value| take(&value.to_le_bytes()));
            }
        };
    }
    dispatch!(
        logical,
        numbers,
        match logical {
            LogicalType::Bool => {
                if let Some(array) = array.as_boolean_opt() {
                    array.iter().flatten().for_each(|value| take(&[u8::from(value)]));
                }
            }
            LogicalType::String | LogicalType::Bytes => {
                (0..array.len())
                    .filter(|row| array.is_valid(*row))
                    .for_each(|row| take(binary_at(array, row)));
            }
            _ => {}
        }
    );
}

fn present<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> impl Iterator<Item = T::Native> {
    (0..array.len()).filter(|row| array.is_valid(*row)).map(|row| array.value(row))
}

/// The min and max of the non-null values, ignoring NaN, which is not a bound.
pub(crate) fn zone_of(array: &dyn Array, logical: LogicalType) -> Option<Zone> {
    macro_rules! numbers {
        ($type:ty) => {
            min_max(array.as_primitive_opt::<$type>()?)
                .map(|(min, max)| Zone { min: min.to_le_bytes().to_vec(), max: max.to_le_bytes().to_vec() })
        };
    }
    dispatch!(
        logical,
        numbers,
        match logical {
            LogicalType::Bool => {
                let array = array.as_boolean_opt()?;
                let trues = array.true_count();
                let present = array.len() - array.null_count();
                (present > 0)
                    .then(|| Zone { min: vec![u8::from(trues == present)], max: vec![u8::from(trues > 0)] })
            }
            LogicalType::String | LogicalType::Bytes => {
                let mut values =
                    (0..array.len()).filter(|row| array.is_valid(*row)).map(|row| binary_at(array, row));
                let first = values.next()?;
                let (min, max) =
                    values.fold((first, first), |(min, max), value| (min.min(value), max.max(value)));
                Some(Zone { min: min.to_vec(), max: max.to_vec() })
            }
            _ => None,
        }
    )
}

fn min_max<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Option<(T::Native, T::Native)>
where
    T::Native: PartialOrd,
{
    // Only a NaN is not equal to itself.
    #[expect(clippy::eq_op, reason = "a NaN check that works for every type")]
    let mut values = present(array).filter(|value| value == value);
    let first = values.next()?;
    Some(values.fold((first, first), |(min, max), value| {
        (if value < min { value } else { min }, if value > max { value } else { max })
    }))
}

#[cfg(test)]
mod tests {
    use arrow_array::{BooleanArray, Float64Array, Int16Array, StringArray};

    use super::*;

    #[test]
    fn zones_ignore_nulls_and_nan() {
        let floats = Float64Array::from(vec![Some(f64::NAN), None, Some(2.0), Some(-1.0)]);
        let zone = zone_of(&floats, LogicalType::Float64).unwrap();
        assert_eq!(zone, Zone { min: (-1.0f64).to_le_bytes().to_vec(), max: 2.0f64.to_le_bytes().to_vec() });
        assert_eq!(zone_of(&Float64Array::from(vec![f64::NAN]), LogicalType::Float64), None);
        assert_eq!(zone_of(&Int16Array::from(vec![None, None]), LogicalType::Int16), None);
        let bools = BooleanArray::from(vec![Some(true), None]);
        assert_eq!(zone_of(&bools, LogicalType::Bool), Some(Zone { min: vec![1], max: vec![1] }));
        let strings = StringArray::from(vec!["b", "", "a"]);
        assert_eq!(zone_of(&strings, LogicalType::String), Some(Zone { min: vec![], max: b"b".to_vec() }));
    }

    #[test]
    fn scalars_of_every_non_null_row() {
        let mut seen = Vec::new();
        for_each(&Int16Array::from(vec![Some(1), None, Some(-1)]), LogicalType::Int16, |s| {
            seen.push(s.to_vec());
        });
        assert_eq!(seen, [vec![1, 0], vec![255, 255]]);
        assert_eq!(bytes_at(&Int16Array::from(vec![258]), LogicalType::Int16, 0), [2, 1]);
    }
}
