//! Reading of JSON lines, one block of whole lines at a time.

use std::sync::Arc;

use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use memchr::memrchr;
use serde_json::Value;

use super::bytes::{BytesDecoder, holds_bytes};
use super::infer::{Members, add_members, fields, join_members};
use crate::foreign::text::{BoxError, Decode, Syntax};

/// The way from a JSON array to lines.
pub(crate) const JSON_ARRAY: &str = "write one object per line, e.g. with jq -c '.[]' FILE";

/// One JSON object per line. Types are inferred from all lines, so that a late value cannot contradict them.
pub(crate) struct JsonText;

impl Syntax for JsonText {
    type ScanState = ();
    type Inferred = Members;

    fn name(&self) -> &'static str {
        "JSON lines"
    }

    fn header_lines(&self) -> u64 {
        0
    }

    fn end_of_records(&self, window: &[u8], _place: &mut (), _first: bool) -> Option<usize> {
        // Inside a value a line feed is always escaped.
        memrchr(b'\n', window).map(|at| at + 1)
    }

    fn is_open(_place: &()) -> bool {
        // The parser refuses values that are cut off.
        false
    }

    fn names(&self, _head: &[u8]) -> Result<Option<Vec<String>>, BoxError> {
        Ok(None)
    }

    fn infer(&self, block: &[u8], _first: bool) -> Result<(Members, u64), BoxError> {
        let (mut all, mut records) = (Members::default(), 0);
        for value in serde_json::Deserializer::from_slice(block).into_iter::<Value>() {
            let value = value?;
            let Some(object) = value.as_object() else { return Err(not_an_object(&value).into()) };
            add_members(&mut all, object);
            records += 1;
        }
        Ok((all, records))
    }

    fn join(&self, mut a: Members, b: Members) -> Members {
        join_members(&mut a, b);
        a
    }

    fn schema(&self, _names: Vec<String>, found: Members) -> Result<Schema, BoxError> {
        Ok(Schema::new(fields(found)?))
    }

    fn decoder(
        &self,
        schema: &SchemaRef,
        columns: &[usize],
        rows: usize,
        _block: (&[u8], bool),
    ) -> Result<Box<dyn Decode>, BoxError> {
        let wanted = Arc::new(schema.project(columns)?);
        if wanted.fields().iter().any(|field| holds_bytes(field.data_type())) {
            return Ok(Box::new(BytesDecoder::try_new(wanted, rows)?));
        }
        Ok(Box::new(parser(wanted, rows)?))
    }
}

fn not_an_object(value: &Value) -> String {
    let hint = if value.is_array() { JSON_ARRAY } else { "JSON lines have one object per line" };
    format!("a line is not an object; {hint}")
}

/// The parser of columns without bytes.
pub(super) fn parser(schema: SchemaRef, rows: usize) -> Result<Decoder, ArrowError> {
    ReaderBuilder::new(schema).with_batch_size(rows).with_coerce_primitive(true).build_decoder()
}

impl Decode for Decoder {
    fn decode(&mut self, text: &[u8]) -> Result<usize, ArrowError> {
        Self::decode(self, text)
    }

    fn flush(&mut self) -> Result<Option<arrow_array::RecordBatch>, ArrowError> {
        Self::flush(self)
    }
}
