//! A staged file as `std::io::Write`, for writers of other crates.

use std::io;

use tesselle_core::storage::Staged;
use tesselle_core::{Error, ErrorKind};

/// Writes to a staged file.
pub(super) struct StagedWriter(pub(super) Box<dyn Staged>);

impl io::Write for StagedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer of another crate refused: the storage failed, or the columns do not fit its format.
pub(super) fn refused(format: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(cause) = source {
        if cause.is::<io::Error>() {
            return Error::new(ErrorKind::Io, format!("writing {format} failed")).source(error);
        }
        source = cause.source();
    }
    Error::invalid(format!("these columns cannot be written as {format}")).source(error)
}

/// A reader of another crate refused.
pub(super) fn damaged(format: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::corrupt(format!("this {format} file cannot be read")).source(error)
}
