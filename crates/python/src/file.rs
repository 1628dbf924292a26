//! File objects of Python as a storage: open files, buffers, files of fsspec.

use std::fmt;
use std::io::{Error as IoError, ErrorKind as IoErrorKind};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use tesselle::storage::{Entry, EntryKind, IoHints, Staged, Storage};
use tesselle::{Error, Result};

/// One file that is read by `seek` and `read`.
pub(crate) struct FileObject {
    /// Seeking and reading are two calls: others must not come in between.
    object: Mutex<Py<PyAny>>,
    name: String,
    size: u64,
}

impl fmt::Debug for FileObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileObject")
            .field("name", &self.name)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl FileObject {
    /// A seekable binary file of this name.
    pub(crate) fn new(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let size = object.call_method1("seek", (0, 2))?.extract()?;
        Ok(Self { object: Mutex::new(object.clone().unbind()), name: name.to_owned(), size })
    }

    fn read_range(&self, range: &Range<u64>) -> Result<Bytes> {
        let wanted = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let failed = |error: PyErr| {
            Error::io(format!("cannot read '{}'", self.name), IoError::other(error.to_string()))
        };
        Python::attach(|py| {
            // The interpreter is let go while another thread reads: that one needs it to finish.
            let object = self.object.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            let file = object.bind(py);
            file.call_method1("seek", (range.start,)).map_err(failed)?;
            let mut bytes = Vec::new();
            while bytes.len() < wanted {
                let part = file.call_method1("read", (wanted - bytes.len(),)).map_err(failed)?;
                let part: Vec<u8> = part.extract().map_err(failed)?;
                if part.is_empty() {
                    return Err(Error::io(
                        format!("'{}' ends too early", self.name),
                        IoErrorKind::UnexpectedEof.into(),
                    ));
                }
                bytes.extend_from_slice(&part);
            }
            Ok(Bytes::from(bytes))
        })
    }

    fn refused(&self) -> Error {
        Error::unsupported(format!("'{}' is a file object, which is only read", self.name))
    }

    fn check(&self, path: &str) -> Result<()> {
        if path == self.name {
            return Ok(());
        }
        Err(Error::io(format!("cannot read '{path}'"), IoErrorKind::NotFound.into()))
    }
}

impl Storage for FileObject {
    fn size(&self, path: &str) -> Result<u64> {
        self.check(path)?;
        Ok(self.size)
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        Ok((path == self.name).then_some(EntryKind::File))
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.check(path)?;
        ranges.iter().map(|range| self.read_range(range)).collect()
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        Err(Error::io(format!("'{path}' is not a folder"), IoErrorKind::NotADirectory.into()))
    }

    fn create(&self, _path: &str) -> Result<Box<dyn Staged>> {
        Err(self.refused())
    }

    fn create_dir(&self, _path: &str) -> Result<()> {
        Err(self.refused())
    }

    fn remove(&self, _path: &str) -> Result<()> {
        Err(self.refused())
    }

    fn hints(&self) -> IoHints {
        IoHints { gap: 64 << 10, max_request: 64 << 20, concurrency: 1, zero_copy: false }
    }
}
