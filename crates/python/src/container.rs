//! An opened container.

use std::sync::Arc;

use pyo3::prelude::*;
use tesselle::core::Context;
use tesselle::storage::Storage;
use tesselle::{Dataset, Error, Location, OpenOptions, Uri};

use crate::error::raise;
use crate::options::{Opening, opener};
use crate::run::{long, quick};
use crate::scan::Source;
use crate::store::PythonStore;
use crate::table::Table;

/// An opened container; its metadata is in memory, its data is not.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Container {
    dataset: Dataset,
    uri: String,
    /// The format, where it was given.
    format: Option<String>,
    options: OpenOptions,
    /// Its storage is an object of Python, which only this process has.
    is_here_only: bool,
}

/// Opens what `uri` names.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, uri: String, opening: Opening) -> PyResult<Container> {
    let options = opening.options()?;
    let opener = opener(opening.format(), None, &options);
    // Formats that infer their types read the whole file.
    let dataset = long(py, |driver| driver.install(|| opener.open(&uri)))?;
    Ok(Container { dataset, uri, format: opening.format().map(str::to_owned), options, is_here_only: false })
}

/// Opens `path[#table]` of a storage that Python provides: an adapter of `tesselle._stores`.
#[pyfunction]
pub(crate) fn open_store(
    py: Python<'_>,
    adapter: Py<PyAny>,
    uri: String,
    opening: Opening,
) -> PyResult<Container> {
    let options = opening.options()?;
    let storage: Arc<dyn Storage> = Arc::new(PythonStore::new(adapter));
    let dataset = long(py, |_| {
        let (path, table) = match Uri::split(&uri) {
            // A path that exists wins over a table.
            (path, Some(table)) if storage.kind(&uri)?.is_none() => (path, Some(table)),
            _ => (uri.as_str(), None),
        };
        let location = Location::new(storage, path);
        if !location.exists()? {
            return Err(Error::missing(path));
        }
        opener(opening.format(), table, &options).open_at(location)
    })?;
    Ok(Container { dataset, uri, format: opening.format().map(str::to_owned), options, is_here_only: true })
}

/// Opens the table of one file, of a folder of files, or of all files that match a pattern.
#[pyfunction]
#[pyo3(signature = (uri, table, opening))]
pub(crate) fn open_table(
    py: Python<'_>,
    uri: String,
    table: Option<String>,
    opening: Opening,
) -> PyResult<Table> {
    let source = Source::new(uri, table, opening.format(), opening.options()?);
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
        let source = Source::new(self.uri.clone(), name, self.format.as_deref(), self.options.clone());
        Ok(Table::new(source.opened(&table, self.is_here_only), table))
    }

    /// What is in the container, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        let described =
            py.detach(|| self.dataset.container().describe().in_file(self.dataset.location().path()));
        Ok(described.map_err(|error| raise(&error))?.to_json().to_string())
    }

    /// Every byte range with its meaning, as JSON.
    fn layout(&self, py: Python<'_>) -> PyResult<String> {
        long(py, |_| {
            Ok(self
                .dataset
                .container()
                .layout()
                .in_file(self.dataset.location().path())?
                .to_json()
                .to_string())
        })
    }

    /// The chunks, as JSON; at most `limit` of them.
    #[pyo3(signature = (limit=None))]
    fn chunks(&self, py: Python<'_>, limit: Option<usize>) -> PyResult<String> {
        let chunks =
            long(py, |_| self.dataset.container().chunks(limit).in_file(self.dataset.location().path()))?;
        Ok(serde_json::Value::Array(chunks).to_string())
    }
}
