//! JSON lines. What JSON cannot say is named: `"NaN"`, `"Infinity"`, `{"hex": …}` for bytes that are not text.

mod infer;
mod read;

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use tesselle_core::storage::Staged;
use tesselle_core::{Error, Result, Sink, Summary, json_bytes, json_float};

pub(crate) use read::JsonText;

struct JsonlSink {
    out: Box<dyn Staged>,
    rows: u64,
}

pub(super) fn sink(out: Box<dyn Staged>) -> Box<dyn Sink> {
    Box::new(JsonlSink { out, rows: 0 })
}

impl Sink for JsonlSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let mut names = Vec::with_capacity(batch.num_columns());
        let mut cells = Vec::with_capacity(batch.num_columns());
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            names.push(serde_json::Value::from(field.name().as_str()).to_string());
            cells.push(cell_writer(column)?);
        }
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for (i, (name, cell)) in names.iter().zip(&cells).enumerate() {
                text.push_str(if i == 0 { "{" } else { ", " });
                text.push_str(name);
                text.push_str(": ");
                cell(row, &mut text);
            }
            text.push_str(if names.is_empty() { "{}\n" } else { "}\n" });
        }
        self.rows += batch.num_rows() as u64;
        self.out.write(text.as_bytes())
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        let summary =
            Summary { rows: self.rows, bytes: self.out.position(), pieces: 0, ..Summary::default() };
        self.out.commit()?;
        Ok(summary)
    }
}

type CellWriter<'a> = Box<dyn Fn(usize, &mut String) + 'a>;

/// How a cell of this column is written; chosen once per column.
fn cell_writer(column: &ArrayRef) -> Result<CellWriter<'_>> {
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
                // The shortest digits that give the same double back; a narrower float widens without loss.
                let _ = write!(text, "{}", json_float(f64::from(values[row])));
            })
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
    let inner: CellWriter<'_> = match column.data_type() {
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
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            list_writer(lists.values(), |row| {
                lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize
            })?
        }
        DataType::LargeList(_) => {
            let lists = column.as_list::<i64>();
            list_writer(lists.values(), |row| {
                lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize
            })?
        }
        DataType::FixedSizeList(_, n) => {
            let n = *n as usize;
            list_writer(column.as_fixed_size_list().values(), move |row| row * n..(row + 1) * n)?
        }
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            // Keys of a dictionary without values cannot be normalized; all of them are null.
            let empty = dictionary.values().is_empty();
            let keys = if empty { vec![0; column.len()] } else { dictionary.normalized_keys() };
            let value = cell_writer(dictionary.values())?;
            Box::new(move |row, text| value(keys[row], text))
        }
        DataType::Null => Box::new(|_, text| text.push_str("null")),
        // Times: ISO 8601 text; what has no such form falls back to the stored number.
        DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Duration(_)
        | DataType::Time32(_)
        | DataType::Time64(_) => {
            let formatter = ArrayFormatter::try_new(column.as_ref(), &FormatOptions::new())
                .map_err(|e| Error::invalid("a time column cannot be written as JSON").source(e))?;
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
        other => return Err(Error::invalid(format!("a column of type {other} cannot be written as JSON"))),
    };
    let nulls = column.logical_nulls();
    Ok(match nulls {
        None => inner,
        Some(nulls) => Box::new(
            move |row, text| if nulls.is_null(row) { text.push_str("null") } else { inner(row, text) },
        ),
    })
}

fn list_writer<'a>(
    values: &'a ArrayRef,
    range: impl Fn(usize) -> std::ops::Range<usize> + 'a,
) -> Result<CellWriter<'a>> {
    let value = cell_writer(values)?;
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
