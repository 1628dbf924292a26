//! Mapping of Arrow columns to the types of the format.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, TimeUnit};
use arrow_select::take::take;
use tesselle_core::{Error, Result, TYPE_KEY};

use super::options::WriterOptions;
use crate::meta::schema::{Field, Schema, flags};
use crate::meta::types::LogicalType;
use crate::read::schema::{STRING_KEY, is_element};

/// The schema of the file that batches of `arrow` are written to.
pub(crate) fn from_arrow(arrow: &ArrowSchema, options: &WriterOptions) -> Result<Schema> {
    let known = || arrow.fields().iter().map(|f| f.name().as_str());
    let named = options.sort_key.iter().chain(&options.bloom).chain(&options.blobs);
    for name in named {
        arrow.index_of(name).map_err(|_| Error::unknown_name("column", name, known()))?;
    }
    if arrow.fields().is_empty() {
        return Err(Error::invalid("a tatami file needs at least one column"));
    }
    let mut seen = std::collections::HashSet::new();
    let fields = arrow.fields().iter().map(|field| {
        if field.name().is_empty() || !seen.insert(field.name()) {
            return Err(Error::invalid(format!("column '{}' is unnamed or appears twice", field.name())));
        }
        to_field(field, options)
    });
    let mut schema = Schema { fields: fields.collect::<Result<_>>()? };
    if let Some(key) = &options.sort_key {
        let field = schema.fields.iter_mut().find(|f| f.name == key.as_bytes());
        let field = field.ok_or_else(|| Error::internal("the sort key is not a column"))?;
        if !field.logical.has_scalars() {
            return Err(Error::invalid(format!(
                "column '{key}' of type {} cannot be a sort key",
                field.logical.name()
            )));
        }
        field.flags |= flags::SORT_KEY;
    }
    Ok(schema)
}

fn to_field(field: &ArrowField, options: &WriterOptions) -> Result<Field> {
    let has = |names: &[String]| names.iter().any(|n| n == field.name());
    let (mut logical, mut element) = (to_logical(field.data_type(), field.name())?, 0);
    let mut bits = if field.is_nullable() { flags::NULLABLE } else { 0 };
    // Strings that may not be UTF-8 are passed as Binary and become strings in the file.
    let was_string = field.metadata().get(TYPE_KEY).is_some_and(|t| t == LogicalType::String.name());
    if was_string && logical == LogicalType::Bytes {
        logical = LogicalType::String;
    }
    let was_blob = field.metadata().get(TYPE_KEY).is_some_and(|t| t == LogicalType::BlobRef.name());
    if has(&options.blobs) && !logical.is_binary() {
        return Err(Error::invalid(format!(
            "column '{}' is neither string nor binary and cannot store blobs",
            field.name()
        )));
    }
    if has(&options.blobs) || (was_blob && logical.is_binary()) {
        logical = LogicalType::BlobRef;
        bits |= flags::BLOB_SEPARATED;
    }
    if logical == LogicalType::List {
        // The plain format may declare a list; the writer refuses its rows.
        element = list_element(field)?.id();
    }
    if has(&options.bloom) {
        if !logical.has_scalars() {
            return Err(Error::invalid(format!(
                "column '{}' of type {} cannot have a bloom filter",
                field.name(),
                logical.name()
            )));
        }
        bits |= flags::BLOOM;
    }
    Ok(Field { name: field.name().clone().into_bytes(), logical, flags: bits, element })
}

/// The blob columns whose values are strings.
pub(crate) fn blobs_of_strings(arrow: &ArrowSchema, schema: &Schema) -> Vec<String> {
    let fields = arrow.fields().iter().zip(&schema.fields);
    let strings = fields.filter(|(arrow, field)| {
        let noted = arrow.metadata().contains_key(STRING_KEY);
        let string = to_logical(arrow.data_type(), arrow.name()).is_ok_and(|t| t == LogicalType::String);
        field.logical == LogicalType::BlobRef && (noted || string)
    });
    strings.map(|(arrow, _)| arrow.name().clone()).collect()
}

fn list_element(field: &ArrowField) -> Result<LogicalType> {
    let (DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)) =
        field.data_type()
    else {
        return Err(Error::internal("a list column without a list type"));
    };
    let element = to_logical(item.data_type(), field.name())?;
    if is_element(element) { Ok(element) } else { Err(misfit(field.data_type(), field.name())) }
}

fn misfit(data_type: &DataType, name: &str) -> Error {
    Error::invalid(format!("column '{name}' of type {data_type} cannot be stored in a tatami file"))
        .hint("cast it to a number, string or binary first")
}

fn to_logical(data_type: &DataType, name: &str) -> Result<LogicalType> {
    Ok(match data_type {
        DataType::Boolean => LogicalType::Bool,
        DataType::Int8 => LogicalType::Int8,
        DataType::Int16 => LogicalType::Int16,
        DataType::Int32 => LogicalType::Int32,
        DataType::Int64 | DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) => {
            LogicalType::Int64
        }
        DataType::UInt8 => LogicalType::UInt8,
        DataType::UInt16 => LogicalType::UInt16,
        DataType::UInt32 => LogicalType::UInt32,
        DataType::UInt64 => LogicalType::UInt64,
        DataType::Float16 | DataType::Float32 => LogicalType::Float32,
        DataType::Float64 => LogicalType::Float64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => LogicalType::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            LogicalType::Bytes
        }
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => LogicalType::TimestampMicros,
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _) => LogicalType::List,
        DataType::Dictionary(_, value) => to_logical(value, name)?,
        other => return Err(misfit(other, name)),
    })
}

/// The array with the Arrow type that the encoder of `logical` takes. Nothing is rounded: values that do not
/// fit are refused.
pub(crate) fn normalize(array: &ArrayRef, name: &str) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            normalize(&take(dictionary.values().as_ref(), dictionary.keys(), None)?, name)?
        }
        DataType::Float16 => Arc::new(array.as_primitive::<Float16Type>().unary::<_, Float32Type>(f32::from)),
        DataType::Timestamp(TimeUnit::Microsecond, None) => Arc::clone(array),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            let plain = array.as_primitive::<TimestampMicrosecondType>();
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::try_new(
                plain.values().clone(),
                plain.nulls().cloned(),
            )?)
        }
        DataType::Timestamp(TimeUnit::Second, _) => scaled::<TimestampSecondType>(array, 1_000_000, name)?,
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            scaled::<TimestampMillisecondType>(array, 1_000, name)?
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = array.as_primitive::<TimestampNanosecondType>();
            if nanos.iter().flatten().any(|n| n % 1000 != 0) {
                return Err(Error::invalid(format!(
                    "column '{name}' has nanoseconds, but the format stores microseconds"
                ))
                .hint("round the column to microseconds, or cast it to a whole number"));
            }
            Arc::new(nanos.unary::<_, TimestampMicrosecondType>(|n| n / 1000))
        }
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>();
            Arc::new(days.unary::<_, TimestampMicrosecondType>(|d| i64::from(d) * 86_400_000_000))
        }
        DataType::Date64 => scaled::<Date64Type>(array, 1_000, name)?,
        DataType::Time32(TimeUnit::Second) => {
            Arc::new(array.as_primitive::<Time32SecondType>().unary::<_, Int64Type>(i64::from))
        }
        DataType::Time32(_) => {
            Arc::new(array.as_primitive::<Time32MillisecondType>().unary::<_, Int64Type>(i64::from))
        }
        DataType::Time64(TimeUnit::Microsecond) => whole::<Time64MicrosecondType>(array)?,
        DataType::Time64(_) => whole::<Time64NanosecondType>(array)?,
        DataType::Duration(TimeUnit::Second) => whole::<DurationSecondType>(array)?,
        DataType::Duration(TimeUnit::Millisecond) => whole::<DurationMillisecondType>(array)?,
        DataType::Duration(TimeUnit::Microsecond) => whole::<DurationMicrosecondType>(array)?,
        DataType::Duration(TimeUnit::Nanosecond) => whole::<DurationNanosecondType>(array)?,
        _ => Arc::clone(array),
    })
}

fn whole<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> Result<ArrayRef> {
    let values = array.as_primitive::<T>();
    Ok(Arc::new(PrimitiveArray::<Int64Type>::try_new(values.values().clone(), values.nulls().cloned())?))
}

fn scaled<T: ArrowPrimitiveType<Native = i64>>(
    array: &ArrayRef,
    factor: i64,
    name: &str,
) -> Result<ArrayRef> {
    let values = array.as_primitive::<T>();
    if values.iter().flatten().any(|v| v.checked_mul(factor).is_none()) {
        return Err(Error::invalid(format!(
            "column '{name}' has a time that does not fit 64 bits of microseconds"
        )));
    }
    Ok(Arc::new(values.unary::<_, TimestampMicrosecondType>(|v| v.wrapping_mul(factor))))
}

use arrow_array::ArrowPrimitiveType;

/// The type of normalized list elements.
pub(crate) fn element_logical(data_type: &DataType) -> Result<LogicalType> {
    to_logical(data_type, "item")
}
