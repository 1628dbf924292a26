//! Fitting of columns to the types of a format. Columns stored in a wider type are reported; columns that cannot be
//! stored are an error, all in one message, with the casts that help.

use std::sync::Arc;

use arrow_schema::{DataType, Field};

use crate::array::DType;
use crate::error::{Error, Result};
use crate::hint::Action;
use crate::types::type_name;

/// How a column is stored in a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// Stored; reads back with this type, which may be unchanged.
    As(DataType),
    /// Not supported; with the type to cast to, if any.
    Refused(Option<DataType>),
}

impl Fit {
    /// An unsupported column, and the type to cast it to.
    pub fn refused(instead: DataType) -> Self {
        Self::Refused(Some(instead))
    }
}

/// A column whose type changes in the target; every value is kept.
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
    /// The object of reports.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "column": self.column, "from": type_name(&self.from), "to": type_name(&self.to) })
    }
}

/// Checks every column against `format`; returns the changed columns, and what their types lose, one line each.
pub fn check_types<'a>(
    format: &str,
    columns: impl IntoIterator<Item = (&'a Field, Fit)>,
) -> Result<(Vec<TypeChange>, Vec<String>)> {
    let (mut changes, mut lost, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for (field, fit) in columns {
        // Timestamps keep their instant without the display time zone.
        let mut without_zone = field.data_type().clone();
        if let (DataType::Timestamp(unit, Some(zone)), Fit::As(DataType::Timestamp(_, None))) =
            (field.data_type(), &fit)
        {
            lost.push(format!("the time zone {zone} of column '{}'", field.name()));
            without_zone = DataType::Timestamp(*unit, None);
        }
        match fit {
            Fit::As(to) if same(&without_zone, &to) => {}
            Fit::As(to) => {
                let (column, from) = (field.name().clone(), field.data_type().clone());
                changes.push(TypeChange { column, from, to });
            }
            Fit::Refused(instead) => refused.push((field, instead)),
        }
    }
    if refused.is_empty() { Ok((changes, lost)) } else { Err(misfits(format, &refused)) }
}

/// One error about all columns that do not fit.
fn misfits(format: &str, refused: &[(&Field, Option<DataType>)]) -> Error {
    let one = |(field, _): &(&Field, Option<DataType>)| {
        format!("column '{}' of type {}", field.name(), type_name(&plain_type(field.data_type())))
    };
    let list = refused.iter().map(one).collect::<Vec<_>>().join(", ");
    let verb = if refused.len() == 1 { "does" } else { "do" };
    let casts: Vec<(String, DataType)> =
        refused.iter().filter_map(|(field, to)| Some((field.name().clone(), to.clone()?))).collect();
    let names = refused.iter().map(|(field, _)| field.name().clone()).collect();
    let error = Error::invalid(format!("{list} {verb} not fit {format}")).refusing(names);
    let rest: Vec<&str> =
        refused.iter().filter(|(_, to)| to.is_none()).map(|(field, _)| field.name().as_str()).collect();
    match (casts.is_empty(), rest.as_slice()) {
        (true, [_]) => error.suggest("exclude it with {}", [Action::Columns]),
        (true, _) => error.suggest("exclude them with {}", [Action::Columns]),
        (false, []) => error.suggest(
            if casts.len() == 1 {
                "convert it with {}, or exclude it with {}"
            } else {
                "convert them with {}, or exclude them with {}"
            },
            [Action::Cast(casts), Action::Columns],
        ),
        (false, rest) => error.suggest(
            format!("convert with {{}}, and exclude {} with {{}}", rest.join(", ")),
            [Action::Cast(casts), Action::Columns],
        ),
    }
}

/// How a tensor axis column is stored.
pub fn fit_axis(data_type: &DataType) -> Fit {
    if plain_type(data_type).is_integer() { Fit::As(DataType::Int64) } else { Fit::refused(DataType::Int64) }
}

/// How a column of tensor cells is stored.
pub fn fit_cells(data_type: &DataType) -> Fit {
    use DataType as D;
    match data_type {
        D::Dictionary(_, values) => fit_cells(values),
        D::Boolean => Fit::refused(D::UInt8),
        D::Timestamp(..) | D::Duration(_) | D::Date64 | D::Time64(_) => Fit::refused(D::Int64),
        D::Date32 | D::Time32(_) => Fit::refused(D::Int32),
        D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => {
            Fit::refused(D::Float64)
        }
        other if DType::from_arrow(other).is_some() => Fit::As(other.clone()),
        _ => Fit::Refused(None),
    }
}

/// Whether two types are equivalent: large and view variants have the same values.
fn same(a: &DataType, b: &DataType) -> bool {
    plain_type(a) == plain_type(b) && !matches!(a, DataType::Dictionary(..)) || a == b
}

/// The canonical type: large, view and dictionary variants have the same values, and so do lists regardless of the name
/// and nullability of their items.
pub fn plain_type(data_type: &DataType) -> DataType {
    let item = |field: &Field| Arc::new(Field::new("item", plain_type(field.data_type()), true));
    match data_type {
        DataType::List(field) | DataType::LargeList(field) => DataType::List(item(field)),
        DataType::FixedSizeList(field, n) => DataType::FixedSizeList(item(field), *n),
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn a_refusal_lists_every_column_and_suggests_casts() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let when = Field::new("when", DataType::Date32, false);
        let price = Field::new("price", DataType::Decimal128(9, 2), false);
        let tags = Field::new("tags", DataType::Struct(Vec::<Field>::new().into()), false);
        let of = |columns: Vec<(&Field, Fit)>| check_types("tatami", columns).unwrap_err().to_string();
        let one = of(vec![(&when, Fit::refused(micros.clone()))]);
        assert!(one.contains("'when'") && one.contains("when=timestamp_us"), "{one}");
        let only = of(vec![(&tags, Fit::Refused(None))]);
        assert!(only.contains("'tags'") && only.contains("a list of columns"), "{only}");
        let fits = [Fit::refused(micros), Fit::refused(DataType::Utf8), Fit::Refused(None)];
        let all = of([&when, &price, &tags].into_iter().zip(fits).collect());
        assert!(all.contains("when=timestamp_us,price=utf8") && all.contains("exclude tags"), "{all}");
    }

    #[test]
    fn wider_types_and_lost_zones_are_reported() {
        let narrow = Field::new("a", DataType::Int8, false);
        let (changes, lost) = check_types("x", [(&narrow, Fit::As(DataType::Int32))]).unwrap();
        assert_eq!(changes[0].to_json(), serde_json::json!({"column": "a", "from": "int8", "to": "int32"}));
        assert!(lost.is_empty());
        let zoned = DataType::Timestamp(TimeUnit::Millisecond, Some("Europe/Berlin".into()));
        let zoned = Field::new("at", zoned, false);
        let millis = DataType::Timestamp(TimeUnit::Millisecond, None);
        let (changes, lost) = check_types("x", [(&zoned, Fit::As(millis))]).unwrap();
        assert_eq!((changes.len(), lost), (0, vec!["the time zone Europe/Berlin of column 'at'".to_owned()]));
    }
}
