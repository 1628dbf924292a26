//! Types in which values of two types are compared: no value of either is changed by its conversion, except that numbers
//! are rounded to doubles where the other side has floats.

use arrow_array::ArrayRef;
use arrow_cast::{CastOptions, can_cast_types, cast, cast_with_options};
use arrow_ord::cmp::not_distinct;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrow_select::zip::zip;
use tesselle_core::fit::plain_type;
use tesselle_core::{Error, Result};

/// Digits of the longest decimals.
const LONG: u8 = 76;

/// How a column of both sides is compared.
pub(super) struct Common {
    name: String,
    /// The type of both sides after their conversion.
    pub(super) data_type: DataType,
    /// For strings on one side only: the type that gives values of the other side and strings that are such values one
    /// spelling.
    spelled: Option<DataType>,
}

impl Common {
    /// Fails if one of the types cannot be converted.
    pub(super) fn try_new(name: &str, a: &DataType, b: &DataType) -> Result<Self> {
        let (a, b) = (plain_type(a), plain_type(b));
        let spelled = match (&a, &b) {
            (DataType::Utf8, other) | (other, DataType::Utf8) => spelling(other),
            _ => None,
        };
        let data_type = if spelled.is_some() { DataType::Utf8 } else { common_type(&a, &b) };
        let castable = |from: &DataType, to: &DataType| from == to || can_cast_types(from, to);
        let comparable = |from: &DataType| {
            castable(from, &data_type) && spelled.as_ref().is_none_or(|spelled| castable(from, spelled))
        };
        if comparable(&a) && comparable(&b) {
            return Ok(Self { name: name.to_owned(), data_type, spelled });
        }
        Err(Error::invalid(format!(
            "column '{name}' is {a} on one side and {b} on the other, which cannot be compared"
        ))
        .hint("exclude the column, or convert one side first"))
    }

    /// A column of one side. A value that the type does not have is an error.
    pub(super) fn convert(&self, column: &ArrayRef) -> Result<ArrayRef> {
        if self.spelled.is_none() && *column.data_type() == self.data_type {
            return Ok(ArrayRef::clone(column));
        }
        let converted = if let Some(spelled) = &self.spelled {
            one_spelling(column, spelled)
        } else {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(column, &self.data_type, &options)
        };
        converted.map_err(|error| {
            Error::invalid(format!("column '{}' cannot be compared", self.name))
                .source(error)
                .hint("exclude the column, or convert one side first")
        })
    }
}

/// The strings of values as this type spells them; values that are none of it keep their own.
fn one_spelling(column: &ArrayRef, spelled: &DataType) -> std::result::Result<ArrayRef, ArrowError> {
    let own = cast(column, &DataType::Utf8)?;
    let values = cast(&cast(column, spelled)?, &DataType::Utf8)?;
    let nothing = arrow_array::new_null_array(&DataType::Utf8, values.len());
    zip(&not_distinct(&values, &nothing)?, &own, &values)
}

/// The type that values of `other` and strings have in common; `None` if that is the string itself.
fn spelling(other: &DataType) -> Option<DataType> {
    use DataType as D;
    match other {
        D::Utf8 | D::Binary | D::FixedSizeBinary(_) | D::Null => None,
        D::Timestamp(..) | D::Date32 | D::Date64 => Some(D::Timestamp(TimeUnit::Nanosecond, None)),
        other if other.is_floating() => Some(D::Float64),
        other if other.is_decimal() => Some(D::Decimal256(LONG, 38)),
        other => Some(other.clone()),
    }
}

/// A type that represents the values of both.
fn common_type(a: &DataType, b: &DataType) -> DataType {
    if a == b {
        return a.clone();
    }
    wider(a, b).or_else(|| wider(b, a)).unwrap_or_else(|| a.clone())
}

fn wider(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as D;
    Some(match (a, b) {
        (D::Null, other) => other.clone(),
        (D::Utf8 | D::FixedSizeBinary(_), D::Binary | D::FixedSizeBinary(_)) => D::Binary,
        (D::Boolean, D::UInt64) => D::UInt64,
        (D::Boolean, other) if other.is_integer() => D::Int64,
        (float, _) if float.is_floating() => D::Float64,
        (one, other) if one.is_integer() && other.is_integer() => D::Decimal128(38, 0),
        (one, other) if one.is_decimal() && (other.is_decimal() || other.is_integer()) => {
            decimal(digits(one)?, digits(other)?)
        }
        // The finer unit.
        (D::Timestamp(x, _), D::Timestamp(y, _)) => D::Timestamp(*x.max(y), None),
        (D::Duration(x), D::Duration(y)) => D::Duration(*x.max(y)),
        (D::Time32(x), D::Time32(y)) => D::Time32(*x.max(y)),
        (D::Time64(x), D::Time64(y)) => D::Time64(*x.max(y)),
        (D::FixedSizeList(..), D::List(_)) | (D::Time32(_), D::Time64(_)) | (D::Date32, D::Date64) => {
            b.clone()
        }
        (D::Date32, D::Timestamp(unit, _)) => D::Timestamp(*unit, None),
        (D::Date64, D::Timestamp(unit, _)) => D::Timestamp(*unit.max(&TimeUnit::Millisecond), None),
        (one, other) if one.is_temporal() && other.is_integer() => D::Int64,
        _ => return None,
    })
}

/// Digits of a number, and how many of them follow the point.
fn digits(number: &DataType) -> Option<(i16, i16)> {
    use DataType as D;
    match number {
        D::Decimal32(all, scale) | D::Decimal64(all, scale) => Some((i16::from(*all), i16::from(*scale))),
        D::Decimal128(all, scale) | D::Decimal256(all, scale) => Some((i16::from(*all), i16::from(*scale))),
        other if other.is_integer() => Some((20, 0)),
        _ => None,
    }
}

fn decimal((a, a_scale): (i16, i16), (b, b_scale): (i16, i16)) -> DataType {
    let scale = a_scale.max(b_scale).max(0);
    let all = (a - a_scale).max(b - b_scale) + scale;
    let scale = i8::try_from(scale).unwrap_or(i8::MAX);
    match u8::try_from(all) {
        Ok(all) if all <= 38 => DataType::Decimal128(all, scale),
        all => DataType::Decimal256(all.map_or(LONG, |all| all.min(LONG)), scale),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        Array, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray,
        Time32SecondArray, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
        TimestampSecondArray,
    };

    use super::*;

    /// The rows of both columns that are equal.
    fn equal(a: &ArrayRef, b: &ArrayRef) -> Result<Vec<bool>> {
        let common = Common::try_new("x", a.data_type(), b.data_type())?;
        let other = Common::try_new("x", b.data_type(), a.data_type())?;
        let rows = |common: &Common| {
            let same = not_distinct(&common.convert(a)?, &common.convert(b)?)?;
            Ok::<_, Error>(same.values().iter().collect::<Vec<bool>>())
        };
        assert_eq!(rows(&common).ok(), rows(&other).ok(), "both directions");
        rows(&common)
    }

    fn decimals(digits: Vec<i128>, all: u8, scale: i8) -> ArrayRef {
        Arc::new(Decimal128Array::from(digits).with_precision_and_scale(all, scale).unwrap())
    }

    fn strings(all: [Option<&str>; 3]) -> ArrayRef {
        Arc::new(StringArray::from(all.to_vec()))
    }

    #[test]
    fn values_of_two_types_are_equal_only_if_they_mean_the_same() {
        let day = 86_400_000_000;
        let cases: Vec<(ArrayRef, ArrayRef, &[bool])> = vec![
            (decimals(vec![123, 120], 10, 2), decimals(vec![12345, 12000], 10, 4), &[false, true]),
            (decimals(vec![100, 150], 38, 2), Arc::new(Int64Array::from(vec![1, 1])), &[true, false]),
            (
                Arc::new(Date32Array::from(vec![1, 1])),
                Arc::new(TimestampMicrosecondArray::from(vec![day, day + 1])),
                &[true, false],
            ),
            (
                Arc::new(Time32SecondArray::from(vec![1, 1])),
                Arc::new(Time64MicrosecondArray::from(vec![1_000_000, 1_000_001])),
                &[true, false],
            ),
            (
                Arc::new(TimestampSecondArray::from(vec![1, 5_000_000_000])),
                Arc::new(Int32Array::from(vec![Some(1), None])),
                &[true, false],
            ),
            (
                Arc::new(Int64Array::from(vec![Some(1), Some(2), None])),
                strings([Some("1"), Some("2.5"), Some("x")]),
                &[true, false, false],
            ),
            (
                decimals(vec![123, 123, 123], 10, 2),
                strings([Some("1.230"), Some("1.2345"), None]),
                &[true, false, false],
            ),
            (
                Arc::new(TimestampSecondArray::from(vec![0, 0, 0])),
                strings([Some("1970-01-01 00:00:00"), Some("1970-01-01T00:00:00.000001"), Some("")]),
                &[true, false, false],
            ),
            (Arc::new(Float64Array::from(vec![0.1])), decimals(vec![10], 4, 2), &[true]),
            (
                Arc::new(arrow_array::BooleanArray::from(vec![true, true])),
                Arc::new(Int32Array::from(vec![1, 2])),
                &[true, false],
            ),
        ];
        for (a, b, want) in cases {
            let kinds = format!("{} and {}", a.data_type(), b.data_type());
            assert_eq!(equal(&a, &b).unwrap(), want, "{kinds}");
        }
    }

    #[test]
    fn values_that_do_not_fit_are_an_error() {
        let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![253_402_300_799]));
        let near: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![None]));
        let error = equal(&far, &near).unwrap_err().to_string();
        assert!(error.contains("column 'x' cannot be compared"), "{error}");
        let record = DataType::Struct(vec![arrow_schema::Field::new("a", DataType::Int64, true)].into());
        assert!(Common::try_new("x", &record, &DataType::Date32).is_err());
    }
}
