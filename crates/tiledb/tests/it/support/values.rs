//! A common form for cells, so that Arrow columns and `expected.json` can be compared.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use serde_json::{Value as Json, json};
use tesselle_core::hex;

fn bytes(value: &[u8]) -> Json {
    json!({ "hex": hex(value) })
}

fn float(value: f64) -> Json {
    if value.is_nan() {
        json!("NaN")
    } else {
        // Twelve digits: the parser of the expected values is not exact to the last bit.
        json!(format!("{value:.11e}"))
    }
}

/// One cell of an Arrow array.
pub(crate) fn cell(array: &dyn Array, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    macro_rules! int {
        ($type:ty) => {
            json!(array.as_primitive::<$type>().value(row))
        };
    }
    match array.data_type() {
        DataType::Boolean => json!(u8::from(array.as_boolean().value(row))),
        DataType::Int8 => int!(Int8Type),
        DataType::Int16 => int!(Int16Type),
        DataType::Int32 => int!(Int32Type),
        DataType::Int64 => int!(Int64Type),
        DataType::UInt8 => int!(UInt8Type),
        DataType::UInt16 => int!(UInt16Type),
        DataType::UInt32 => int!(UInt32Type),
        DataType::UInt64 => int!(UInt64Type),
        DataType::Date32 => int!(Date32Type),
        DataType::Timestamp(TimeUnit::Second, _) => int!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => int!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => int!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => int!(TimestampNanosecondType),
        DataType::Duration(TimeUnit::Second) => int!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => int!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => int!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => int!(DurationNanosecondType),
        DataType::Float32 => float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => bytes(array.as_string::<i32>().value(row).as_bytes()),
        DataType::Binary => bytes(array.as_binary::<i32>().value(row)),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row)),
        DataType::List(_) => list(&*array.as_list::<i32>().value(row)),
        DataType::FixedSizeList(_, _) => list(&*array.as_fixed_size_list().value(row)),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary.normalized_keys()[row];
            cell(&**dictionary.values(), key)
        }
        other => panic!("no common form for {other}"),
    }
}

fn list(values: &dyn Array) -> Json {
    (0..values.len()).map(|row| cell(values, row)).collect()
}

/// All cells of a column.
pub(crate) fn column(batches: &[RecordBatch], name: &str) -> Vec<Json> {
    let mut out = Vec::new();
    for batch in batches {
        let array = batch.column_by_name(name).unwrap_or_else(|| panic!("column '{name}' is missing"));
        out.extend((0..array.len()).map(|row| cell(&**array, row)));
    }
    out
}

pub(crate) fn is_text(kind: &str) -> bool {
    ["STRING_ASCII", "STRING_UTF8", "GEOM_WKT"].contains(&kind)
}

fn is_bytes(kind: &str) -> bool {
    ["CHAR", "BLOB", "ANY", "GEOM_WKB"].contains(&kind)
}

/// One value of `expected.json`.
pub(crate) fn wanted(kind: &str, value: &Json, raw: bool) -> Json {
    if value.is_null() {
        return Json::Null;
    }
    if let Some(count) = value.get("iota_mod_1000").and_then(Json::as_u64) {
        return (0..count).map(|i| json!(i % 1000)).collect();
    }
    if is_text(kind) || is_bytes(kind) {
        return match value {
            Json::String(text) => bytes(text.as_bytes()),
            _ => {
                match (value.get("repeat").and_then(Json::as_str), value.get("count").and_then(Json::as_u64))
                {
                    (Some(text), Some(count)) => bytes(text.repeat(count as usize).as_bytes()),
                    _ => value.clone(),
                }
            }
        };
    }
    if let Json::Array(values) = value {
        return values.iter().map(|value| wanted(kind, value, raw)).collect();
    }
    if kind.starts_with("FLOAT") {
        let number = match value.as_str() {
            Some("NaN") => f64::NAN,
            Some("Infinity") => f64::INFINITY,
            Some("-Infinity") => f64::NEG_INFINITY,
            Some("-0.0") => -0.0,
            _ => value.as_f64().unwrap(),
        };
        return float(if kind == "FLOAT32" { f64::from(number as f32) } else { number });
    }
    if kind == "DATETIME_DAY" && !raw && value.as_i64() == Some(i64::MIN) {
        return Json::Null;
    }
    value.clone()
}

/// Whether an expected string is not UTF-8.
pub(crate) fn not_utf8(value: &Json) -> bool {
    let digits = value.get("hex").and_then(Json::as_str).unwrap_or_default();
    let bytes: Vec<u8> = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    String::from_utf8(bytes).is_err()
}
