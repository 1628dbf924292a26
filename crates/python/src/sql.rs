//! SQL: a session that runs statements, and their answers.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatchReader;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tesselle_sql::SessionOptions;

use crate::capsules;
use crate::error::{internal, raise};
use crate::options::Opening;
use crate::rows::Batches;
use crate::run::{awaited, complete, driver, watched};
use crate::table::Table;
use crate::words::{word_in_sql, worded};

/// Runs statements over files and registered tables.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Session {
    inner: tesselle_sql::Session,
}

#[pymethods]
impl Session {
    #[new]
    fn try_new(py: Python<'_>, opening: Opening) -> PyResult<Self> {
        let options =
            SessionOptions::default().with_threads(driver()?.threads()).with_open(opening.options()?);
        let inner = py.detach(|| tesselle_sql::Session::try_new(&options)).map_err(|error| raise(&error))?;
        Ok(Self { inner })
    }

    /// Makes a table of a container a table of the session.
    fn register_table(&self, name: &str, table: &Table) -> PyResult<()> {
        self.inner.register_table(name, Arc::clone(&table.inner)).map_err(|error| raise(&error))
    }

    /// Makes the rows of anything that speaks Arrow a table of the session.
    fn register_rows(&self, py: Python<'_>, name: &str, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = capsules::import(data)?;
        complete(py, move |driver| {
            let schema = rows.schema();
            let batches = rows.under(driver).map(|batch| batch.map_err(capsules::stream_error));
            self.inner.register_batches(name, schema, batches.collect::<tesselle::Result<_>>()?)
        })
    }

    /// Runs statements; the answer is that of the last one.
    fn query(&self, py: Python<'_>, sql: &str) -> PyResult<Answer> {
        let interrupt = self.inner.interrupt();
        let query = || self.inner.query(sql).map_err(|error| worded(error, word_in_sql));
        let answer = awaited(py, query, || interrupt.interrupt())?;
        Ok(Answer { schema: answer.schema(), answer: Mutex::new(Some(answer)) })
    }
}

/// The answer of a statement, once.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Answer {
    schema: SchemaRef,
    answer: Mutex<Option<tesselle_sql::Answer>>,
}

impl Answer {
    fn take(&self) -> PyResult<tesselle_sql::Answer> {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer.ok_or_else(|| internal("an answer can be read once"))
    }
}

#[pymethods]
impl Answer {
    /// The rows as an Arrow stream, computed while it is consumed.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let answer = capsules::answer(&self.schema, requested_schema.as_ref())?;
        capsules::stream(py, &self.schema, answer, self.take()?)
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::schema(py, &self.schema)
    }

    /// Computes all rows.
    fn collect(&self, py: Python<'_>) -> PyResult<Batches> {
        let answer = self.take()?;
        let interrupt = answer.interrupt();
        let rows = move || {
            let batches: tesselle::Result<Vec<_>> = answer.collect();
            batches.map_err(|error| worded(error, word_in_sql))
        };
        let batches = watched(py, rows, || interrupt.interrupt())?;
        Ok(Batches { schema: Arc::clone(&self.schema), batches })
    }
}
