//! Casting columns on their way, as the caller asked.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{DataType, Schema};
use tesselle_core::{Error, Result};

use crate::source::RowStream;
use crate::types::type_name;

/// `rows` with these columns cast. A value that does not fit its new type ends the stream with an error.
pub(super) fn cast(rows: RowStream, casts: &[(String, DataType)]) -> Result<RowStream> {
    if casts.is_empty() {
        return Ok(rows);
    }
    let mut fields: Vec<_> = rows.schema.fields().iter().cloned().collect();
    let mut plan = Vec::new();
    for (name, to) in casts {
        let known = rows.schema.fields().iter().map(|field| field.name().as_str());
        let at = rows.schema.index_of(name).map_err(|_| Error::unknown_name("column", name, known))?;
        // A column may be cast more than once, one after the other.
        let from = fields.get(at).map_or(&DataType::Null, |field| field.data_type());
        if !can_cast_types(from, to) {
            return Err(Error::invalid(format!(
                "column '{name}' of type {} cannot be cast to {}",
                type_name(from),
                type_name(to)
            )));
        }
        // The source's own name of the type no longer holds.
        let field = rows.schema.field(at).clone().with_data_type(to.clone()).with_metadata([].into());
        if let Some(place) = fields.get_mut(at) {
            *place = Arc::new(field);
        }
        plan.push((at, name.clone(), to.clone()));
    }
    let schema = Arc::new(Schema::new_with_metadata(fields, rows.schema.metadata().clone()));
    let target = Arc::clone(&schema);
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let batches = rows.batches.map(move |batch| {
        let batch = batch?;
        let mut columns = batch.columns().to_vec();
        for (at, name, to) in &plan {
            if let Some(column) = columns.get_mut(*at) {
                *column = cast_with_options(column, to, &options).map_err(|error| {
                    Error::invalid(format!("column '{name}' has a value that does not fit {}", type_name(to)))
                        .source(error)
                        .hint("choose a wider type, or leave such rows out with --where")
                })?;
            }
        }
        Ok(RecordBatch::try_new(Arc::clone(&target), columns)?)
    });
    Ok(RowStream { schema, batches: Box::new(batches) })
}
