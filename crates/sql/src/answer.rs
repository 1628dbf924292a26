//! The answer of a statement.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use tesselle::Result;

use crate::error::ours;
use crate::interrupt::Interrupt;
use crate::runtime::Runtime;

/// The rows of a statement, batch by batch. Dropping it stops the work.
pub struct Answer {
    schema: SchemaRef,
    stream: Option<SendableRecordBatchStream>,
    runtime: Arc<Runtime>,
    interrupt: Interrupt,
}

impl Answer {
    pub(crate) fn new(
        stream: SendableRecordBatchStream,
        runtime: Arc<Runtime>,
        interrupt: Interrupt,
    ) -> Self {
        let schema = plain_schema(&stream.schema());
        Self { schema, stream: Some(stream), runtime, interrupt }
    }

    /// The columns. Utf8View and BinaryView columns are returned as Utf8 and Binary.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Stops the statement from another thread.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Reads to the end and forgets.
    pub fn finish(mut self) -> Result<()> {
        self.try_for_each(|batch| batch.map(drop))
    }

    fn plain(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns: std::result::Result<Vec<ArrayRef>, _> = columns
            .map(|(column, field)| {
                if column.data_type() == field.data_type() {
                    return Ok(Arc::clone(column));
                }
                arrow_cast::cast(column, field.data_type())
            })
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns?, &options)?)
    }
}

impl Iterator for Answer {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let stream = self.stream.as_mut()?;
        let next = match self.runtime.block_on(self.interrupt.or(stream.next())) {
            Ok(next) => next.map(|batch| batch.map_err(ours)),
            Err(error) => Some(Err(error)),
        };
        match next {
            Some(Ok(batch)) => Some(self.plain(&batch)),
            // Results after an error are meaningless; running work must stop.
            end => {
                self.stream = None;
                end
            }
        }
    }
}

fn plain_schema(schema: &SchemaRef) -> SchemaRef {
    let plain = |field: &Arc<Field>| {
        let data_type = match field.data_type() {
            DataType::Utf8View => DataType::Utf8,
            DataType::BinaryView => DataType::Binary,
            other => other.clone(),
        };
        (**field).clone().with_data_type(data_type)
    };
    let fields: Vec<Field> = schema.fields().iter().map(plain).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
