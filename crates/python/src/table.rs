//! A table of a container.

use std::sync::Arc;

use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::array::Array;
use crate::capsules;
use crate::provider;
use crate::run::quick;
use crate::scan::{Request, Scan, Source};

/// A table of a container.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Table {
    source: Source,
    pub(crate) inner: Arc<dyn tesselle::Table>,
}

impl Table {
    pub(crate) fn new(source: Source, inner: Arc<dyn tesselle::Table>) -> Self {
        Self { source, inner }
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// The number of rows; `None` where only reading the data shows it.
    #[getter]
    fn num_rows(&self, py: Python<'_>) -> Option<u64> {
        py.detach(|| self.inner.stats().rows.exact().copied())
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.inner.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::schema(py, &self.inner.schema())
    }

    /// The columns that can be read as arrays.
    fn array_columns(&self) -> Vec<String> {
        self.inner.array_columns()
    }

    /// A column as an array.
    fn array(&self, py: Python<'_>, column: &str) -> Option<Array> {
        let array = py.detach(|| self.inner.array(column))?;
        let schema = self.inner.schema();
        let is_bool =
            schema.field_with_name(column).is_ok_and(|field| *field.data_type() == DataType::Boolean);
        Some(Array::new(array, is_bool))
    }

    /// The attributes of the table and its container, as a JSON object.
    fn attributes(&self, py: Python<'_>) -> PyResult<String> {
        let facts = quick(py, |_| self.inner.facts())?;
        let pairs = facts.attributes.into_iter().map(|attribute| (attribute.name, attribute.value));
        Ok(serde_json::Value::Object(pairs.collect()).to_string())
    }

    /// A read request over the table.
    fn scan(&self, request: Request) -> PyResult<Scan> {
        Scan::new(self.source.clone(), &request)
    }

    /// The table for a session of the Python package `datafusion`.
    fn __datafusion_table_provider__<'py>(
        &self,
        py: Python<'py>,
        session: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        provider::export(py, &session, Arc::clone(&self.inner))
    }
}
