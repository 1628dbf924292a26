//! A cell as JSON. The writer of a column is chosen once, not per cell.

use std::fmt::Write as _;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RunArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, UnionMode};
use tesselle_core::{Action, Error, Result, json_bytes, json_float};

/// Writes the cell of a row.
pub(super) type CellWriter<'a> = Box<dyn Fn(usize, &mut String) + 'a>;

/// The writer for cells of the column `name`, or of its nested values.
pub(super) fn cell_writer<'a>(name: &str, column: &'a ArrayRef) -> Result<CellWriter<'a>> {
    macro_rules! integers {
        ($type:ty) => {{
            let values = column.as_primitive::<$type>().values();
            Box::new(move |row: usize, text: &mut String| {
                let _ = write!(text, "{}", values[row]);
            })
        }};
    }
    macro_rules! floats {
        ($type:ty) => {{
            let values = column.as_primitive::<$type>().values();
            Box::new(move |row: usize, text: &mut String| {
                // The shortest digits that parse back to the same double; a narrower float widens without loss.
                let _ = write!(text, "{}", json_float(f64::from(values[row])));
            })
        }};
    }
    macro_rules! decimals {
        ($type:ty, $scale:expr) => {{
            let (values, scale) = (column.as_primitive::<$type>().values(), *$scale);
            Box::new(move |row: usize, text: &mut String| decimal(&values[row].to_string(), scale, text))
        }};
    }
    macro_rules! bytes {
        ($array:expr) => {{
            let array = $array;
            Box::new(move |row: usize, text: &mut String| {
                let _ = write!(text, "{}", json_bytes(array.value(row).as_ref()));
            })
        }};
    }
    macro_rules! lists {
        ($array:expr) => {{
            let lists = $array;
            let offsets = lists.value_offsets();
            list_writer(name, lists.values(), move |row| offsets[row] as usize..offsets[row + 1] as usize)?
        }};
    }
    macro_rules! list_views {
        ($array:expr) => {{
            let lists = $array;
            let (starts, sizes) = (lists.value_offsets(), lists.value_sizes());
            list_writer(name, lists.values(), move |row| {
                starts[row] as usize..starts[row] as usize + sizes[row] as usize
            })?
        }};
    }
    let inner: CellWriter<'a> = match column.data_type() {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Float16 => floats!(Float16Type),
        DataType::Float32 => floats!(Float32Type),
        DataType::Float64 => floats!(Float64Type),
        DataType::Decimal32(_, scale) => decimals!(Decimal32Type, scale),
        DataType::Decimal64(_, scale) => decimals!(Decimal64Type, scale),
        DataType::Decimal128(_, scale) => decimals!(Decimal128Type, scale),
        DataType::Decimal256(_, scale) => decimals!(Decimal256Type, scale),
        DataType::Boolean => {
            let values = column.as_boolean();
            Box::new(move |row, text| text.push_str(if values.value(row) { "true" } else { "false" }))
        }
        DataType::Utf8 => bytes!(column.as_string::<i32>()),
        DataType::LargeUtf8 => bytes!(column.as_string::<i64>()),
        DataType::Utf8View => bytes!(column.as_string_view()),
        DataType::Binary => bytes!(column.as_binary::<i32>()),
        DataType::LargeBinary => bytes!(column.as_binary::<i64>()),
        DataType::BinaryView => bytes!(column.as_binary_view()),
        DataType::FixedSizeBinary(_) => bytes!(column.as_fixed_size_binary()),
        DataType::List(_) => lists!(column.as_list::<i32>()),
        DataType::LargeList(_) => lists!(column.as_list::<i64>()),
        DataType::ListView(_) => list_views!(column.as_list_view::<i32>()),
        DataType::LargeListView(_) => list_views!(column.as_list_view::<i64>()),
        DataType::FixedSizeList(_, n) => {
            let n = *n as usize;
            list_writer(name, column.as_fixed_size_list().values(), move |row| row * n..(row + 1) * n)?
        }
        DataType::Struct(_) => struct_writer(name, column)?,
        DataType::Map(..) => map_writer(name, column)?,
        DataType::Union(_, mode) => union_writer(name, column, *mode)?,
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            // Keys of an empty dictionary cannot be normalized; all of them are null.
            let empty = dictionary.values().is_empty();
            let keys = if empty { vec![0; column.len()] } else { dictionary.normalized_keys() };
            let value = cell_writer(name, dictionary.values())?;
            Box::new(move |row, text| value(keys[row], text))
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => run_writer::<Int16Type>(name, column)?,
            DataType::Int32 => run_writer::<Int32Type>(name, column)?,
            _ => run_writer::<Int64Type>(name, column)?,
        },
        DataType::Null => Box::new(|_, text| text.push_str("null")),
        // Times: ISO 8601 strings, calendar intervals as tables show them; values without such a form fall back to the
        // stored number.
        DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Duration(_)
        | DataType::Interval(_)
        | DataType::Time32(_)
        | DataType::Time64(_) => {
            let formatter = ArrayFormatter::try_new(column.as_ref(), &FormatOptions::new())
                .map_err(|e| refused(name, column).source(e))?;
            let numbers = arrow_cast::cast(column, &DataType::Int64).ok();
            Box::new(move |row, text| {
                let shown = formatter.value(row).try_to_string();
                let number = || numbers.as_ref().map(|n| n.as_primitive::<Int64Type>().value(row));
                let _ = match shown {
                    Ok(shown) => write!(text, "{}", serde_json::Value::from(shown)),
                    Err(_) => write!(text, "{}", serde_json::Value::from(number())),
                };
            })
        }
    };
    Ok(match column.logical_nulls() {
        None => inner,
        Some(nulls) => Box::new(
            move |row, text| if nulls.is_null(row) { text.push_str("null") } else { inner(row, text) },
        ),
    })
}

fn refused(name: &str, column: &ArrayRef) -> Error {
    Error::invalid(format!("column '{name}' of type {} cannot be written as JSON", column.data_type()))
        .suggest("exclude it with {}, or write arrow or parquet", [Action::Columns])
}

/// All digits of a decimal, given those of the stored integer.
fn decimal(stored: &str, scale: i8, text: &mut String) {
    let (sign, digits) = stored.strip_prefix('-').map_or(("", stored), |digits| ("-", digits));
    text.push_str(sign);
    let places = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        text.push_str(digits);
        if digits != "0" {
            text.extend(std::iter::repeat_n('0', places));
        }
        return;
    }
    let (whole, rest) = digits.split_at(digits.len().saturating_sub(places));
    text.push_str(if whole.is_empty() { "0" } else { whole });
    text.push('.');
    text.extend(std::iter::repeat_n('0', places - rest.len()));
    text.push_str(rest);
}

fn list_writer<'a>(
    name: &str,
    values: &'a ArrayRef,
    range: impl Fn(usize) -> Range<usize> + 'a,
) -> Result<CellWriter<'a>> {
    let value = cell_writer(name, values)?;
    Ok(Box::new(move |row, text| {
        text.push('[');
        for (i, at) in range(row).enumerate() {
            if i > 0 {
                text.push_str(", ");
            }
            value(at, text);
        }
        text.push(']');
    }))
}

fn struct_writer<'a>(name: &str, column: &'a ArrayRef) -> Result<CellWriter<'a>> {
    let members = column.as_struct();
    let members = members.fields().iter().zip(members.columns()).map(|(field, values)| {
        Ok((serde_json::Value::from(field.name().as_str()).to_string(), cell_writer(name, values)?))
    });
    let members = members.collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |row, text| {
        text.push('{');
        for (i, (member, value)) in members.iter().enumerate() {
            text.push_str(if i == 0 { "" } else { ", " });
            text.push_str(member);
            text.push_str(": ");
            value(row, text);
        }
        text.push('}');
    }))
}

/// An object if the keys are strings, else a list of pairs.
fn map_writer<'a>(name: &str, column: &'a ArrayRef) -> Result<CellWriter<'a>> {
    let maps = column.as_map();
    let (keys, offsets) = (maps.keys(), maps.value_offsets());
    let is_object = is_string(keys.data_type()) && keys.logical_null_count() == 0;
    let (key, value) = (cell_writer(name, keys)?, cell_writer(name, maps.values())?);
    let (open, close) = if is_object { ('{', '}') } else { ('[', ']') };
    Ok(Box::new(move |row, text| {
        text.push(open);
        for (i, at) in (offsets[row] as usize..offsets[row + 1] as usize).enumerate() {
            text.push_str(if i == 0 { "" } else { ", " });
            text.push_str(if is_object { "" } else { "{\"key\": " });
            key(at, text);
            text.push_str(if is_object { ": " } else { ", \"value\": " });
            value(at, text);
            text.push_str(if is_object { "" } else { "}" });
        }
        text.push(close);
    }))
}

fn is_string(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_string(values),
        _ => false,
    }
}

/// The bare value: its JSON form shows its type.
fn union_writer<'a>(name: &str, column: &'a ArrayRef, mode: UnionMode) -> Result<CellWriter<'a>> {
    let union = column.as_union();
    let DataType::Union(fields, _) = column.data_type() else { return Err(refused(name, column)) };
    let mut kinds: Vec<Option<CellWriter<'a>>> = (0..=i8::MAX).map(|_| None).collect();
    for (id, _) in fields.iter() {
        if let Some(kind) = usize::try_from(id).ok().and_then(|id| kinds.get_mut(id)) {
            *kind = Some(cell_writer(name, union.child(id))?);
        }
    }
    Ok(Box::new(move |row, text| {
        let at = if mode == UnionMode::Dense { union.value_offset(row) } else { row };
        let kind = usize::try_from(union.type_id(row)).ok().and_then(|id| kinds.get(id)?.as_ref());
        match kind {
            Some(value) => value(at, text),
            None => text.push_str("null"),
        }
    }))
}

fn run_writer<'a, R: RunEndIndexType>(name: &str, column: &'a ArrayRef) -> Result<CellWriter<'a>> {
    let runs = column.as_any().downcast_ref::<RunArray<R>>().ok_or_else(|| refused(name, column))?;
    let value = cell_writer(name, runs.values())?;
    Ok(Box::new(move |row, text| value(runs.get_physical_index(row), text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_every_digit() {
        for (stored, scale, shown) in [
            ("125", 2, "1.25"),
            ("-125", 2, "-1.25"),
            ("5", 3, "0.005"),
            ("-5", 1, "-0.5"),
            ("0", 2, "0.00"),
            ("100", 2, "1.00"),
            ("12", 0, "12"),
            ("12", -3, "12000"),
            ("0", -3, "0"),
            ("99999999999999999999999999999999999999", 38, "0.99999999999999999999999999999999999999"),
        ] {
            let mut text = String::new();
            decimal(stored, scale, &mut text);
            assert_eq!(text, shown);
        }
    }
}
