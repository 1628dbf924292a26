//! Writing rows and arrays.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use tesselle::{DType, WriteOptions};

use crate::capsules;
use crate::options::settings;
use crate::run::long;

/// Where and how to write: what `tesselle._write` makes of its keywords.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Target {
    uri: String,
    format: Option<String>,
    table: Option<String>,
    overwrite: bool,
    settings: Vec<(String, String)>,
    metadata: Vec<(String, String)>,
}

impl Target {
    fn options(self) -> (String, Option<String>, WriteOptions) {
        let mut options = WriteOptions::default();
        options.overwrite = self.overwrite;
        options.table = self.table;
        options.settings = settings(self.settings);
        options.metadata = self.metadata.into_iter().collect();
        (self.uri, self.format, options)
    }
}

/// Writes the rows of anything that speaks Arrow; returns the report as JSON.
#[pyfunction]
pub(crate) fn write_rows(py: Python<'_>, data: &Bound<'_, PyAny>, target: Target) -> PyResult<String> {
    let reader = capsules::import(data)?;
    let (uri, format, options) = target.options();
    long(py, move |driver| {
        let schema = reader.schema();
        let batches = reader.map(|batch| batch.map_err(capsules::stream_error));
        let written = tesselle::write(&uri, format.as_deref(), &schema, batches, &options, driver)?;
        Ok(written.to_json().to_string())
    })
}

/// Writes a C-contiguous array from memory; returns the report as JSON.
#[pyfunction]
pub(crate) fn write_array(
    py: Python<'_>,
    data: PyBuffer<u8>,
    dtype: &str,
    shape: Vec<u64>,
    dims: Option<Vec<String>>,
    target: Target,
) -> PyResult<String> {
    let dtype = DType::from_name(dtype)
        .ok_or_else(|| PyValueError::new_err(format!("arrays of {dtype} cannot be written")))?;
    if !data.is_c_contiguous() {
        return Err(PyBufferError::new_err("a C-contiguous buffer is needed"));
    }
    let bytes = data.to_vec(py)?;
    let (uri, format, options) = target.options();
    long(py, move |driver| {
        let array = tesselle::array::MemoryArray::new(dtype, shape, dims, bytes.into())?;
        let written = tesselle::write_array(&uri, format.as_deref(), &array, &options, driver)?;
        Ok(written.to_json().to_string())
    })
}
