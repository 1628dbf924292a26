//! The staged file: a buffer in front of the storage that tracks its position.

use tesselle_core::Result;
use tesselle_core::storage::Staged;

/// Bytes collected before they are passed to the storage.
const SPILL: usize = 1 << 20;

/// Appends to a staged file.
pub(crate) struct Output {
    staged: Box<dyn Staged>,
    buffer: Vec<u8>,
    spilled: u64,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("position", &self.position()).finish_non_exhaustive()
    }
}

impl Output {
    pub(crate) fn new(staged: Box<dyn Staged>) -> Self {
        Self { staged, buffer: Vec::new(), spilled: 0 }
    }

    /// Starts in the middle of a file, at `position`.
    pub(crate) fn at(staged: Box<dyn Staged>, position: u64) -> Self {
        Self { staged, buffer: Vec::new(), spilled: position }
    }

    /// The file offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.spilled + self.buffer.len() as u64
    }

    /// The buffer to append to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Flushes the buffer to the storage.
    pub(crate) fn spill(&mut self) -> Result<()> {
        self.staged.write(&self.buffer)?;
        self.spilled += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Flushes the buffer to the storage once it is large enough.
    pub(crate) fn spill_if_large(&mut self) -> Result<()> {
        if self.buffer.len() >= SPILL { self.spill() } else { Ok(()) }
    }

    /// Appends bytes; large slices are passed to the storage without a copy.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() < SPILL {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.spill()?;
        self.staged.write(bytes)?;
        self.spilled += bytes.len() as u64;
        Ok(())
    }

    /// Makes the file durable and visible; returns its size.
    pub(crate) fn commit(mut self) -> Result<u64> {
        self.spill()?;
        self.staged.commit()?;
        Ok(self.spilled)
    }
}
