//! Literals in the types and units of their columns: `time < '2025-02-10'` counts milliseconds where the column does.

use arrow_array::timezone::Tz;
use arrow_array::types::Time64NanosecondType;
use arrow_cast::parse::Parser;
use arrow_schema::{DataType, Schema};
use half::f16;

use super::{Comparison, Predicate};
use crate::coordinate::{self, UTC, nanos, unit_of};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

impl Predicate {
    /// The predicate for a table of this schema: numbers, dates and times that are written as strings become numbers in
    /// the unit of their column, so that they compare and prune. Fails on strings that are none, and on columns without
    /// truth values that are used as conditions.
    pub fn bind(&self, schema: &Schema) -> Result<Self> {
        let kind =
            |column: &str| schema.field_with_name(column).ok().map(|field| Kind::of(field.data_type()));
        Ok(match self {
            Self::Compare { column, op, value: Scalar::String(text) } => match kind(column) {
                Some(Kind::Time(unit, zone)) => compare(column, *op, time(column, text, zone)?, unit),
                Some(Kind::TimeOfDay(unit)) => compare(column, *op, time_of_day(column, text)?, unit),
                Some(kind @ (Kind::Number | Kind::Float(_))) => {
                    Self::compare(column, *op, rounded(&number(column, text)?, kind))
                }
                Some(Kind::Bool | Kind::Other) | None => self.clone(),
            },
            Self::Compare { column, value: Scalar::Bool(_), .. } => match kind(column) {
                Some(Kind::Bool | Kind::Other) | None => self.clone(),
                Some(Kind::Time(..) | Kind::TimeOfDay(_) | Kind::Number | Kind::Float(_)) => {
                    return Err(Error::invalid(format!("column '{column}' is neither true nor false")));
                }
            },
            Self::Compare { column, op, value: value @ (Scalar::Int(_) | Scalar::Float(_)) } => kind(column)
                .map_or_else(|| self.clone(), |kind| Self::compare(column, *op, rounded(value, kind))),
            Self::In { column, values } => match kind(column) {
                Some(kind) => Self::In { column: column.clone(), values: listed(column, values, kind)? },
                None => self.clone(),
            },
            Self::And(parts) => Self::And(parts.iter().map(|part| part.bind(schema)).collect::<Result<_>>()?),
            Self::Or(parts) => Self::Or(parts.iter().map(|part| part.bind(schema)).collect::<Result<_>>()?),
            Self::Not(inner) => Self::Not(Box::new(inner.bind(schema)?)),
            Self::Always(_) | Self::Compare { .. } | Self::IsNull { .. } | Self::Custom(_) => self.clone(),
        })
    }
}

/// What a column is compared with.
#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    /// Points in time, counted in so many nanoseconds, and the time zone in which they are shown.
    Time(i128, Option<&'a str>),
    /// Times of day, counted in so many nanoseconds.
    TimeOfDay(i128),
    Number,
    Float(Precision),
    Bool,
    Other,
}

/// How exact the numbers of a column are.
#[derive(Debug, Clone, Copy)]
enum Precision {
    Half,
    Single,
    Double,
}

impl<'a> Kind<'a> {
    fn of(data_type: &'a DataType) -> Self {
        if let Some(unit) = unit_of(data_type) {
            let zone = if let DataType::Timestamp(_, zone) = data_type { zone.as_deref() } else { None };
            return Self::Time(unit, zone);
        }
        match data_type {
            DataType::Time32(unit) | DataType::Time64(unit) => Self::TimeOfDay(nanos(*unit)),
            DataType::Boolean => Self::Bool,
            DataType::Float16 => Self::Float(Precision::Half),
            DataType::Float32 => Self::Float(Precision::Single),
            DataType::Float64 => Self::Float(Precision::Double),
            number if number.is_numeric() => Self::Number,
            _ => Self::Other,
        }
    }
}

/// Nanoseconds since midnight.
fn time_of_day(column: &str, text: &str) -> Result<i128> {
    Time64NanosecondType::parse(text.trim()).map(i128::from).ok_or_else(|| {
        Error::invalid(format!("'{text}' is not a time of day, which column '{column}' is compared with"))
            .hint("write it as '12:30:00' or '12:30:00.5'")
    })
}

/// A number in quotes.
fn number(column: &str, text: &str) -> Result<Scalar> {
    let text = text.trim();
    let whole = text.parse().ok().map(Scalar::Int);
    whole.or_else(|| text.parse().ok().map(Scalar::Float)).ok_or_else(|| {
        Error::invalid(format!("'{text}' is not a number, which column '{column}' is compared with"))
    })
}

/// The number as a column of floats can have it, as SQL compares it: the 0.1 of single precision is equal to 0.1.
fn rounded(value: &Scalar, kind: Kind<'_>) -> Scalar {
    let number = match value {
        Scalar::Float(number) => *number,
        Scalar::Int(number) => *number as f64,
        _ => return value.clone(),
    };
    let rounded = match kind {
        Kind::Float(Precision::Half) => f64::from(f16::from_f64(number)),
        Kind::Float(Precision::Single) => f64::from(number as f32),
        Kind::Float(Precision::Double) => number,
        _ => return value.clone(),
    };
    match value {
        Scalar::Int(whole) if rounded as i128 == *whole => value.clone(),
        _ => Scalar::Float(rounded),
    }
}

/// Nanoseconds since 1970 of a time in ISO 8601; without a zone it is in that of the column, else in UTC.
fn time(column: &str, text: &str, zone: Option<&str>) -> Result<i128> {
    let zone = zone.unwrap_or(UTC);
    let zone: Tz = zone.parse().map_err(|_| {
        Error::unsupported(format!("the time zone '{zone}' of column '{column}' is not known"))
    })?;
    coordinate::time(text, zone).ok_or_else(|| {
        Error::invalid(format!("'{text}' is not a time, which column '{column}' is compared with"))
            .hint("write ISO 8601, e.g. '2025-02-10' or '2025-02-10T12:30:00Z'")
    })
}

/// `column op time`, where the column counts in a `unit` of nanoseconds.
fn compare(column: &str, op: Comparison, time: i128, unit: i128) -> Predicate {
    let (floor, whole) = (time.div_euclid(unit), time.rem_euclid(unit) == 0);
    let op = match op {
        op if whole => op,
        // Between two counts lies no value.
        Comparison::Eq => return Predicate::In { column: column.to_owned(), values: Vec::new() },
        Comparison::Ne => {
            return Predicate::Not(Box::new(Predicate::IsNull { column: column.to_owned() }));
        }
        Comparison::Lt | Comparison::Le => Comparison::Le,
        Comparison::Gt | Comparison::Ge => Comparison::Gt,
    };
    Predicate::compare(column, op, Scalar::Int(floor))
}

/// The values of a list that a column of this kind can have.
fn listed(column: &str, values: &[Scalar], kind: Kind<'_>) -> Result<Vec<Scalar>> {
    // Between two counts lies no value.
    let count =
        |time: i128, unit: i128| (time.rem_euclid(unit) == 0).then(|| Scalar::Int(time.div_euclid(unit)));
    let mut listed = Vec::with_capacity(values.len());
    for value in values {
        listed.extend(match (value, kind) {
            (Scalar::String(text), Kind::Time(unit, zone)) => count(time(column, text, zone)?, unit),
            (Scalar::String(text), Kind::TimeOfDay(unit)) => count(time_of_day(column, text)?, unit),
            (Scalar::String(text), Kind::Number | Kind::Float(_)) => {
                Some(rounded(&number(column, text)?, kind))
            }
            (other, kind) => Some(rounded(other, kind)),
        });
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{Field, TimeUnit};

    use super::*;

    fn bound(text: &str) -> Result<String> {
        let schema = Schema::new(vec![
            Field::new("t", DataType::Timestamp(TimeUnit::Millisecond, None), false),
            Field::new("s", DataType::Timestamp(TimeUnit::Second, None), false),
            Field::new("zoned", DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into())), true),
            Field::new("d", DataType::Date32, true),
            Field::new("name", DataType::Utf8, true),
            Field::new("n", DataType::Int32, true),
            Field::new("price", DataType::Decimal128(9, 2), true),
            Field::new("on", DataType::Boolean, true),
            Field::new("noon", DataType::Time32(TimeUnit::Second), true),
            Field::new("half", DataType::Float16, true),
            Field::new("single", DataType::Float32, true),
            Field::new("double", DataType::Float64, true),
        ]);
        Ok(text.parse::<Predicate>()?.bind(&schema)?.to_string())
    }

    #[test]
    fn times_become_counts_of_their_columns() {
        for (text, want) in [
            ("t < '1970-01-02'", "\"t\" < 86400000"),
            ("t >= TIMESTAMP '1970-01-01T00:00:01.5Z'", "\"t\" >= 1500"),
            ("t > '1970-01-01T01:00:00+01:00'", "\"t\" > 0"),
            ("s < '1970-01-01T00:00:01.5'", "\"s\" <= 1"),
            ("s >= '1970-01-01T00:00:01.5'", "\"s\" > 1"),
            ("s < '1969-12-31T23:59:59.5'", "\"s\" <= -1"),
            ("s = '1970-01-01 00:00:01.5'", "\"s\" IN ()"),
            ("s <> '1970-01-01 00:00:01.5'", "NOT (\"s\" IS NULL)"),
            ("DATE '1970-01-03' = d", "\"d\" = 2"),
            ("zoned = '1970-01-01T01:00:00'", "\"zoned\" = 0"),
            ("zoned IN ('1970-01-01T01:00:00Z', '1970-07-01')", "\"zoned\" IN (3600, 15634800)"),
            ("d NOT IN ('1970-01-03', date '1970-01-02T01:00:00', 7)", "NOT (\"d\" IN (2, 7))"),
            (
                "t BETWEEN '1970-01-01' AND 5 OR name < '1970'",
                "((\"t\" >= 0) AND (\"t\" <= 5)) OR (\"name\" < '1970')",
            ),
        ] {
            assert_eq!(bound(text).unwrap(), want, "{text}");
        }
        let error = bound("t < 'tomorrow'").unwrap_err();
        assert!(error.to_string().contains("'tomorrow' is not a time"), "{error}");
    }

    #[test]
    fn numbers_have_the_precision_of_their_columns() {
        for (text, want) in [
            ("half = 0.1", "\"half\" = 0.0999755859375"),
            ("single = 0.1", "\"single\" = 0.10000000149011612"),
            ("single <= '0.1'", "\"single\" <= 0.10000000149011612"),
            ("single IN (0.1, '0.1', 2)", "\"single\" IN (0.10000000149011612, 0.10000000149011612, 2)"),
            ("single > 0.5 AND NOT (double < 0.1)", "(\"single\" > 0.5) AND (NOT (\"double\" < 0.1))"),
            ("single = 16777217", "\"single\" = 16777216.0"),
            ("double = 9007199254740993", "\"double\" = 9007199254740992.0"),
            ("double = 9007199254740992", "\"double\" = 9007199254740992"),
            ("n = 16777217", "\"n\" = 16777217"),
        ] {
            assert_eq!(bound(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn quoted_numbers_and_times_of_day_are_those_of_their_columns() {
        for (text, want) in [
            ("n < '10'", "\"n\" < 10"),
            ("n IN ('3', 4, ' 5 ')", "\"n\" IN (3, 4, 5)"),
            ("price = '2.50' OR on", "(\"price\" = 2.5) OR (\"on\" = TRUE)"),
            ("noon >= '12:30:00.5'", "\"noon\" > 45000"),
            ("noon IN ('00:01:00', '00:01:00.5')", "\"noon\" IN (60)"),
            ("name = '10'", "\"name\" = '10'"),
        ] {
            assert_eq!(bound(text).unwrap(), want, "{text}");
        }
        for (text, want) in [
            ("n = 'ten'", "'ten' is not a number"),
            ("noon < 'soon'", "'soon' is not a time of day"),
            ("n", "'n' is neither true nor false"),
            ("NOT t", "'t' is neither true nor false"),
            ("price = true", "'price' is neither true nor false"),
        ] {
            let error = bound(text).unwrap_err();
            assert!(error.to_string().contains(want), "{text}: {error}");
        }
    }
}
