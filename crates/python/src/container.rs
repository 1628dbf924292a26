//! An opened container.

use std::sync::Arc;

use pyo3::prelude::*;
use tesselle::Dataset;
use tesselle::core::Context;

use crate::error::raise;
use crate::options::Opening;
use crate::run::{long, quick};
use crate::scan::Source;
use crate::table::Table;

/// An opened container; its metadata is in memory, its data is not.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Container {
    dataset: Dataset,
    source: Source,
}

/// Opens what `uri` names, perhaps in a storage that Python provides: an adapter of `tesselle._stores`.
#[pyfunction]
#[pyo3(signature = (uri, opening, store=None))]
pub(crate) fn open(
    py: Python<'_>,
    uri: String,
    opening: Opening,
    store: Option<Py<PyAny>>,
) -> PyResult<Container> {
    let source = Source::new(uri, None, opening.format(), opening.options()?).in_store(store);
    Ok(Container { dataset: source.dataset(py)?, source })
}

/// Opens the table of one file, of a folder of files, or of all files that match a pattern.
#[pyfunction]
#[pyo3(signature = (uri, table, opening, store=None))]
pub(crate) fn open_table(
    py: Python<'_>,
    uri: String,
    table: Option<String>,
    opening: Opening,
    store: Option<Py<PyAny>>,
) -> PyResult<Table> {
    let source = Source::new(uri, table, opening.format(), opening.options()?).in_store(store);
    let table = source.table(py)?;
    Ok(Table::new(source, table))
}

#[pymethods]
impl Container {
    /// The name of the format.
    #[getter]
    fn format(&self) -> &'static str {
        self.dataset.format().name()
    }

    /// The names of the tables, in the order of the file.
    fn table_names(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.dataset.table_names())
    }

    /// The table of that name, else the one that the uri named, else the only one.
    #[pyo3(signature = (name=None))]
    fn table(&self, py: Python<'_>, name: Option<String>) -> PyResult<Table> {
        let table = quick(py, |_| match &name {
            Some(name) => self.dataset.table(name),
            None => self.dataset.default_table(),
        })?;
        let table = Arc::clone(table.table());
        Ok(Table::new(self.source.of_table(name, &table), table))
    }

    /// What is in the container, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        let described =
            py.detach(|| self.dataset.container().describe().in_file(self.dataset.location().path()));
        Ok(described.map_err(|error| raise(&error))?.to_json().to_string())
    }

    /// Every byte range with its meaning, as JSON.
    fn layout(&self, py: Python<'_>) -> PyResult<String> {
        let dataset = self.dataset.clone();
        long(py, move |_| {
            let layout = dataset.container().layout().in_file(dataset.location().path())?;
            Ok(layout.to_json().to_string())
        })
    }

    /// The chunks, as JSON; at most `limit` of them.
    #[pyo3(signature = (limit=None))]
    fn chunks(&self, py: Python<'_>, limit: Option<usize>) -> PyResult<String> {
        let dataset = self.dataset.clone();
        let chunks = long(py, move |_| dataset.container().chunks(limit).in_file(dataset.location().path()))?;
        Ok(serde_json::Value::Array(chunks).to_string())
    }
}
