//! Rows on their way out, each once.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_cast::display::FormatOptions;
use arrow_cast::pretty::pretty_format_batches_with_options;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tesselle::{Driver, driver};

use crate::capsules;
use crate::error::{internal, raise};
use crate::incoming::started;
use crate::interrupt::Interruptible;
use crate::run::watched;

/// The rows of a scan.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Rows {
    schema: SchemaRef,
    driver: Driver,
    rows: Mutex<Option<driver::Rows>>,
    /// Reading calls Python: a consumer that holds the interpreter while it waits for rows would wait forever.
    calls_python: bool,
}

impl Rows {
    pub(crate) fn new(rows: driver::Rows, driver: Driver, calls_python: bool) -> Self {
        Self { schema: rows.schema(), driver, rows: Mutex::new(Some(rows)), calls_python }
    }

    fn take(&self) -> Option<driver::Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn take_all(&self) -> PyResult<driver::Rows> {
        self.take().ok_or_else(|| internal("the rows of a scan can be read once"))
    }

    /// Counts the rows.
    pub(crate) fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let rows = self.take_all()?;
        let count = move || rows.into_batches().map(|batch| batch.map(|batch| batch.num_rows() as u64)).sum();
        watched(py, count, || self.driver.cancel())
    }
}

#[pymethods]
impl Rows {
    /// The rows as an Arrow stream, read while it is consumed.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        if self.calls_python {
            return self.collect(py)?.__arrow_c_stream__(py, requested_schema);
        }
        let answer = capsules::answer(&self.schema, requested_schema.as_ref())?;
        started(&self.driver);
        let batches = Interruptible::try_new(py, self.take_all()?.into_batches(), self.driver.clone())?;
        capsules::stream(py, &self.schema, answer, batches)
    }

    /// Reads all rows into memory.
    pub(crate) fn collect(&self, py: Python<'_>) -> PyResult<Batches> {
        let rows = self.take_all()?;
        let batches = watched(py, move || rows.read_all(), || self.driver.cancel())?;
        Ok(Batches { schema: Arc::clone(&self.schema), batches })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// The next batch.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batches>> {
        let Some(mut rows) = self.take() else { return Ok(None) };
        let (next, rows) = watched(py, move || Ok((rows.next(), rows)), || self.driver.cancel())?;
        let Some(batch) = next else { return Ok(None) };
        let batch = batch.map_err(|error| raise(&error.into()))?;
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = Some(rows);
        Ok(Some(Batches { schema: Arc::clone(&self.schema), batches: vec![batch] }))
    }
}

/// Rows in memory, for any number of readers.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Batches {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

#[pymethods]
impl Batches {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let answer = capsules::answer(&self.schema, requested_schema.as_ref())?;
        capsules::stream(py, &self.schema, answer, self.batches.clone().into_iter().map(Ok))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::schema(py, &self.schema)
    }

    /// The first rows as a table of characters.
    fn show(&self, most: usize) -> PyResult<String> {
        let mut left = most;
        let mut shown = Vec::new();
        for batch in &self.batches {
            let rows = batch.num_rows().min(left);
            left -= rows;
            shown.push(batch.slice(0, rows));
        }
        let options = FormatOptions::new().with_null("NULL").with_display_error(true);
        if shown.is_empty() {
            shown.push(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let table = pretty_format_batches_with_options(&shown, &options);
        let table = table.map_err(|error| raise(&error.into()))?;
        let rows = self.__len__();
        Ok(format!("{table}\n{rows} {}", if rows == 1 { "row" } else { "rows" }))
    }

    /// How many rows there are.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}
