//! The answer of a statement.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};
use tesselle::Result;

use crate::error::ours;
use crate::interrupt::Interrupt;
use crate::runtime::Runtime;

/// The rows of a statement as a stream of batches. Dropping it stops the work.
pub struct AnswerStream {
    schema: SchemaRef,
    rows: BoxStream<'static, Result<RecordBatch>>,
}

impl std::fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerStream").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl AnswerStream {
    pub(crate) fn new(stream: SendableRecordBatchStream, interrupt: Interrupt) -> Self {
        let schema = plain_schema(&stream.schema());
        let own = Arc::clone(&schema);
        let rows = stream::unfold(Some((stream, interrupt, own)), |state| async move {
            let (mut stream, interrupt, schema) = state?;
            match interrupt.or(stream.next()).await {
                Ok(Some(Ok(batch))) => Some((plain(&schema, &batch), Some((stream, interrupt, schema)))),
                Ok(None) => None,
                // Results after an error are meaningless; running work must stop.
                Ok(Some(Err(error))) => Some((Err(ours(error)), None)),
                Err(canceled) => Some((Err(canceled), None)),
            }
        });
        // Whoever asks again after the end gets no panic.
        Self { schema, rows: rows.fuse().boxed() }
    }

    /// The columns. Utf8View and BinaryView columns are returned as Utf8 and Binary.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Reads to the end and forgets.
    pub async fn finish(mut self) -> Result<()> {
        while let Some(batch) = self.rows.next().await {
            batch?;
        }
        Ok(())
    }
}

impl Stream for AnswerStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.rows.poll_next_unpin(context)
    }
}

/// The rows of a statement, batch by batch. Dropping it stops the work.
pub struct Answer {
    rows: AnswerStream,
    runtime: Arc<Runtime>,
    interrupt: Interrupt,
}

impl Answer {
    pub(crate) fn new(rows: AnswerStream, runtime: Arc<Runtime>, interrupt: Interrupt) -> Self {
        Self { rows, runtime, interrupt }
    }

    /// The columns. Utf8View and BinaryView columns are returned as Utf8 and Binary.
    pub fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    /// Stops the statement from another thread.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Reads to the end and forgets.
    pub fn finish(mut self) -> Result<()> {
        self.try_for_each(|batch| batch.map(drop))
    }
}

impl Iterator for Answer {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.block_on(self.rows.next())
    }
}

/// The batch with the columns of `schema`.
fn plain(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns: std::result::Result<Vec<ArrayRef>, _> = columns
        .map(|(column, field)| {
            if column.data_type() == field.data_type() {
                return Ok(Arc::clone(column));
            }
            arrow_cast::cast(column, field.data_type())
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns?, &options)?)
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
