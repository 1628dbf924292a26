//! Literals in the units of their columns: `time < '2025-02-10'` counts milliseconds where the column does.

use arrow_array::timezone::Tz;
use arrow_cast::parse::string_to_datetime;
use arrow_schema::{DataType, Schema, TimeUnit};

use super::{Comparison, Predicate};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

const DAY: i128 = 86_400 * SECOND;
const SECOND: i128 = 1_000_000_000;

impl Predicate {
    /// The predicate for a table of this schema: dates and times that are written as strings become numbers in the unit
    /// of their column, so that they compare and prune.
    pub fn bind(&self, schema: &Schema) -> Result<Self> {
        let unit = |column: &str| schema.field_with_name(column).ok().and_then(|f| nanos(f.data_type()));
        Ok(match self {
            Self::Compare { column, op, value: Scalar::String(text) } => match unit(column) {
                Some(unit) => compare(column, *op, time(column, text)?, unit),
                None => self.clone(),
            },
            Self::In { column, values } => match unit(column) {
                Some(unit) => Self::In { column: column.clone(), values: counted(column, values, unit)? },
                None => self.clone(),
            },
            Self::And(parts) => Self::And(parts.iter().map(|part| part.bind(schema)).collect::<Result<_>>()?),
            Self::Or(parts) => Self::Or(parts.iter().map(|part| part.bind(schema)).collect::<Result<_>>()?),
            Self::Not(inner) => Self::Not(Box::new(inner.bind(schema)?)),
            Self::Always(_) | Self::Compare { .. } | Self::IsNull { .. } | Self::Custom(_) => self.clone(),
        })
    }
}

/// Nanoseconds in one count of a column of points in time.
fn nanos(data_type: &DataType) -> Option<i128> {
    match data_type {
        DataType::Timestamp(TimeUnit::Second, _) => Some(SECOND),
        DataType::Timestamp(TimeUnit::Millisecond, _) => Some(1_000_000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => Some(1_000),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Some(1),
        DataType::Date32 => Some(DAY),
        DataType::Date64 => Some(1_000_000),
        _ => None,
    }
}

/// Nanoseconds since 1970 of a time in ISO 8601; without a zone it is in UTC.
fn time(column: &str, text: &str) -> Result<i128> {
    let refused = || {
        Error::invalid(format!("'{text}' is not a time, which column '{column}' is compared with"))
            .hint("write ISO 8601, e.g. '2025-02-10' or '2025-02-10T12:30:00Z'")
    };
    let utc: Tz = "+00:00".parse().map_err(|_| Error::internal("UTC is not a time zone"))?;
    let time = string_to_datetime(&utc, text.trim()).map_err(|_| refused())?;
    Ok(i128::from(time.timestamp()) * SECOND + i128::from(time.timestamp_subsec_nanos()))
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

/// The values of a list that a column of this unit can have.
fn counted(column: &str, values: &[Scalar], unit: i128) -> Result<Vec<Scalar>> {
    let mut counted = Vec::with_capacity(values.len());
    for value in values {
        match value {
            Scalar::String(text) => {
                let time = time(column, text)?;
                if time.rem_euclid(unit) == 0 {
                    counted.push(Scalar::Int(time.div_euclid(unit)));
                }
            }
            other => counted.push(other.clone()),
        }
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;

    use super::*;

    fn bound(text: &str) -> Result<String> {
        let schema = Schema::new(vec![
            Field::new("t", DataType::Timestamp(TimeUnit::Millisecond, None), false),
            Field::new("s", DataType::Timestamp(TimeUnit::Second, None), false),
            Field::new("d", DataType::Date32, true),
            Field::new("name", DataType::Utf8, true),
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
}
