//! A staged file as `std::io::Write`, for writers of other crates.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tesselle_core::Error;
use tesselle_core::storage::Staged;

/// Writes to a staged file. Writers of other crates turn a storage error into a string, so the first one is kept for
/// the sink.
pub(super) struct StagedWriter {
    staged: Box<dyn Staged>,
    failed: Failure,
}

/// The first error of a storage, shared between a writer and its sink.
#[derive(Clone, Default)]
pub(super) struct Failure(Arc<Mutex<Option<Error>>>);

impl StagedWriter {
    pub(super) fn new(staged: Box<dyn Staged>) -> (Self, Failure) {
        let failed = Failure::default();
        (Self { staged, failed: failed.clone() }, failed)
    }

    pub(super) fn into_inner(self) -> Box<dyn Staged> {
        self.staged
    }
}

impl io::Write for StagedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.staged.write(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                *self.failed.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(io::Error::other("the storage failed"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Failure {
    /// The error of a writer of another crate: the storage failed, or the columns do not fit its format.
    pub(super) fn or_refused(
        &self,
        format: &str,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> Error {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.unwrap_or_else(|| {
            Error::invalid(format!("these columns cannot be written as {format}")).source(error)
        })
    }
}

/// A reader of another crate refused.
pub(super) fn damaged(format: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::corrupt(format!("the {format} file cannot be read")).source(error)
}
