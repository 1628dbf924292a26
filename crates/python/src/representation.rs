//! The same values in the Arrow types that a consumer asks for.
//!
//! A schema request chooses between representations; it is not a conversion. Types are changed where every value survives,
//! and stay as they are everywhere else: the consumer looks at the schema that it receives.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::DataType::{
    self, Binary, BinaryView, Dictionary, FixedSizeBinary, FixedSizeList, Float16, Float32, Float64,
    LargeBinary, LargeList, LargeUtf8, List, Utf8, Utf8View,
};
use arrow_schema::{ArrowError, Field, FieldRef, Schema, SchemaRef};
use tesselle::{Error, Result};

/// The schema that answers a request: the requested types where they represent the same values.
///
/// Fails if the request has other columns.
pub(crate) fn answer(own: &SchemaRef, requested: &Schema) -> Result<SchemaRef> {
    let names =
        |schema: &Schema| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    if names(own) != names(requested) {
        return Err(Error::invalid(format!(
            "the requested schema has the columns {}, the rows have {}",
            names(requested).join(", "),
            names(own).join(", ")
        )));
    }
    let pairs = own.fields().iter().zip(requested.fields());
    let fields: Vec<FieldRef> = pairs.map(|(own, wanted)| represented(own, wanted)).collect();
    Ok(Arc::new(Schema::new_with_metadata(fields, own.metadata().clone())))
}

/// A field with the requested type, or as it is.
fn represented(own: &FieldRef, wanted: &Field) -> FieldRef {
    let (from, to) = (own.data_type(), wanted.data_type());
    if from == to || !represents(from, to) || !can_cast_types(from, to) {
        return Arc::clone(own);
    }
    Arc::new(own.as_ref().clone().with_data_type(to.clone()))
}

/// Whether the second type has every value of the first.
fn represents(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View)
        | (Binary | LargeBinary | BinaryView | FixedSizeBinary(_), Binary | LargeBinary | BinaryView)
        | (Float16, Float32 | Float64)
        | (Float32, Float64) => true,
        (Dictionary(_, from), Dictionary(key, to)) => has_room(key) && (from == to || represents(from, to)),
        (Dictionary(_, from), to) => **from == *to || represents(from, to),
        (from, Dictionary(key, to)) => has_room(key) && (*from == **to || represents(from, to)),
        (List(from) | LargeList(from) | FixedSizeList(from, _), List(to) | LargeList(to)) => {
            let (from_item, to_item) = (from.data_type(), to.data_type());
            (to.is_nullable() || !from.is_nullable())
                && (from_item == to_item || represents(from_item, to_item))
        }
        (from, to) => match (integer(from), integer(to)) {
            (Some((signed, bits)), Some((wider_signed, wider))) => {
                if signed == wider_signed {
                    wider >= bits
                } else {
                    wider_signed && wider > bits
                }
            }
            _ => false,
        },
    }
}

/// Whether keys of this type count every row of a batch.
fn has_room(key: &DataType) -> bool {
    integer(key).is_some_and(|(_, bits)| bits >= 32)
}

/// Whether an integer has a sign, and its bits.
fn integer(data_type: &DataType) -> Option<(bool, u8)> {
    Some(match data_type {
        DataType::Int8 => (true, 8),
        DataType::Int16 => (true, 16),
        DataType::Int32 => (true, 32),
        DataType::Int64 => (true, 64),
        DataType::UInt8 => (false, 8),
        DataType::UInt16 => (false, 16),
        DataType::UInt32 => (false, 32),
        DataType::UInt64 => (false, 64),
        _ => return None,
    })
}

/// A batch with the types of a schema.
pub(crate) fn convert(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> std::result::Result<RecordBatch, ArrowError> {
    // What does not fit is an error, never null.
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        cast_with_options(column, field.data_type(), &strict)
    });
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    let rows = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &rows)
}
