//! One column between its own type and the one it is stored in.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int64Array, TimestampMicrosecondArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, TimeUnit};
use tesselle_core::{Comparison, Error, Predicate, Result, Scalar, type_by_name, type_name};

/// Decimal digits that a 64-bit integer always has room for.
const INTEGER_DIGITS: u8 = 18;

/// Microseconds of a day.
const DAY_MICROS: i64 = 86_400_000_000;

/// The type in which a column is stored where a format offers `instead`; `None` where no type keeps every value.
pub(super) fn stored_type(own: &DataType, instead: &DataType) -> Option<DataType> {
    use DataType as D;
    match own {
        D::Decimal128(digits, _) if *digits <= INTEGER_DIGITS => Some(D::Int64),
        // Strings of decimals that end before the point cannot be read back.
        D::Decimal128(_, scale) | D::Decimal256(_, scale) if *scale >= 0 => Some(D::Utf8),
        D::Timestamp(TimeUnit::Nanosecond, None) => Some(D::Int64),
        D::Timestamp(_, None) if *instead == D::Int64 => Some(D::Int64),
        D::Date32 if matches!(instead, D::Int32 | D::Timestamp(..)) => Some(instead.clone()),
        D::Date64 if matches!(instead, D::Int64 | D::Timestamp(TimeUnit::Microsecond, _)) => {
            Some(instead.clone())
        }
        D::Time32(_) if matches!(instead, D::Int32 | D::Int64) => Some(instead.clone()),
        D::Time64(_) | D::Duration(_) if *instead == D::Int64 => Some(D::Int64),
        _ => None,
    }
}

/// The type as the note spells it.
pub(super) fn spelled(data_type: &DataType) -> String {
    match data_type {
        DataType::Decimal128(digits, scale) => format!("decimal128({digits},{scale})"),
        DataType::Decimal256(digits, scale) => format!("decimal256({digits},{scale})"),
        DataType::Date64 => "date64".to_owned(),
        DataType::Time32(TimeUnit::Second) => "time_s".to_owned(),
        DataType::Time32(_) => "time_ms".to_owned(),
        DataType::Time64(TimeUnit::Microsecond) => "time_us".to_owned(),
        DataType::Time64(_) => "time_ns".to_owned(),
        other => type_name(other),
    }
}

/// The type that a note spells; `None` for one of a later version.
pub(super) fn parse(text: &str) -> Option<DataType> {
    match text {
        "date64" => return Some(DataType::Date64),
        "time_s" => return Some(DataType::Time32(TimeUnit::Second)),
        "time_ms" => return Some(DataType::Time32(TimeUnit::Millisecond)),
        "time_us" => return Some(DataType::Time64(TimeUnit::Microsecond)),
        "time_ns" => return Some(DataType::Time64(TimeUnit::Nanosecond)),
        _ => {}
    }
    let Some((name, rest)) = text.split_once('(') else { return type_by_name(text).ok() };
    let (digits, scale) = rest.strip_suffix(')')?.split_once(',')?;
    let (digits, scale): (u8, i8) = (digits.trim().parse().ok()?, scale.trim().parse().ok()?);
    match name {
        "decimal128" if (1..=38).contains(&digits) => Some(DataType::Decimal128(digits, scale)),
        "decimal256" if (1..=76).contains(&digits) => Some(DataType::Decimal256(digits, scale)),
        _ => None,
    }
}

fn cast(column: &ArrayRef, to: &Field) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to.data_type(), &options).map_err(|error| {
        Error::corrupt(format!(
            "column '{}' has a value that is not of type {}",
            to.name(),
            spelled(to.data_type())
        ))
        .source(error)
    })
}

/// The column as it is stored in a field of that type.
pub(super) fn to_stored(column: &ArrayRef, to: &Field) -> Result<ArrayRef> {
    match (column.data_type(), to.data_type()) {
        (from, to) if from == to => Ok(Arc::clone(column)),
        (DataType::Decimal128(..), DataType::Int64) => {
            let digits = column.as_primitive::<Decimal128Type>();
            let too_large = |_| {
                Error::invalid(format!("column '{}' has a decimal with more digits than its type", to.name()))
            };
            Ok(Arc::new(digits.try_unary::<_, Int64Type, Error>(|n| i64::try_from(n).map_err(too_large))?))
        }
        _ => cast(column, to),
    }
}

/// A stored column as the type it has by its note.
pub(super) fn from_stored(column: &ArrayRef, to: &Field) -> Result<ArrayRef> {
    match (column.data_type(), to.data_type()) {
        (from, to) if from == to => Ok(Arc::clone(column)),
        (DataType::Int64, DataType::Decimal128(digits, scale)) => {
            let stored: &Int64Array = column.as_primitive();
            let decimals: Decimal128Array = stored.unary(i128::from);
            Ok(Arc::new(decimals.with_precision_and_scale(*digits, *scale)?))
        }
        (DataType::Timestamp(TimeUnit::Microsecond, None), DataType::Date32) => {
            let times: &TimestampMicrosecondArray = column.as_primitive();
            // Every time of 64 bits is on a day of 32.
            let days: Date32Array = times.unary(|time| time.div_euclid(DAY_MICROS) as i32);
            Ok(Arc::new(days))
        }
        // Arrow has no cast from the one to the other.
        (DataType::Int64, DataType::Time32(_)) => {
            cast(&cast(column, &Field::new(to.name(), DataType::Int32, true))?, to)
        }
        _ => cast(column, to),
    }
}

/// `column op value` for a column of type `own`, as a condition on its stored values; `None` if there is none of the same
/// meaning.
pub(super) fn stored_condition(
    column: &str,
    op: Comparison,
    value: &Scalar,
    own: &DataType,
    stored: &DataType,
) -> Option<Predicate> {
    let compare = |op, value: i128| Predicate::compare(column, op, Scalar::Int(value));
    match (own, stored, value) {
        (DataType::Decimal128(_, scale), DataType::Int64, _) => {
            let (op, digits) = op.of_digits(value, *scale)?;
            Some(compare(op, digits))
        }
        (DataType::Date32, DataType::Int32, Scalar::Int(_)) => {
            Some(Predicate::compare(column, op, value.clone()))
        }
        // A day includes all its times, regardless of the writer.
        (DataType::Date32, DataType::Timestamp(TimeUnit::Microsecond, None), Scalar::Int(day)) => {
            let start = day.checked_mul(i128::from(DAY_MICROS))?;
            let end = start.checked_add(i128::from(DAY_MICROS))?;
            Some(match op {
                Comparison::Eq => {
                    Predicate::And(vec![compare(Comparison::Ge, start), compare(Comparison::Lt, end)])
                }
                Comparison::Ne => {
                    Predicate::Or(vec![compare(Comparison::Lt, start), compare(Comparison::Ge, end)])
                }
                Comparison::Lt => compare(Comparison::Lt, start),
                Comparison::Le => compare(Comparison::Lt, end),
                Comparison::Gt => compare(Comparison::Ge, end),
                Comparison::Ge => compare(Comparison::Ge, start),
            })
        }
        _ => None,
    }
}

/// A bound of the stored values as one of the column.
pub(super) fn own_bound(value: &Scalar, own: &DataType, stored: &DataType) -> Option<Scalar> {
    match (own, stored, value) {
        (DataType::Date32, DataType::Int32, Scalar::Int(day)) => Some(Scalar::Int(*day)),
        (DataType::Date32, DataType::Timestamp(TimeUnit::Microsecond, None), Scalar::Int(time)) => {
            Some(Scalar::Int(time.div_euclid(i128::from(DAY_MICROS))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        Array, Date32Array, Decimal256Array, Time32MillisecondArray, Time64NanosecondArray,
        TimestampMillisecondArray, TimestampNanosecondArray,
    };
    use arrow_buffer::i256;

    use super::*;

    #[test]
    fn every_value_comes_back() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let decimal = Decimal128Array::from(vec![Some(-12_345), None, Some(i128::from(i64::MAX) / 10)]);
        let long = Decimal128Array::from(vec![Some(i128::MAX / 2), None]);
        let columns: Vec<(ArrayRef, DataType, DataType)> = vec![
            (Arc::new(decimal.with_precision_and_scale(18, 2).unwrap()), DataType::Utf8, DataType::Int64),
            (Arc::new(long.with_precision_and_scale(38, 10).unwrap()), DataType::Utf8, DataType::Utf8),
            (
                Arc::new(Decimal256Array::from(vec![i256::from(7)]).with_precision_and_scale(50, 3).unwrap()),
                DataType::Utf8,
                DataType::Utf8,
            ),
            (Arc::new(Date32Array::from(vec![Some(-1), None, Some(20_000)])), micros.clone(), micros.clone()),
            (Arc::new(Date32Array::from(vec![-1, 5])), DataType::Int32, DataType::Int32),
            (Arc::new(TimestampNanosecondArray::from(vec![-1, 5])), micros, DataType::Int64),
            (Arc::new(TimestampMillisecondArray::from(vec![-1, 5])), DataType::Int64, DataType::Int64),
            (Arc::new(Time64NanosecondArray::from(vec![1, 5])), DataType::Int64, DataType::Int64),
            (Arc::new(Time32MillisecondArray::from(vec![1, 5])), DataType::Int64, DataType::Int64),
            (
                Arc::new(Decimal128Array::from(vec![-7]).with_precision_and_scale(10, -3).unwrap()),
                DataType::Utf8,
                DataType::Int64,
            ),
        ];
        for (column, instead, want) in columns {
            let own = column.data_type().clone();
            let stored = stored_type(&own, &instead).unwrap();
            assert_eq!(stored, want);
            assert_eq!(parse(&spelled(&own)), Some(own.clone()));
            let kept = to_stored(&column, &Field::new("c", stored, true)).unwrap();
            let back = from_stored(&kept, &Field::new("c", own, true)).unwrap();
            assert_eq!(back.to_data(), column.to_data());
        }
        assert_eq!(stored_type(&DataType::Float64, &DataType::Int64), None);
        assert_eq!(stored_type(&DataType::Decimal128(30, -3), &DataType::Utf8), None);
        assert_eq!(parse("decimal512(1,1)"), None);
    }
}
