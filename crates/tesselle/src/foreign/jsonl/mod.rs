//! JSON lines. Values that JSON cannot express have names: `"NaN"`, `"Infinity"`, and `{"hex": …}` for bytes that are
//! not UTF-8.

mod bytes;
mod cell;
mod infer;
mod read;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use cell::cell_writer;
pub(crate) use read::JSON_ARRAY;
use read::JsonText;
use tesselle_core::storage::Staged;
use tesselle_core::{
    Capabilities, Confidence, Container, Created, Driver, Error, Format, FormatFacts, Location, OpenOptions,
    Probe, Result, Sink, Summary, Table, WriteRequest,
};

use super::text::{self, TextTable};

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonLines;

static FACTS: FormatFacts = FormatFacts {
    name: "jsonl",
    title: "JSON Lines",
    summary: "JSON lines, one object per line",
    extensions: &["jsonl", "ndjson", "json"],
    magic: &[],
    capabilities: Capabilities::TEXT,
};

impl Format for JsonLines {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn sniff(&self, probe: &Probe) -> Confidence {
        // Other engines call one object per line JSON; a document over several lines is something else.
        let line = probe.head.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        let cut = line.len() as u64 >= Probe::WINDOW;
        let object = line.starts_with(b"{") && (line.ends_with(b"}") || cut);
        if probe.has_extension("json") && !object {
            return Confidence::No;
        }
        self.facts().sniff_file(probe)
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        text::open(self, JsonText, location, options)
    }

    fn open_many(&self, locations: &[Location], options: &OpenOptions) -> Result<Option<Arc<dyn Table>>> {
        Ok(Some(Arc::new(TextTable::open(locations, JsonText, options)?)))
    }

    fn start(&self, request: WriteRequest, _driver: &Driver) -> Result<Created> {
        let WriteRequest { target, schema, facts, options, .. } = request;
        options.settings.expect_only(&[])?;
        refuse_twins(&schema)?;
        let sink = Box::new(JsonlSink { out: text::stage(target, options.overwrite)?, rows: 0 });
        Ok(Created { sink, fitted: text::fitted(&facts) })
    }
}

/// Fails on duplicate column names: of two members with the same name, JSON readers keep one.
fn refuse_twins(schema: &Schema) -> Result<()> {
    let mut names = std::collections::HashSet::new();
    match schema.fields().iter().find(|field| !names.insert(field.name())) {
        Some(twin) => Err(Error::invalid(format!("two columns have the name '{}'", twin.name()))
            .hint("rename them in the query: SELECT t.a AS one, u.a AS other")),
        None => Ok(()),
    }
}

struct JsonlSink {
    out: Box<dyn Staged>,
    rows: u64,
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
        Ok(Summary { rows: self.rows, bytes: self.out.commit()?, pieces: 0, ..Summary::default() })
    }
}
