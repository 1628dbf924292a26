//! Pipes and devices as outputs: written directly, never replaced.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use super::place::{STDOUT, failed};
use crate::error::{Error, Result};
use crate::storage::Staged;
use crate::storage::staged::about_to_commit;

/// Buffers the output in an unnamed file, because formats may overwrite earlier bytes, and copies it at the end.
pub(super) struct SpecialOutput {
    path: String,
    gathered: File,
    written: u64,
}

impl SpecialOutput {
    pub(super) fn try_new(path: &str) -> Result<Self> {
        let gathered = tempfile::tempfile().map_err(|e| Error::io("cannot create a temporary file", e))?;
        Ok(Self { path: path.to_owned(), gathered, written: 0 })
    }
}

impl Staged for SpecialOutput {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.gathered.write_all(bytes).map_err(failed("write", &self.path))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.written) {
            return Err(Error::internal("an overwrite exceeds the end of a staged file"));
        }
        super::staged::write_all_at(&mut self.gathered, bytes, offset).map_err(failed("write", &self.path))
    }

    fn position(&self) -> u64 {
        self.written
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        about_to_commit(Path::new(&self.path), Path::new(&self.path))?;
        let copy = |gathered: &mut File, path: &str| {
            let mut out: Box<dyn Write> = match path {
                STDOUT => Box::new(io::stdout().lock()),
                path => Box::new(OpenOptions::new().write(true).open(path)?),
            };
            gathered.seek(SeekFrom::Start(0))?;
            io::copy(gathered, &mut out)?;
            out.flush()
        };
        copy(&mut self.gathered, &self.path).map_err(failed("write", &self.path))?;
        Ok(self.position())
    }
}
