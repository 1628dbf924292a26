//! Objects as rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use datafusion::common::Result;
use serde_json::{Map, Value};

/// The `known` columns, then one per other key. Numbers and Booleans are typed if all rows agree; nested values become
/// JSON strings.
pub(super) fn to_batch(
    known: &[(&'static str, DataType)],
    rows: &[Map<String, Value>],
) -> Result<RecordBatch> {
    let mut seen: BTreeSet<&str> = known.iter().map(|(name, _)| *name).collect();
    let mut columns: Vec<(&str, DataType)> = known.to_vec();
    for key in rows.iter().flat_map(|row| row.keys()) {
        if seen.insert(key) {
            columns.push((key, agreed(rows, key)));
        }
    }
    let fields: Vec<Field> =
        columns.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect();
    let arrays = columns.iter().map(|(name, data_type)| column(rows, name, data_type)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?)
}

/// The type that fits all values of a key.
fn agreed(rows: &[Map<String, Value>], key: &str) -> DataType {
    let mut values = rows.iter().filter_map(|row| row.get(key)).filter(|value| !value.is_null()).peekable();
    if values.peek().is_none() {
        return DataType::Utf8;
    }
    match () {
        () if values.clone().all(Value::is_i64) => DataType::Int64,
        () if values.clone().all(Value::is_boolean) => DataType::Boolean,
        () if values.all(Value::is_number) => DataType::Float64,
        () => DataType::Utf8,
    }
}

fn column(rows: &[Map<String, Value>], key: &str, data_type: &DataType) -> ArrayRef {
    let cells = rows.iter().map(|row| row.get(key).unwrap_or(&Value::Null));
    match data_type {
        DataType::Int64 => Arc::new(cells.map(Value::as_i64).collect::<Int64Array>()),
        DataType::Boolean => Arc::new(cells.map(Value::as_bool).collect::<BooleanArray>()),
        DataType::Float32 => {
            Arc::new(cells.map(|cell| cell.as_f64().map(|v| v as f32)).collect::<Float32Array>())
        }
        DataType::Float64 => Arc::new(cells.map(Value::as_f64).collect::<Float64Array>()),
        _ => {
            let text = |cell: &Value| match cell {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            };
            Arc::new(cells.map(text).collect::<StringArray>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_take_the_type_that_fits_all_rows() {
        let row = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
        let rows = [
            row(r#"{"a": 1, "b": 1.5, "c": true, "d": [1]}"#),
            row(r#"{"a": null, "b": 2, "c": 1, "e": 7}"#),
        ];
        let batch = to_batch(&[("z", DataType::Utf8)], &rows).unwrap();
        let types: Vec<(String, DataType)> =
            batch.schema().fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect();
        let want = [
            ("z", DataType::Utf8),
            ("a", DataType::Int64),
            ("b", DataType::Float64),
            ("c", DataType::Utf8),
            ("d", DataType::Utf8),
            ("e", DataType::Int64),
        ];
        assert_eq!(types, want.map(|(name, data_type)| (name.to_owned(), data_type)));
        assert_eq!(to_batch(&[], &[]).unwrap().num_columns(), 0);
    }
}
