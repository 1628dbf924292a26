//! The types that the Parquet writer stores.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use tesselle_core::{Action, Error, Result};

/// The schema of the file: dictionaries of views, on which the writer panics, have plain values.
///
/// Fails on columns that the writer panics on.
pub(super) fn stored_schema(schema: &Schema) -> Result<SchemaRef> {
    let stored = |field: &FieldRef| {
        stored_field(field).ok_or_else(|| {
            let text = format!("column '{}' contains unions, which Parquet cannot store", field.name());
            Error::invalid(text).suggest("write arrow, or exclude the column with {}", [Action::Columns])
        })
    };
    let fields: Vec<FieldRef> = schema.fields().iter().map(stored).collect::<Result<_>>()?;
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

fn stored_field(field: &FieldRef) -> Option<FieldRef> {
    let stored = stored_type(field.data_type())?;
    Some(Arc::new(field.as_ref().clone().with_data_type(stored)))
}

/// The type of the stored values; `None` for unions.
fn stored_type(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::Union(..) => return None,
        DataType::Dictionary(keys, values) => {
            let values = match values.as_ref() {
                DataType::Utf8View => DataType::Utf8,
                DataType::BinaryView => DataType::Binary,
                other => stored_type(other)?,
            };
            DataType::Dictionary(keys.clone(), Box::new(values))
        }
        DataType::List(item) => DataType::List(stored_field(item)?),
        DataType::LargeList(item) => DataType::LargeList(stored_field(item)?),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(stored_field(item)?, *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(stored_field).collect::<Option<_>>()?),
        DataType::Map(entries, is_sorted) => DataType::Map(stored_field(entries)?, *is_sorted),
        other => other.clone(),
    })
}
