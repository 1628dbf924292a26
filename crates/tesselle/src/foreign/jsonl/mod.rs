//! JSON lines. What JSON cannot say is named: `"NaN"`, `"Infinity"`, `{"hex": …}` for bytes that are not text.

mod bytes;
mod cell;
mod infer;
mod read;

use arrow_array::RecordBatch;
use tesselle_core::storage::Staged;
use tesselle_core::{Result, Sink, Summary};

use cell::cell_writer;
pub(crate) use read::JsonText;

struct JsonlSink {
    out: Box<dyn Staged>,
    rows: u64,
}

pub(super) fn sink(out: Box<dyn Staged>) -> Box<dyn Sink> {
    Box::new(JsonlSink { out, rows: 0 })
}

impl Sink for JsonlSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let mut names = Vec::with_capacity(batch.num_columns());
        let mut cells = Vec::with_capacity(batch.num_columns());
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            names.push(serde_json::Value::from(field.name().as_str()).to_string());
            cells.push(cell_writer(field.name(), column)?);
        }
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for (i, (name, cell)) in names.iter().zip(&cells).enumerate() {
                text.push_str(if i == 0 { "{" } else { ", " });
                text.push_str(name);
                text.push_str(": ");
                cell(row, &mut text);
            }
            text.push_str(if names.is_empty() { "{}\n" } else { "}\n" });
        }
        self.rows += batch.num_rows() as u64;
        self.out.write(text.as_bytes())
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        let summary =
            Summary { rows: self.rows, bytes: self.out.position(), pieces: 0, ..Summary::default() };
        self.out.commit()?;
        Ok(summary)
    }
}
