//! The columns of a file as Arrow fields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef, TimeUnit};
use tesselle_core::TYPE_KEY;

use crate::meta::schema::{Field, Schema, flags};
use crate::meta::types::LogicalType;

/// Field metadata: the name of the element type of a list.
pub(crate) const ELEMENT_KEY: &str = "tatami:element";
/// Field metadata: the values of a blob column are strings, even if they are read as bytes.
pub(crate) const STRING_KEY: &str = "tatami:string";

/// The Arrow schema of a file; the blobs of the columns in `strings` are strings.
pub(crate) fn to_arrow(schema: &Schema, strings: &[String], text_as_binary: bool) -> SchemaRef {
    let fields = schema.fields.iter().map(|field| {
        let arrow = to_field(field, text_as_binary);
        if field.logical != LogicalType::BlobRef || !strings.contains(arrow.name()) {
            return arrow;
        }
        let mut metadata = arrow.metadata().clone();
        metadata.insert(STRING_KEY.to_owned(), "true".to_owned());
        let data_type = if text_as_binary { DataType::Binary } else { DataType::Utf8 };
        arrow.with_data_type(data_type).with_metadata(metadata)
    });
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

fn to_field(field: &Field, text_as_binary: bool) -> ArrowField {
    let mut metadata = HashMap::from([(TYPE_KEY.to_owned(), field.logical.name().to_owned())]);
    let data_type = match field.logical {
        LogicalType::List => {
            let element = field.element_type().filter(|t| is_element(*t)).unwrap_or(LogicalType::Int64);
            metadata.insert(ELEMENT_KEY.to_owned(), element.name().to_owned());
            DataType::List(Arc::new(ArrowField::new("item", simple_type(element, text_as_binary), true)))
        }
        other => simple_type(other, text_as_binary),
    };
    ArrowField::new(field.display_name(), data_type, field.has(flags::NULLABLE)).with_metadata(metadata)
}

/// Whether lists may have elements of this type.
pub(crate) fn is_element(logical: LogicalType) -> bool {
    logical.has_scalars()
}

fn simple_type(logical: LogicalType, text_as_binary: bool) -> DataType {
    match logical {
        LogicalType::Bool => DataType::Boolean,
        LogicalType::Int8 => DataType::Int8,
        LogicalType::Int16 => DataType::Int16,
        LogicalType::Int32 => DataType::Int32,
        LogicalType::Int64 => DataType::Int64,
        LogicalType::UInt8 => DataType::UInt8,
        LogicalType::UInt16 => DataType::UInt16,
        LogicalType::UInt32 => DataType::UInt32,
        LogicalType::UInt64 => DataType::UInt64,
        LogicalType::Float32 => DataType::Float32,
        LogicalType::Float64 => DataType::Float64,
        LogicalType::String if !text_as_binary => DataType::Utf8,
        LogicalType::TimestampMicros => DataType::Timestamp(TimeUnit::Microsecond, None),
        LogicalType::String | LogicalType::Bytes | LogicalType::BlobRef | LogicalType::List => {
            DataType::Binary
        }
    }
}
