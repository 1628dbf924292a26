//! Fills a buffer exactly from a decompressor that implements `Read`.

use std::io::{ErrorKind, Read};

use super::{Compressor, length_error};
use crate::{Error, Result};

/// Reads `dst.len()` bytes and checks that the stream ends there.
pub(super) fn fill(compressor: Compressor, mut reader: impl Read, dst: &mut [u8]) -> Result<()> {
    let mut filled = 0;
    while let Some(rest) = dst.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => return Err(length_error(compressor, dst.len(), filled)),
            Ok(n) => filled += n,
            Err(error) => return Err(damaged(compressor, &error)),
        }
    }
    match reader.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(length_error(compressor, dst.len(), filled.saturating_add(1))),
        Err(error) => Err(damaged(compressor, &error)),
    }
}

pub(super) fn damaged(compressor: Compressor, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::OutOfMemory => Error::OutOfMemory { what: compressor.name() },
        _ => Error::corrupt(compressor.name(), error.to_string()),
    }
}
