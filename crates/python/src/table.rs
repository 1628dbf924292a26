//! A table of a container.

use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tesselle::core::AttributeScope;

use crate::array::Array;
use crate::capsules;
use crate::provider;
use crate::run::quick;
use crate::scan::{Request, Scan, Source};

/// A label: its name, the column whose positions it names, and its table with the columns of positions and of names.
type AxisLabel = (String, String, Table, String, String);

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

/// Numpy's name for a type of times or durations.
fn time_type(data_type: &DataType) -> Option<String> {
    let (kind, unit) = match data_type {
        DataType::Timestamp(unit, _) => ("datetime64", unit),
        DataType::Duration(unit) => ("timedelta64", unit),
        DataType::Date32 => return Some("datetime64[D]".to_owned()),
        _ => return None,
    };
    let unit = match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    Some(format!("{kind}[{unit}]"))
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

    /// The columns that can be read as arrays; truth values and times are numbers in arrays of Python only.
    fn array_columns(&self) -> Vec<String> {
        let numbers = self.inner.array_columns();
        let schema = self.inner.schema();
        let is_array = |field: &&Arc<Field>| {
            // Times may be shown as the integers that are stored.
            let may_stand_for_numbers = matches!(field.data_type(), DataType::Boolean | DataType::Int64)
                || time_type(field.data_type()).is_some();
            numbers.contains(field.name())
                || may_stand_for_numbers && self.inner.array(field.name()).is_some()
        };
        schema.fields().iter().filter(is_array).map(|field| field.name().clone()).collect()
    }

    /// A column as an array.
    fn array(&self, py: Python<'_>, column: &str) -> Option<Array> {
        let array = py.detach(|| self.inner.array(column))?;
        let schema = self.inner.schema();
        let data_type = schema.field_with_name(column).ok()?.data_type();
        Some(Array::new(array, *data_type == DataType::Boolean, time_type(data_type)))
    }

    /// The attributes of the table and its container, or of the table alone, as a JSON object.
    #[pyo3(signature = (own=false))]
    fn attributes(&self, py: Python<'_>, own: bool) -> PyResult<String> {
        let facts = quick(py, |_| self.inner.facts())?;
        // What has no name is all there is.
        let all = !own || self.inner.name().is_empty();
        let wanted = facts.attributes.into_iter().filter(|one| all || one.scope == AttributeScope::Table);
        let pairs = wanted.map(|attribute| (attribute.name, attribute.value));
        Ok(serde_json::Value::Object(pairs.collect()).to_string())
    }

    /// The columns that are times or durations, with the names that numpy has for their types.
    fn times(&self) -> Vec<(String, String)> {
        let fields = self.inner.schema();
        let time = |field: &Arc<Field>| Some((field.name().clone(), time_type(field.data_type())?));
        fields.fields().iter().filter_map(time).collect()
    }

    /// The labels of the axes.
    fn labels(&self, py: Python<'_>) -> PyResult<Vec<AxisLabel>> {
        let label = |name: String| {
            let label = quick(py, |_| self.inner.label(&name))?;
            let source = self.source.of_table(None, &label.table);
            Ok((name, label.column, Self::new(source, label.table), label.position, label.value))
        };
        self.inner.labels().into_iter().map(label).collect()
    }

    /// A read request over the table.
    fn scan(&self, request: Request) -> PyResult<Scan> {
        Scan::try_new(self.source.clone(), &request)
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
