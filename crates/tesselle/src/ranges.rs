//! Ranges of columns and labels: several of each, both ends included.

use std::str::FromStr;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_schema::{DataType, Schema};
use tesselle_core::driver::{Order, scan};
use tesselle_core::{Comparison, Driver, Error, Label, Predicate, Result, Scalar, Scan, Table};

/// A range of a column, or of a label of it: `name=low:high`. An absent end is open; `name=value` is a single value.
/// Ends that contain a colon are separated by two dots: `name=low..high`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRange {
    /// The column or label.
    pub name: String,
    /// The first value.
    pub low: Option<String>,
    /// The last value, included.
    pub high: Option<String>,
}

impl FromStr for NamedRange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid(format!("'{text}' is not a range"))
                .hint("use NAME=LOW:HIGH, or NAME=LOW..HIGH where a value contains a colon")
        };
        let (name, ends) = text.split_once('=').ok_or_else(wrong)?;
        let (low, high) = if let Some(ends) = ends.split_once("..") {
            ends
        } else {
            let colons: Vec<usize> = ends.match_indices(':').map(|(at, _)| at).collect();
            match colons.as_slice() {
                [] if !ends.trim().is_empty() => (ends, ends),
                // Two times of one form: the colon between them is the middle one.
                _ if colons.len() % 2 == 1 => {
                    let middle = colons.get(colons.len() / 2).copied();
                    middle.and_then(|at| Some((ends.get(..at)?, ends.get(at + 1..)?))).ok_or_else(wrong)?
                }
                _ => return Err(wrong()),
            }
        };
        let end = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let name = end(name).ok_or_else(wrong)?;
        Ok(Self { name, low: end(low), high: end(high) })
    }
}

/// The rows that lie in one of the ranges of every name. Labels are looked up, so their arrays are read.
pub(crate) fn predicate(table: &dyn Table, ranges: &[NamedRange], driver: &Driver) -> Result<Predicate> {
    let schema = table.schema();
    let mut names: Vec<&str> = Vec::new();
    for range in ranges {
        if !names.contains(&range.name.as_str()) {
            names.push(&range.name);
        }
    }
    let labels = table.labels();
    let conditions = names.into_iter().map(|name| {
        let of_name: Vec<&NamedRange> = ranges.iter().filter(|range| range.name == name).collect();
        if schema.column_with_name(name).is_some() {
            return one_of(&schema, name, &of_name);
        }
        if labels.iter().any(|label| label == name) {
            return positions(&table.label(name)?, &of_name, driver);
        }
        let columns = schema.fields().iter().map(|field| field.name().as_str());
        let known = columns.chain(labels.iter().map(String::as_str));
        Err(Error::unknown_name("column or label", name, known))
    });
    Ok(Predicate::And(conditions.collect::<Result<_>>()?))
}

/// The values of a column in one of these ranges.
fn one_of(schema: &Schema, column: &str, ranges: &[&NamedRange]) -> Result<Predicate> {
    let data_type = schema.field_with_name(column)?.data_type();
    let inside = |range: &&NamedRange| {
        let ends = [(Comparison::Ge, &range.low), (Comparison::Le, &range.high)];
        let ends = ends.into_iter().filter_map(|(op, end)| Some((op, end.as_deref()?)));
        let parts = ends.map(|(op, end)| Ok(Predicate::compare(column, op, scalar(end, column, data_type)?)));
        Ok(Predicate::And(parts.collect::<Result<_>>()?))
    };
    Predicate::Or(ranges.iter().map(inside).collect::<Result<_>>()?).bind(schema)
}

/// The positions of a column whose labels lie in one of these ranges.
fn positions(label: &Label, ranges: &[&NamedRange], driver: &Driver) -> Result<Predicate> {
    let wanted = one_of(&label.table.schema(), &label.value, ranges)?;
    let scanned = Scan::all().columns([label.position.as_str()]).filter(wanted);
    let mut found: Vec<i128> = Vec::new();
    for batch in scan(&*label.table, &scanned, driver, Order::Plan)? {
        let batch = batch?;
        let column = batch.columns().first().ok_or_else(|| Error::internal("a label has no positions"))?;
        if column.data_type() == &DataType::UInt64 {
            found.extend(column.as_primitive::<UInt64Type>().values().iter().map(|value| i128::from(*value)));
        } else {
            let counts = arrow_cast::cast(column, &DataType::Int64)?;
            found.extend(counts.as_primitive::<Int64Type>().values().iter().map(|value| i128::from(*value)));
        }
    }
    found.sort_unstable();
    let mut runs: Vec<(i128, i128)> = Vec::new();
    for position in found {
        match runs.last_mut() {
            Some((_, last)) if position <= *last + 1 => *last = position,
            _ => runs.push((position, position)),
        }
    }
    let run = |(low, high)| Predicate::between(&label.column, Scalar::Int(low), Scalar::Int(high));
    Ok(Predicate::Or(runs.into_iter().map(run).collect()))
}

/// A value of a column of this type. Points in time may be counts or ISO 8601.
fn scalar(text: &str, column: &str, data_type: &DataType) -> Result<Scalar> {
    use DataType as D;
    let wrong =
        || Error::invalid(format!("'{text}' is not a value of column '{column}', which is {data_type}"));
    let int = || text.parse::<i128>().map(Scalar::Int).ok();
    Ok(match data_type {
        D::Dictionary(_, values) => scalar(text, column, values)?,
        D::Utf8 | D::LargeUtf8 | D::Utf8View => Scalar::from(text),
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => Scalar::Bytes(text.into()),
        D::Boolean => Scalar::Bool(text.parse().map_err(|_| wrong())?),
        D::Timestamp(..) | D::Date32 | D::Date64 => int().unwrap_or_else(|| Scalar::from(text)),
        D::Float16 | D::Float32 | D::Float64 => Scalar::Float(text.parse().map_err(|_| wrong())?),
        other if other.is_integer() || matches!(other, D::Duration(_) | D::Time32(_) | D::Time64(_)) => {
            int().ok_or_else(wrong)?
        }
        other => {
            return Err(Error::unsupported(format!("column '{column}' is {other}, which has no ranges"))
                .hint("use a condition"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Option<String>, Option<String>) {
        let range: NamedRange = text.parse().unwrap();
        (range.name, range.low, range.high)
    }

    #[test]
    fn ends_are_separated_by_a_colon_or_two_dots() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(parsed("x=-3:7"), ("x".to_owned(), some("-3"), some("7")));
        assert_eq!(parsed("x=5"), ("x".to_owned(), some("5"), some("5")));
        assert_eq!(parsed("x=:7"), ("x".to_owned(), None, some("7")));
        assert_eq!(parsed("t=2024-05-01T10:00..2024-05-02T10:00").1, some("2024-05-01T10:00"));
        let (_, low, high) = parsed("t=2024-05-01T10:00:2024-05-02T10:00");
        assert_eq!((low, high), (some("2024-05-01T10:00"), some("2024-05-02T10:00")));
        for wrong in ["x", "=1:2", "x=", "x=1:2:3"] {
            assert!(wrong.parse::<NamedRange>().is_err(), "{wrong}");
        }
    }
}
