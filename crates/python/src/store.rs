//! Storages that Python provides: file objects, file systems of fsspec, stores of obstore. They are only read.

use std::fmt;
use std::io::{Error as IoError, ErrorKind as IoErrorKind};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt};
use pyo3::prelude::*;
use tesselle::storage::{Entry, EntryKind, IoHints, Staged, Storage};
use tesselle::{Error, ErrorKind, Result};

/// An adapter of `tesselle._stores`, with the methods `is_folder`, `size`, `read` and `list`.
pub(crate) struct PythonStore {
    adapter: Arc<Py<PyAny>>,
}

impl fmt::Debug for PythonStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonStore").finish_non_exhaustive()
    }
}

impl PythonStore {
    pub(crate) fn new(adapter: Arc<Py<PyAny>>) -> Self {
        Self { adapter }
    }

    /// Calls the adapter; its exceptions become errors of the storage.
    fn call<T>(&self, path: &str, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| call(self.adapter.bind(py)).map_err(|error| failed(py, path, &error)))
    }
}

fn entry_kind(is_folder: bool) -> EntryKind {
    if is_folder { EntryKind::Folder } else { EntryKind::File }
}

/// What a failing call of Python means here.
fn failed(py: Python<'_>, path: &str, error: &PyErr) -> Error {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Error::new(ErrorKind::Canceled, "interrupted");
    }
    let kind = if error.is_instance_of::<PyFileNotFoundError>(py) {
        IoErrorKind::NotFound
    } else {
        IoErrorKind::Other
    };
    let text = error.value(py).to_string();
    // Some stores append pages for their developers.
    let text = text.lines().next().unwrap_or("unknown reason").to_owned();
    Error::io(format!("cannot read '{path}'"), IoError::new(kind, text))
}

fn refused(path: &str) -> Error {
    Error::unsupported(format!("'{path}' is on a storage provided by Python, which is read-only"))
}

impl Storage for PythonStore {
    fn size(&self, path: &str) -> Result<u64> {
        self.call(path, |adapter| adapter.call_method1("size", (path,))?.extract())
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        let is_folder: Option<bool> =
            self.call(path, |adapter| adapter.call_method1("is_folder", (path,))?.extract())?;
        Ok(is_folder.map(entry_kind))
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let wanted: Vec<(u64, u64)> = ranges.iter().map(|range| (range.start, range.end)).collect();
        let parts = self.call(path, |adapter| {
            let parts = adapter.call_method1("read", (path, wanted))?;
            let bytes = |part: PyResult<Bound<'_, PyAny>>| {
                let part = part?;
                Ok(Bytes::from(PyBuffer::<u8>::get(&part)?.to_vec(part.py())?))
            };
            parts.try_iter()?.map(bytes).collect::<PyResult<Vec<Bytes>>>()
        })?;
        let complete = parts.len() == ranges.len()
            && parts.iter().zip(ranges).all(|(part, range)| part.len() as u64 == range.end - range.start);
        if complete {
            return Ok(parts);
        }
        Err(Error::io(format!("'{path}' ends too early"), IoErrorKind::UnexpectedEof.into()))
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        let found: Vec<(String, bool)> =
            self.call(path, |adapter| adapter.call_method1("list", (path,))?.extract())?;
        let entry = |(name, is_folder)| Entry { name, kind: entry_kind(is_folder) };
        let mut entries: Vec<Entry> = found.into_iter().map(entry).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Staged>> {
        Err(refused(path))
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        Err(refused(path))
    }

    fn remove(&self, path: &str) -> Result<()> {
        Err(refused(path))
    }

    fn hints(&self) -> IoHints {
        IoHints { gap: 64 << 10, max_request: 64 << 20, concurrency: 8, zero_copy: false }
    }
}
