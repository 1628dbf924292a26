//! Attributes and facts of a source in the metadata of an Arrow schema.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use tesselle_core::{Result, Sink, Summary, TableFacts};

/// Forwards batches under a schema with more metadata.
pub(super) struct Noted {
    inner: Box<dyn Sink>,
    schema: SchemaRef,
}

impl Noted {
    /// The schema with the attributes of `facts` and a note about the roles of the columns.
    pub(super) fn schema(schema: &SchemaRef, facts: &TableFacts) -> SchemaRef {
        let mut metadata = schema.metadata().clone();
        metadata.extend(
            facts.attributes.iter().map(|attribute| (attribute.name.clone(), attribute.value_string())),
        );
        metadata.extend(facts.to_note().map(|note| (TableFacts::NOTE_KEY.to_owned(), note)));
        Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata))
    }

    pub(super) fn new(inner: Box<dyn Sink>, schema: SchemaRef) -> Self {
        Self { inner, schema }
    }
}

impl Sink for Noted {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = batch.clone().with_schema(Arc::clone(&self.schema))?;
        self.inner.write(&batch)
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        self.inner.finish()
    }
}
