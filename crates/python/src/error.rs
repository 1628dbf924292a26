//! Errors of the engine as exceptions of the package.

use std::error::Error as _;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tesselle::{Error, ErrorKind};

use crate::words::word;

/// `tesselle._errors.make`, which picks the class.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for an error.
pub(crate) fn raise(error: &Error) -> PyErr {
    Python::attach(|py| exception(py, error).unwrap_or_else(|failed| failed))
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let make = MAKE
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("tesselle._errors")?.getattr("make")?.unbind()))?;
    let report = error.to_json(word);
    let field = |name: &str| report["error"][name].as_str().map(str::to_owned);
    let made = make.bind(py).call1((
        group(error),
        error.class_name(),
        field("message"),
        error.file_name(),
        error.byte_offset(),
        error.piece_name(),
        field("hint"),
    ))?;
    Ok(PyErr::from_value(made))
}

/// Which exception it is.
fn group(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Io if is_missing(error) => "missing",
        ErrorKind::Io => "io",
        ErrorKind::NotFound => "name",
        ErrorKind::Invalid => "call",
        ErrorKind::Canceled => "canceled",
        ErrorKind::Internal => "internal",
        _ => "data",
    }
}

fn is_missing(error: &Error) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::NotFound)
}

/// The exception for something that cannot happen.
pub(crate) fn internal(text: &'static str) -> PyErr {
    PyRuntimeError::new_err(text)
}
