//! Conversion of Arrow columns to values of the format.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType as ArrowType, Field, TimeUnit};
use tesselle_core::fit::plain_type;
use tesselle_core::{Error, Fit, Result, TYPE_KEY, Within};

use super::values::{Rows, Slice, StringSlices, Strings, Values};
use crate::meta::{DataType, Version};

/// The type of a field: its recorded source type if that fits, otherwise the nearest.
pub(crate) fn type_of(field: &Field, version: Version) -> Result<DataType> {
    let natural = natural_type(field.data_type(), version).ok_or_else(|| {
        Error::internal(format!("column '{}' of type {} was not refused", field.name(), field.data_type()))
    })?;
    let stated = stated(field);
    let fits = |stated: &DataType| {
        stated.is_writable(version)
            && match stated {
                DataType::Date | DataType::Timestamp => *stated == natural,
                other => {
                    other.physical() == natural.physical()
                        && !matches!(natural, DataType::Date | DataType::Timestamp)
                }
            }
    };
    Ok(stated.filter(fits).unwrap_or(natural))
}

fn stated(field: &Field) -> Option<DataType> {
    field.metadata().get(TYPE_KEY).and_then(|name| DataType::from_name(name))
}

/// The fate of a value column: stored as its natural type, or the cast that is needed.
pub(crate) fn fit(field: &Field, version: Version) -> Fit {
    use ArrowType as A;
    let old = version != Version::V4;
    let binary = matches!(plain_type(field.data_type()), A::Binary | A::FixedSizeBinary(_));
    if old && binary && stated(field) != Some(DataType::Text) {
        return Fit::refused(A::Utf8);
    }
    let millis = A::Timestamp(TimeUnit::Millisecond, None);
    match natural_type(field.data_type(), version) {
        Some(DataType::Boolean) => Fit::As(A::Boolean),
        Some(DataType::Int32) => Fit::As(A::Int32),
        Some(DataType::Int64) => Fit::As(A::Int64),
        Some(DataType::Float) => Fit::As(A::Float32),
        Some(DataType::Double) => Fit::As(A::Float64),
        Some(DataType::Date) => Fit::As(A::Date32),
        Some(DataType::Timestamp) => Fit::As(millis),
        Some(_) if binary => Fit::As(A::Binary),
        Some(_) => Fit::As(A::Utf8),
        None => match plain_type(field.data_type()) {
            A::UInt64 | A::Duration(_) | A::Time64(_) => Fit::refused(A::Int64),
            A::Time32(_) => Fit::refused(A::Int32),
            A::Timestamp(..) if old => Fit::refused(A::Int64),
            A::Timestamp(..) => Fit::refused(millis),
            A::Date32 => Fit::refused(A::Int32),
            A::Date64 => Fit::refused(if old { A::Int64 } else { A::Date32 }),
            A::Decimal32(..) | A::Decimal64(..) | A::Decimal128(..) | A::Decimal256(..) => {
                Fit::refused(A::Float64)
            }
            A::Null => Fit::refused(A::Utf8),
            _ => Fit::Refused(None),
        },
    }
}

/// The fate of the time column.
pub(crate) fn fit_time(data_type: &ArrowType) -> Fit {
    use ArrowType as A;
    let millis = A::Timestamp(TimeUnit::Millisecond, None);
    match plain_type(data_type) {
        A::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) | A::Int64 | A::Int32 | A::UInt32 => {
            Fit::As(millis)
        }
        _ => Fit::refused(millis),
    }
}

/// The type that can store all values of an Arrow type. Before version 4 there are no types for times, dates
/// and bytes; bytes can be stored as TEXT.
fn natural_type(arrow: &ArrowType, version: Version) -> Option<DataType> {
    let new = version == Version::V4;
    Some(match arrow {
        ArrowType::Boolean => DataType::Boolean,
        ArrowType::Int8 | ArrowType::Int16 | ArrowType::Int32 | ArrowType::UInt8 | ArrowType::UInt16 => {
            DataType::Int32
        }
        ArrowType::Int64 | ArrowType::UInt32 => DataType::Int64,
        ArrowType::Float16 | ArrowType::Float32 => DataType::Float,
        ArrowType::Float64 => DataType::Double,
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View if new => DataType::String,
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => DataType::Text,
        ArrowType::Binary
        | ArrowType::LargeBinary
        | ArrowType::BinaryView
        | ArrowType::FixedSizeBinary(_)
            if new =>
        {
            DataType::Blob
        }
        ArrowType::Binary
        | ArrowType::LargeBinary
        | ArrowType::BinaryView
        | ArrowType::FixedSizeBinary(_) => DataType::Text,
        ArrowType::Date32 if new => DataType::Date,
        ArrowType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) if new => DataType::Timestamp,
        ArrowType::Dictionary(_, values) => return natural_type(values, version),
        _ => return None,
    })
}

/// A column with one value per row, and which rows have one (`None`: all).
#[derive(Debug, Clone)]
pub(crate) struct Converted {
    held: Held,
    pub(crate) present: Option<Vec<bool>>,
}

/// Values borrowed from an array whose buffers match the format, or converted ones.
#[derive(Debug, Clone)]
enum Held {
    Array(ArrayRef),
    Values(Values),
}

impl Converted {
    /// The values as a slice.
    pub(crate) fn values(&self) -> Slice<'_> {
        match &self.held {
            Held::Values(values) => values.as_slice(),
            Held::Array(array) => {
                let values = borrowed(array);
                debug_assert!(values.is_some(), "an array is held whose buffers the format cannot use");
                values.unwrap_or(Slice::Int64(&[]))
            }
        }
    }

    /// The rows at these positions.
    pub(crate) fn pick(&self, rows: &[usize]) -> Self {
        let mask = |present: &Vec<bool>| rows.iter().map(|&i| present.value(i)).collect();
        let held = Held::Values(self.values().copy(Rows::At(rows)));
        Self { held, present: self.present.as_ref().map(mask) }
    }
}

/// The values of an array that can be borrowed without conversion.
fn borrowed(array: &ArrayRef) -> Option<Slice<'_>> {
    Some(match array.data_type() {
        ArrowType::Int32 => Slice::Int32(array.as_primitive::<Int32Type>().values()),
        ArrowType::Int64 => Slice::Int64(array.as_primitive::<Int64Type>().values()),
        ArrowType::Float32 => Slice::Float(array.as_primitive::<Float32Type>().values()),
        ArrowType::Float64 => Slice::Double(array.as_primitive::<Float64Type>().values()),
        ArrowType::Utf8 => {
            let strings = array.as_string::<i32>();
            Slice::Binary(StringSlices::Offsets {
                data: strings.value_data(),
                offsets: strings.value_offsets(),
            })
        }
        ArrowType::Binary => {
            let strings = array.as_binary::<i32>();
            Slice::Binary(StringSlices::Offsets {
                data: strings.value_data(),
                offsets: strings.value_offsets(),
            })
        }
        _ => return None,
    })
}

/// Converts an array to values of `data_type`, which [`type_of`] returned for it.
pub(crate) fn convert(array: &ArrayRef, data_type: DataType, name: &str) -> Result<Converted> {
    let array = unpack_dictionary(array)?;
    let present =
        array.logical_nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.iter().collect());
    if borrowed(&array).is_some() {
        return Ok(Converted { held: Held::Array(array), present });
    }
    let context = |e: Error| e.piece(format!("column '{name}'"));
    let values = values(&array, data_type).map_err(context)?;
    Ok(Converted { held: Held::Values(values), present })
}

fn unpack_dictionary(array: &ArrayRef) -> Result<ArrayRef> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) => Ok(arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?),
        None => Ok(array.clone()),
    }
}

fn values(array: &ArrayRef, data_type: DataType) -> Result<Values> {
    let wrong = || Error::internal(format!("an Arrow {} column as {}", array.data_type(), data_type.name()));
    Ok(match array.data_type() {
        ArrowType::Boolean => {
            let list = array.as_boolean();
            Values::Boolean(list.values().iter().collect())
        }
        ArrowType::Int8 => Values::Int32(widen::<Int8Type, _>(array, i32::from)),
        ArrowType::Int16 => Values::Int32(widen::<Int16Type, _>(array, i32::from)),
        ArrowType::UInt8 => Values::Int32(widen::<UInt8Type, _>(array, i32::from)),
        ArrowType::UInt16 => Values::Int32(widen::<UInt16Type, _>(array, i32::from)),
        ArrowType::UInt32 => Values::Int64(widen::<UInt32Type, _>(array, i64::from)),
        ArrowType::Float16 => Values::Float(widen::<Float16Type, _>(array, f32::from)),
        ArrowType::LargeUtf8 => Values::Binary(strings(array.as_string::<i64>().iter())),
        ArrowType::Utf8View => Values::Binary(strings(array.as_string_view().iter())),
        ArrowType::LargeBinary => Values::Binary(strings(array.as_binary::<i64>().iter())),
        ArrowType::BinaryView => Values::Binary(strings(array.as_binary_view().iter())),
        ArrowType::FixedSizeBinary(_) => Values::Binary(strings(array.as_fixed_size_binary().iter())),
        ArrowType::Date32 if data_type == DataType::Date => {
            Values::Int32(checked(array.as_primitive::<Date32Type>(), date_number)?)
        }
        ArrowType::Timestamp(..) => Values::Int64(millis(array)?.to_vec()),
        _ => return Err(wrong()),
    })
}

fn widen<T: ArrowPrimitiveType, O>(array: &ArrayRef, map: impl Fn(T::Native) -> O) -> Vec<O> {
    array.as_primitive::<T>().values().iter().map(|&v| map(v)).collect()
}

/// Maps the non-null rows; the others become the default.
fn checked<T: ArrowPrimitiveType, O: Default>(
    array: &PrimitiveArray<T>,
    map: impl Fn(T::Native) -> Result<O>,
) -> Result<Vec<O>> {
    array.iter().map(|value| value.map_or(Ok(O::default()), &map)).collect()
}

fn strings<'a, T: AsRef<[u8]> + ?Sized + 'a>(values: impl Iterator<Item = Option<&'a T>>) -> Strings {
    values.map(|value| value.map_or(&b""[..], AsRef::as_ref)).collect()
}

/// Times in milliseconds, from an Arrow timestamp of any unit or plain integers.
pub(crate) fn millis(array: &ArrayRef) -> Result<ScalarBuffer<i64>> {
    match array.data_type() {
        ArrowType::Int64 => Ok(array.as_primitive::<Int64Type>().values().clone()),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
            Ok(array.as_primitive::<TimestampMillisecondType>().values().clone())
        }
        _ => scaled_millis(array).map(ScalarBuffer::from),
    }
}

fn scaled_millis(array: &ArrayRef) -> Result<Vec<i64>> {
    let scaled = |v: i64, factor: i64| {
        v.checked_mul(factor)
            .ok_or_else(|| Error::invalid(format!("the time {v} s does not fit milliseconds")))
    };
    match array.data_type() {
        ArrowType::Timestamp(TimeUnit::Second, _) => {
            checked(array.as_primitive::<TimestampSecondType>(), |v| scaled(v, 1000))
        }
        ArrowType::Int32 => Ok(widen::<Int32Type, _>(array, i64::from)),
        ArrowType::UInt32 => Ok(widen::<UInt32Type, _>(array, i64::from)),
        other => Err(Error::invalid(format!("an Arrow {other} column cannot be the time"))),
    }
}

/// The number yyyymmdd of a day since 1970-01-01.
fn date_number(days: i32) -> Result<i32> {
    let shifted = i64::from(days) + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months counted from March.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if !(1..=9999).contains(&year) {
        return Err(Error::invalid(format!(
            "day {days} since 1970 is in the year {year}, which DATE cannot store"
        )));
    }
    Ok((year * 10_000 + month * 100 + day) as i32)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int32Array;

    use super::*;

    #[test]
    fn days_become_decimal_dates() {
        for (days, want) in [(0, 19_700_101), (-1, 19_691_231), (11_016, 20_000_229), (19_783, 20_240_301)] {
            assert_eq!(date_number(days).unwrap(), want);
        }
        assert!(date_number(i32::MAX).is_err());
        assert!(date_number(-719_500).is_err());
    }

    #[test]
    fn null_rows_are_marked() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
        let column = convert(&array, DataType::Int32, "a").unwrap();
        assert_eq!(column.present, Some(vec![true, false, true]));
        let picked = column.pick(&[2, 1]);
        assert_eq!(picked.present, Some(vec![true, false]));
    }

    #[test]
    fn a_recorded_type_is_kept_if_it_fits() {
        let field = |arrow: ArrowType, stated: &str| {
            Field::new("a", arrow, true).with_metadata([(TYPE_KEY.to_string(), stated.to_string())].into())
        };
        let of = |arrow, stated| type_of(&field(arrow, stated), Version::V4).unwrap();
        assert_eq!(of(ArrowType::Utf8, "TEXT"), DataType::Text);
        assert_eq!(of(ArrowType::Utf8, "INT32"), DataType::String);
        assert_eq!(of(ArrowType::Int64, "TIMESTAMP"), DataType::Int64);
        assert_eq!(of(ArrowType::Binary, "TEXT"), DataType::Text);
        assert_eq!(type_of(&field(ArrowType::Utf8, "STRING"), Version::V3).unwrap(), DataType::Text);
    }
}
