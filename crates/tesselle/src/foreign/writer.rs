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
            refused_memory(format, &error).unwrap_or_else(|| {
                Error::invalid(format!("these columns cannot be written as {format}")).source(error)
            })
        })
    }
}

/// A reader of another crate refused.
pub(super) fn damaged(format: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    refused_memory(format, &error)
        .unwrap_or_else(|| Error::corrupt(format!("the {format} file cannot be read")).source(error))
}

/// The error for memory that the system refused, if that is what stopped another crate. They pass on the words of zstd, and
/// nothing else to know it by.
fn refused_memory(format: &str, error: &dyn std::error::Error) -> Option<Error> {
    let is_refused = error.to_string().contains("Allocation error : not enough memory");
    is_refused.then(|| Error::out_of_memory(format!("not enough memory for {format} data")))
}

#[cfg(test)]
mod tests {
    use tesselle_core::ErrorKind;

    use super::*;

    #[test]
    fn refused_memory_is_neither_damage_nor_a_wrong_call() {
        let refused = || io::Error::other("Allocation error : not enough memory");
        for error in [damaged("Parquet", refused()), Failure::default().or_refused("Parquet", refused())] {
            assert_eq!((error.kind(), error.class_name()), (ErrorKind::Io, "out_of_memory"));
        }
        let bad = || io::Error::other("bad magic");
        assert_eq!(damaged("Parquet", bad()).kind(), ErrorKind::Corrupt);
        assert_eq!(Failure::default().or_refused("Parquet", bad()).kind(), ErrorKind::Invalid);
    }
}
