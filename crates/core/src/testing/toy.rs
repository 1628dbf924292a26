//! A minimal format to test the suites with: a count, then 32-bit integers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde_json::Value;

use super::MemoryTable;
use crate::container::{Container, Description};
use crate::cursor::Cursor;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::format::{Format, FormatFacts};
use crate::layout_map::LayoutMap;
use crate::options::{OpenOptions, WriteOptions};
use crate::report::{Depth, Report};
use crate::request::Capabilities;
use crate::sink::{Sink, Summary};
use crate::storage::{Location, Staged};
use crate::table::Table;

pub(super) struct Toy;

pub(super) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]))
}

static FACTS: FormatFacts = FormatFacts {
    name: "toy",
    title: "toy",
    summary: "integers",
    extensions: &["toy"],
    magic: &[],
    capabilities: Capabilities::ROWS,
};

impl Format for Toy {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn open(&self, location: &Location, _options: &OpenOptions) -> Result<Arc<dyn Container>> {
        let bytes = location.read_all(1 << 20)?;
        let mut cursor = Cursor::new(&bytes, 0, "integers");
        let count = u64::from(cursor.u32_le()?);
        let count = cursor.count(count, 4)?;
        let values = (0..count).map(|_| cursor.i32_le()).collect::<Result<Vec<_>>>()?;
        cursor.expect_end()?;
        let column: ArrayRef = Arc::new(Int32Array::from(values));
        let batch = RecordBatch::try_new(schema(), vec![column])?;
        Ok(Arc::new(Opened(MemoryTable::new(schema(), vec![batch]))))
    }

    fn create(
        &self,
        location: &Location,
        _schema: SchemaRef,
        options: &WriteOptions,
        _driver: &Driver,
    ) -> Result<Box<dyn Sink>> {
        let mut staged = location.create(options.overwrite)?;
        staged.write(&[0; 4])?;
        Ok(Box::new(Writer { staged, rows: 0 }))
    }
}

struct Opened(MemoryTable);

impl Container for Opened {
    fn describe(&self) -> Result<Description> {
        Ok(Description::new("toy", "1"))
    }

    fn table_names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn table(&self, _name: &str) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(self.0.clone()))
    }

    fn chunks(&self, _limit: Option<usize>) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }

    fn layout(&self) -> Result<LayoutMap> {
        Ok(LayoutMap::default())
    }

    fn verify(&self, _depth: Depth, _driver: &Driver, _report: &mut Report) -> Result<()> {
        Ok(())
    }
}

struct Writer {
    staged: Box<dyn Staged>,
    rows: u32,
}

impl Sink for Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let column = batch.column_by_name("n").ok_or_else(|| Error::invalid("there is no column n"))?;
        for value in column.as_primitive::<Int32Type>().values() {
            self.staged.write(&value.to_le_bytes())?;
            self.rows += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Summary> {
        self.staged.write_at(0, &self.rows.to_le_bytes())?;
        let bytes = self.staged.position();
        self.staged.commit()?;
        Ok(Summary { rows: u64::from(self.rows), bytes, pieces: 1, ..Summary::default() })
    }
}
