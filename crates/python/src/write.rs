//! Writing rows and arrays.

use arrow_array::RecordBatchReader;
use arrow_schema::DataType;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tesselle::array::MemoryArray;
use tesselle::{Append, Attribute, DType, Driver, Error};

use crate::capsules::{self, Shared};
use crate::error::raise;
use crate::incoming::Incoming;
use crate::options::{Opening, settings};
use crate::run::complete;

/// Where and how to write: what `tesselle._write` makes of its keywords.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Target {
    uri: String,
    format: Option<String>,
    table: Option<String>,
    overwrite: bool,
    /// The columns to write; all of them by default.
    columns: Option<Vec<String>>,
    /// The types that columns are cast to; `auto` for those that the format suggests.
    cast: Option<String>,
    settings: Vec<(String, String)>,
    /// Names, and values as JSON.
    metadata: Vec<(String, String)>,
}

/// Whether columns are cast to what the format suggests, and those that are cast otherwise.
pub(crate) fn casts(cast: Option<&str>) -> PyResult<(bool, Vec<(String, DataType)>)> {
    match cast {
        None => Ok((false, Vec::new())),
        Some("auto") => Ok((true, Vec::new())),
        Some(types) => Ok((false, tesselle::parse_types(types).map_err(|error| raise(&error))?)),
    }
}

/// Names and JSON values as attributes.
pub(crate) fn attributes(metadata: Vec<(String, String)>) -> PyResult<Vec<Attribute>> {
    let parse = |(name, json): (String, String)| {
        let value: serde_json::Value = serde_json::from_str(&json).map_err(|error| {
            raise(&Error::invalid(format!("the metadata '{name}' has no JSON form")).source(error))
        })?;
        Ok(Attribute::new(name, value))
    };
    metadata.into_iter().map(parse).collect()
}

/// Applies a target to a builder of a write.
macro_rules! build {
    ($builder:expr, $target:expr) => {{
        let builder = $builder;
        let target: Target = $target;
        let mut builder = builder.overwrite(target.overwrite).options(settings(target.settings));
        if let Some(format) = target.format {
            builder = builder.format(format);
        }
        if let Some(table) = target.table {
            builder = builder.table(table);
        }
        for attribute in attributes(target.metadata)? {
            builder = builder.attribute(attribute);
        }
        builder
    }};
}

/// The rows of anything that speaks Arrow, with these columns only.
fn chosen(data: &Bound<'_, PyAny>, columns: Option<&[String]>) -> PyResult<Incoming> {
    capsules::import(data)?.columns(columns).map_err(|error| raise(&error))
}

/// Writes the rows of anything that speaks Arrow; returns the report as JSON.
#[pyfunction]
pub(crate) fn write_rows(py: Python<'_>, data: &Bound<'_, PyAny>, target: Target) -> PyResult<String> {
    let reader = chosen(data, target.columns.as_deref())?;
    let (auto_cast, types) = casts(target.cast.as_deref())?;
    let builder = tesselle::create(target.uri.clone(), reader.schema()).casts(types).auto_cast(auto_cast);
    let builder = build!(builder, target);
    complete(py, move |driver| {
        let mut writer = builder.on(driver).start()?;
        for batch in reader.under(driver) {
            writer.write(&batch.map_err(capsules::stream_error)?)?;
        }
        driver.check_canceled()?;
        Ok(writer.finish()?.to_json().to_string())
    })
}

/// Writes a C-contiguous, little-endian array from memory; returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (data, dtype, shape, dims, target))]
pub(crate) fn write_array(
    py: Python<'_>,
    data: PyBuffer<u8>,
    dtype: &str,
    shape: Vec<u64>,
    dims: Option<Vec<String>>,
    target: Target,
) -> PyResult<String> {
    let array = array(data, dtype, shape, dims)?;
    let builder = build!(tesselle::create_array(target.uri.clone(), array), target);
    complete(py, move |driver| Ok(builder.on(driver).write()?.to_json().to_string()))
}

/// One of several arrays: what `tesselle._write` makes of it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Member {
    name: String,
    data: PyBuffer<u8>,
    dtype: String,
    shape: Vec<u64>,
    dims: Option<Vec<String>>,
    /// Names, and values as JSON.
    attributes: Vec<(String, String)>,
    settings: Vec<(String, String)>,
}

/// Writes several arrays into one container; returns the report as JSON.
#[pyfunction]
pub(crate) fn write_arrays(py: Python<'_>, arrays: Vec<Member>, target: Target) -> PyResult<String> {
    let mut builder = build!(tesselle::create_arrays(target.uri.clone()), target);
    for member in arrays {
        let array = array(member.data, &member.dtype, member.shape, member.dims)?;
        let own = attributes(member.attributes)?;
        builder = builder.array(member.name, array, own, settings(member.settings));
    }
    complete(py, move |driver| Ok(builder.on(driver).write()?.to_json().to_string()))
}

/// The format of a target: its name, whether it takes arrays, and several of them.
#[pyfunction]
#[pyo3(signature = (uri, format=None))]
pub(crate) fn target_format(uri: &str, format: Option<&str>) -> PyResult<(&'static str, bool, bool)> {
    let name = uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri);
    let format = tesselle::target_format(format, name).map_err(|error| raise(&error))?;
    let capabilities = format.capabilities();
    Ok((format.name(), capabilities.arrays_in, capabilities.several_arrays))
}

/// An array over the memory of Python.
fn array(
    data: PyBuffer<u8>,
    dtype: &str,
    shape: Vec<u64>,
    dims: Option<Vec<String>>,
) -> PyResult<MemoryArray> {
    let dtype = DType::from_name(dtype)
        .ok_or_else(|| PyValueError::new_err(format!("arrays of {dtype} cannot be written")))?;
    let array = MemoryArray::from_bytes(dtype, shape, bytes::Bytes::from_owner(Shared::try_new(data)?));
    let array = match dims {
        Some(dims) => array.and_then(|array| array.with_axis_names(dims)),
        None => array,
    };
    array.map_err(|error| raise(&error))
}

/// What is extended, and how: what `tesselle.append` makes of its keywords.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Extension {
    uri: String,
    axis: Option<String>,
    columns: Option<Vec<String>>,
    cast: Option<String>,
    settings: Vec<(String, String)>,
    opening: Opening,
}

impl Extension {
    /// Adds what `source` makes an addition of; returns the report as JSON.
    fn run(self, py: Python<'_>, source: impl FnOnce(String, &Driver) -> Append + Send) -> PyResult<String> {
        let options = self.opening.options()?;
        let (auto_cast, types) = casts(self.cast.as_deref())?;
        if auto_cast {
            let error = Error::invalid(
                "cast=\"auto\" is for new containers: columns that are added have the types that are there",
            );
            return Err(raise(&error.hint("name the types, as in cast={\"time\": \"timestamp_ms\"}")));
        }
        complete(py, move |driver| {
            let append = source(self.uri, driver).options(settings(self.settings)).target_options(options);
            let mut append = append.casts(types);
            if let Some(axis) = self.axis {
                append = append.axis(axis);
            }
            Ok(append.on(driver).run()?.to_json().to_string())
        })
    }
}

/// Adds the rows of anything that speaks Arrow to a container; returns the report as JSON.
#[pyfunction]
pub(crate) fn append_rows(py: Python<'_>, data: &Bound<'_, PyAny>, target: Extension) -> PyResult<String> {
    let reader = chosen(data, target.columns.as_deref())?;
    target.run(py, move |uri, driver| tesselle::append_rows(reader.under(driver), uri))
}

/// Adds a C-contiguous, little-endian array from memory to a dense array; returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (data, dtype, shape, dims, target))]
pub(crate) fn append_array(
    py: Python<'_>,
    data: PyBuffer<u8>,
    dtype: &str,
    shape: Vec<u64>,
    dims: Option<Vec<String>>,
    target: Extension,
) -> PyResult<String> {
    let array = array(data, dtype, shape, dims)?;
    target.run(py, move |uri, _| tesselle::append_array(array, uri))
}
