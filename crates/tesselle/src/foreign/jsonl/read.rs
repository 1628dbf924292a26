//! Reading JSON lines. Types come from the whole file, so that a late value cannot break them, or from the caller.

use std::io::BufReader;

use arrow_json::ReaderBuilder;
use arrow_json::reader::infer_json_schema;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tesselle_core::{Location, Result};

use crate::foreign::ForeignBatches;
use crate::foreign::reader::LocationReader;
use crate::foreign::writer::damaged;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// The columns: typed by the caller or else by the whole file.
pub(in crate::foreign) fn schema(location: &Location, types: &[(String, DataType)]) -> Result<SchemaRef> {
    let mut input = BufReader::new(LocationReader::new(location)?);
    let (found, _) = infer_json_schema(&mut input, None).map_err(|e| damaged("JSON lines", e))?;
    let fields: Vec<Field> = found.fields().iter().map(|field| plain(field)).collect();
    let mut schema = Schema::new(fields);
    if !types.is_empty() {
        // A column that no line has is one of nulls.
        let missing = types.iter().filter(|(name, _)| schema.index_of(name).is_err());
        let missing: Vec<Field> = missing.map(|(name, kind)| Field::new(name, kind.clone(), true)).collect();
        let fields = schema.fields().iter().map(|field| field.as_ref().clone()).chain(missing);
        schema = Schema::new(fields.collect::<Vec<Field>>());
    }
    Ok(crate::foreign::with_types(&schema, types)?.into())
}

pub(in crate::foreign) fn read(location: &Location, schema: SchemaRef) -> Result<ForeignBatches> {
    let input = LocationReader::new(location)?;
    let consumed = input.consumed();
    let reader = ReaderBuilder::new(schema)
        .with_batch_size(BATCH_ROWS)
        .build(BufReader::new(input))
        .map_err(|e| damaged("JSON lines", e))?;
    let batches = Box::new(reader.map(|batch| batch.map_err(|e| damaged("JSON lines", e))));
    Ok(ForeignBatches { batches, consumed })
}

/// A column that is null in every line has no type to infer; text can hold what may come.
fn plain(field: &Field) -> Field {
    match field.data_type() {
        DataType::Null => Field::new(field.name(), DataType::Utf8, true),
        _ => field.clone(),
    }
}
