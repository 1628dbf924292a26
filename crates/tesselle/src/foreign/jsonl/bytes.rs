//! Binary columns: a string represents its bytes, `{"hex": …}` any others.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_json::reader::Decoder;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use serde_json::{Map, Value};
use tesselle_core::Within;
use tesselle_core::hex;

use super::infer::bytes_of;
use super::read::parser;
use crate::foreign::text::Decode;

/// Whether values of this type are bytes, or contain bytes.
pub(super) fn holds_bytes(data_type: &DataType) -> bool {
    match data_type {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            true
        }
        DataType::Struct(fields) => fields.iter().any(|field| holds_bytes(field.data_type())),
        _ => item(data_type).is_some_and(|item| holds_bytes(item.data_type())),
    }
}

/// The items of a list, or the values of a map.
fn item(data_type: &DataType) -> Option<&Field> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Some(item),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(entry) => entry.get(1).map(|value| &**value),
            _ => None,
        },
        _ => None,
    }
}

/// Parses lines with such columns. The parser accepts bytes only as hexadecimal strings, so these columns are converted
/// through JSON values; the others are not.
pub(super) struct BytesDecoder {
    schema: SchemaRef,
    others: Decoder,
    bytes: Decoder,
    /// The columns that contain bytes.
    columns: Vec<(Arc<Field>, bool)>,
    /// Input accepted by the parser of the other columns since the last batch.
    taken: Vec<u8>,
}

impl BytesDecoder {
    pub(super) fn try_new(schema: SchemaRef, rows: usize) -> Result<Self, ArrowError> {
        let columns: Vec<(Arc<Field>, bool)> =
            schema.fields().iter().map(|field| (Arc::clone(field), holds_bytes(field.data_type()))).collect();
        let part = |bytes: bool| {
            let fields = columns.iter().filter(|(_, own)| *own == bytes).map(|(field, _)| Arc::clone(field));
            parser(Arc::new(Schema::new(fields.collect::<Vec<_>>())), rows)
        };
        Ok(Self { others: part(false)?, bytes: part(true)?, schema, columns, taken: Vec::new() })
    }

    /// The binary columns of a line, in the form for the parser.
    fn line(&self, mut line: Map<String, Value>) -> Value {
        let columns = self.columns.iter().filter(|(_, bytes)| *bytes).filter_map(|(field, _)| {
            let mut value = line.remove(field.name())?;
            spell(&mut value, field.data_type());
            Some((field.name().clone(), value))
        });
        Value::Object(columns.collect())
    }
}

/// Converts bytes to digits. Values that are not bytes are kept, and the parser rejects them.
fn spell(value: &mut Value, data_type: &DataType) {
    if !holds_bytes(data_type) {
        return;
    }
    match (value, data_type) {
        (Value::Object(members), DataType::Struct(fields)) => {
            for field in fields {
                if let Some(member) = members.get_mut(field.name()) {
                    spell(member, field.data_type());
                }
            }
        }
        (Value::Object(members), DataType::Map(..)) => {
            let Some(kind) = item(data_type) else { return };
            for value in members.values_mut() {
                spell(value, kind.data_type());
            }
        }
        (Value::Array(items), _) => {
            let Some(kind) = item(data_type) else { return };
            for value in items {
                spell(value, kind.data_type());
            }
        }
        (value, _) => {
            let bytes = match &*value {
                Value::String(text) => Some(hex(text.as_bytes())),
                Value::Object(members) => bytes_of(members).map(|bytes| hex(&bytes)),
                _ => None,
            };
            if let Some(bytes) = bytes {
                *value = Value::String(bytes);
            }
        }
    }
}

impl Decode for BytesDecoder {
    fn decode(&mut self, text: &[u8]) -> Result<usize, ArrowError> {
        let taken = self.others.decode(text)?;
        self.taken.extend_from_slice(text.within(..taken));
        Ok(taken)
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(others) = self.others.flush()? else { return Ok(None) };
        let taken = std::mem::take(&mut self.taken);
        let lines = serde_json::Deserializer::from_slice(&taken).into_iter::<Map<String, Value>>();
        let lines = lines.map(|line| line.map(|line| self.line(line)));
        let lines = lines.collect::<Result<Vec<Value>, _>>();
        self.bytes.serialize(&lines.map_err(|error| ArrowError::JsonError(error.to_string()))?)?;
        let bytes = self.bytes.flush()?;
        let (mut others, mut bytes) = (others.columns().iter(), bytes.iter().flat_map(RecordBatch::columns));
        let columns =
            self.columns.iter().filter_map(|(_, own)| if *own { bytes.next() } else { others.next() });
        Ok(Some(RecordBatch::try_new(Arc::clone(&self.schema), columns.cloned().collect())?))
    }
}
