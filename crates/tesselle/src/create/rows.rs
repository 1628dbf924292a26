//! Writing rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use tesselle_core::{Created, Driver, Fitted, Format, Result, Sink, WriteRequest, WriteTarget};

use super::WriteReport;
use super::target::{Target, target_methods};
use crate::cast::{Casts, cast_methods};
use crate::run::{RunOn, run_methods};

/// Builds a write of rows of `schema` to a new container. The file name determines the format.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("plant.tsfile");
/// # let uri = path.to_str().ok_or("the path is UTF-8")?;
/// use std::sync::Arc;
///
/// use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
///
/// let time: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
/// let speed: ArrayRef = Arc::new(Float64Array::from(vec![80.5, 81.0, 79.5]));
/// let batch = RecordBatch::try_from_iter([("time", time), ("speed", speed)])?;
///
/// let mut writer = tesselle::create(uri, batch.schema()).set("device", "root.fleet.truck1").start()?;
/// writer.write(&batch)?;
/// let report = writer.finish()?;
/// assert_eq!((report.format, report.summary.rows), ("tsfile", 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create(uri: impl Into<String>, schema: SchemaRef) -> Create {
    Create { target: Target::new(uri), schema, casts: Vec::new(), auto_cast: false, run: RunOn::default() }
}

/// A builder for writing rows. See [`create`].
#[derive(Debug, Clone)]
#[must_use = "nothing is written before `start`"]
pub struct Create {
    target: Target,
    schema: SchemaRef,
    casts: Vec<(String, DataType)>,
    auto_cast: bool,
    run: RunOn,
}

impl Create {
    target_methods!();
    run_methods!();
    cast_methods!();

    /// Starts the write. Nothing is visible under the target's name before [`Writer::finish`].
    pub fn start(self) -> Result<Writer> {
        let driver = self.run.driver()?;
        let (location, format) = self.target.resolve()?;
        let casts = Casts::try_new(&self.schema, &self.casts)?;
        let schema = Arc::clone(&casts.schema);
        let mut request = WriteRequest::new(WriteTarget::Location(location), schema, self.target.options);
        request.facts.attributes = self.target.attributes;
        let Created { sink, fitted } = crate::logical::start(format, request, self.auto_cast, &driver)?;
        let casts = (!self.casts.is_empty()).then_some(casts);
        Ok(Writer { format, sink, fitted, casts, driver })
    }
}

/// Accepts record batches. Dropped before [`Writer::finish`], it leaves nothing behind.
#[must_use = "dropped before `finish`, it writes nothing"]
pub struct Writer {
    format: &'static dyn Format,
    sink: Box<dyn Sink>,
    fitted: Fitted,
    casts: Option<Casts>,
    driver: Driver,
}

impl Writer {
    /// The format that is written.
    pub fn format(&self) -> &'static dyn Format {
        self.format
    }

    /// The types the format widens, and the attributes it keeps and loses.
    pub fn fitted(&self) -> &Fitted {
        &self.fitted
    }

    /// Writes a batch, which must have the columns of the schema.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.driver.check_canceled()?;
        match &self.casts {
            Some(casts) => self.sink.write(&casts.apply(batch)?),
            None => self.sink.write(batch),
        }
    }

    /// Completes the container and atomically makes it visible under its name.
    pub fn finish(self) -> Result<WriteReport> {
        self.driver.check_canceled()?;
        Ok(WriteReport::new(self.format, self.sink.finish()?, self.fitted))
    }
}
