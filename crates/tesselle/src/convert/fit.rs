//! Which column types a target holds. What it holds in a wider type is converted and reported; what it cannot hold
//! is refused with the way out. Nothing is changed in silence.

use arrow_schema::DataType as D;
use arrow_schema::{DataType, Field, TimeUnit};
use serde_json::{Value, json};
use tesselle_core::{DType, Error, Result};

use crate::types::type_name;

/// What becomes of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fit {
    /// It comes back with this type, which may be its own.
    As(DataType),
    /// It has no place; the type that would have one, if any.
    Refused(Option<DataType>),
}

/// A column whose type is another one in the target; every value is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeChange {
    /// The column.
    pub column: String,
    /// Its type in the source.
    pub from: DataType,
    /// Its type in the target.
    pub to: DataType,
}

impl TypeChange {
    pub(super) fn to_json(&self) -> Value {
        json!({ "column": self.column, "from": type_name(&self.from), "to": type_name(&self.to) })
    }
}

/// What a column is for in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Values.
    Values,
    /// The times of a TsFile.
    Time,
    /// The axes of a tensor.
    Axis,
}

/// Checks every column against the target; gives those that change, and what their types lose, a line each.
pub(super) fn check(
    target: &str,
    version: Option<&str>,
    columns: &[(&Field, Place)],
) -> Result<(Vec<TypeChange>, Vec<String>)> {
    let (mut changes, mut lost) = (Vec::new(), Vec::new());
    for (field, place) in columns {
        let fit = fit(target, version, field.data_type(), *place);
        // Instants stay what they are without the zone that they were shown in.
        let mut without_zone = field.data_type().clone();
        if let (D::Timestamp(unit, Some(zone)), Fit::As(D::Timestamp(_, None))) = (field.data_type(), &fit) {
            lost.push(format!("the time zone {zone} of column '{}'", field.name()));
            without_zone = D::Timestamp(*unit, None);
        }
        match fit {
            Fit::As(to) if same(&without_zone, &to) => {}
            Fit::As(to) => {
                changes.push(TypeChange {
                    column: field.name().clone(),
                    from: field.data_type().clone(),
                    to,
                });
            }
            Fit::Refused(instead) => {
                let name = field.name();
                let error = Error::invalid(format!(
                    "column '{name}' of type {} does not fit {target}",
                    type_name(field.data_type())
                ));
                return Err(match instead {
                    Some(to) => error.hint(format!(
                        "convert it with --cast {name}={}, or leave it out with --columns",
                        type_name(&to)
                    )),
                    None => error.hint("leave it out with --columns"),
                });
            }
        }
    }
    Ok((changes, lost))
}

/// Whether two types are one: large and view variants hold the same values.
fn same(a: &DataType, b: &DataType) -> bool {
    crate::diff::plain_type(a) == crate::diff::plain_type(b) && !matches!(a, DataType::Dictionary(..))
        || a == b
}

/// What becomes of a column of this type.
pub(super) fn fit(target: &str, version: Option<&str>, data_type: &DataType, place: Place) -> Fit {
    let millis = D::Timestamp(TimeUnit::Millisecond, None);
    let micros = D::Timestamp(TimeUnit::Microsecond, None);
    let own = || Fit::As(data_type.clone());
    let refused = |instead: DataType| Fit::Refused(Some(instead));
    match (target, data_type) {
        ("parquet" | "arrow" | "jsonl" | "csv", _) => own(),
        // A dictionary is a way to store; arrays have it, the others hold its values.
        ("tiledb", D::Dictionary(_, values)) => match fit(target, version, values, place) {
            Fit::As(to) if to == **values => own(),
            _ => Fit::Refused(Some((**values).clone())),
        },
        (_, D::Dictionary(_, values)) => match fit(target, version, values, place) {
            Fit::As(to) => Fit::As(to),
            refused @ Fit::Refused(_) => refused,
        },
        ("tet" | "npy" | "zarr", _) => tensor(target, data_type, place),
        ("tsfile", _) if place == Place::Time => match data_type {
            D::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) | D::Int64 | D::Int32 | D::UInt32 => {
                Fit::As(millis)
            }
            _ => refused(millis),
        },
        ("tsfile", _) => series(version, data_type),
        ("tatami", _) => match data_type {
            D::Float16 => Fit::As(D::Float32),
            D::FixedSizeBinary(_) => Fit::As(D::Binary),
            D::Timestamp(TimeUnit::Nanosecond, _) => refused(micros),
            D::Timestamp(..) => Fit::As(micros),
            D::Date32 | D::Date64 => refused(micros),
            D::Time32(_) | D::Time64(_) | D::Duration(_) => refused(D::Int64),
            D::FixedSizeList(item, _) => Fit::As(D::List(item.clone())),
            D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => refused(D::Utf8),
            D::Struct(_) | D::Map(..) | D::Union(..) | D::Null => Fit::Refused(None),
            _ => own(),
        },
        ("tiledb", _) => match data_type {
            D::Float16 => Fit::As(D::Float32),
            D::Timestamp(unit, Some(_)) => Fit::As(D::Timestamp(*unit, None)),
            D::Date64 => Fit::As(millis),
            D::Time32(_) | D::Time64(_) => refused(D::Int64),
            D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => refused(D::Utf8),
            D::Struct(_) | D::Map(..) | D::Union(..) | D::Null => Fit::Refused(None),
            _ => own(),
        },
        _ => own(),
    }
}

fn tensor(target: &str, data_type: &DataType, place: Place) -> Fit {
    match data_type {
        _ if place == Place::Axis && data_type.is_integer() => Fit::As(D::Int64),
        _ if place == Place::Axis => Fit::Refused(Some(D::Int64)),
        D::Int8 if target == "tet" => Fit::As(D::Int16),
        D::Boolean if target == "zarr" => Fit::As(D::Boolean),
        D::Boolean => Fit::Refused(Some(D::UInt8)),
        D::Timestamp(..) | D::Duration(_) | D::Date64 | D::Time64(_) => Fit::Refused(Some(D::Int64)),
        D::Date32 | D::Time32(_) => Fit::Refused(Some(D::Int32)),
        D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => {
            Fit::Refused(Some(D::Float64))
        }
        other => match DType::from_arrow(other) {
            Some(_) => Fit::As(other.clone()),
            None => Fit::Refused(None),
        },
    }
}

/// Series of a TsFile; before version 4 there are no types for times, dates and bytes.
fn series(version: Option<&str>, data_type: &DataType) -> Fit {
    let old = version.is_some_and(|version| !matches!(version, "4"));
    let refused = |instead: DataType| Fit::Refused(Some(instead));
    match data_type {
        D::Int8 | D::Int16 | D::UInt8 | D::UInt16 => Fit::As(D::Int32),
        D::UInt32 => Fit::As(D::Int64),
        D::UInt64 | D::Duration(_) | D::Time64(_) => refused(D::Int64),
        D::Time32(_) => refused(D::Int32),
        D::Float16 => Fit::As(D::Float32),
        D::Timestamp(..) if old => refused(D::Int64),
        D::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) => {
            Fit::As(D::Timestamp(TimeUnit::Millisecond, None))
        }
        D::Timestamp(..) => refused(D::Timestamp(TimeUnit::Millisecond, None)),
        D::Date32 if old => refused(D::Int32),
        D::Date64 => refused(if old { D::Int64 } else { D::Date32 }),
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) if old => refused(D::Utf8),
        D::FixedSizeBinary(_) => Fit::As(D::Binary),
        D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => refused(D::Float64),
        D::List(_) | D::LargeList(_) | D::FixedSizeList(..) | D::Struct(_) | D::Map(..) | D::Union(..) => {
            Fit::Refused(None)
        }
        D::Null => Fit::Refused(Some(D::Utf8)),
        other => Fit::As(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_column_and_the_way_out() {
        let field = Field::new("when", DataType::Timestamp(TimeUnit::Nanosecond, None), false);
        let error = check("tatami", None, &[(&field, Place::Values)]).unwrap_err().to_string();
        assert!(error.contains("'when'") && error.contains("--cast when=timestamp_us"), "{error}");
        let field = Field::new("tags", DataType::Struct(Vec::<Field>::new().into()), false);
        let error = check("tsfile", None, &[(&field, Place::Values)]).unwrap_err().to_string();
        assert!(error.contains("'tags'") && error.contains("--columns"), "{error}");
    }

    #[test]
    fn wider_types_are_reported() {
        let field = Field::new("a", DataType::Int8, false);
        let (changes, lost) = check("tsfile", None, &[(&field, Place::Values)]).unwrap();
        assert_eq!(changes[0].to_json(), json!({"column": "a", "from": "int8", "to": "int32"}));
        assert!(lost.is_empty());
        assert_eq!(check("parquet", None, &[(&field, Place::Values)]).unwrap(), (vec![], vec![]));
    }

    #[test]
    fn a_zone_is_lost_and_no_wider_type() {
        let stamps = |unit| Field::new("at", DataType::Timestamp(unit, Some("Europe/Berlin".into())), false);
        let told = vec!["the time zone Europe/Berlin of column 'at'".to_owned()];
        let millis = stamps(TimeUnit::Millisecond);
        for (target, place) in [("tsfile", Place::Time), ("tsfile", Place::Values), ("tiledb", Place::Values)]
        {
            assert_eq!(check(target, None, &[(&millis, place)]).unwrap(), (vec![], told.clone()), "{target}");
        }
        let (changes, lost) = check("tatami", None, &[(&millis, Place::Values)]).unwrap();
        assert_eq!((changes.len(), lost), (1, told.clone()));
        let micros = stamps(TimeUnit::Microsecond);
        assert_eq!(check("tatami", None, &[(&micros, Place::Values)]).unwrap(), (vec![], told));
        assert_eq!(check("parquet", None, &[(&micros, Place::Values)]).unwrap(), (vec![], vec![]));
    }
}
