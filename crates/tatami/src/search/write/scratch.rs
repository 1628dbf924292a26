//! Scratch files next to the target, which exist only while a segment is built.

use bytes::Bytes;
use tesselle_core::storage::Staged;
use tesselle_core::{Location, Result};

/// Names scratch files and removes them all at the end.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: Location,
    stem: String,
    made: u32,
}

impl Scratch {
    /// Scratch files next to `target`.
    pub(crate) fn next_to(target: &Location) -> Self {
        let stem = format!(".{}.{}.scratch", target.name(), std::process::id());
        let folder = target.parent().unwrap_or_else(|| Location::new(target.storage().clone(), ""));
        Self { folder, stem, made: 0 }
    }

    /// A new file and its location for reading once it is committed.
    pub(crate) fn create(&mut self) -> Result<(Box<dyn Staged>, Location)> {
        let location = self.folder.join(&format!("{}-{}", self.stem, self.made));
        self.made += 1;
        Ok((location.create(true)?, location))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for i in 0..self.made {
            let location = self.folder.join(&format!("{}-{i}", self.stem));
            // A file that cannot be removed does no harm; its name identifies it.
            let _ = location.storage().remove(location.path());
        }
    }
}

/// Bytes being written: in memory while they are few, then in a scratch file.
pub(crate) struct Spool {
    limit: usize,
    memory: Vec<u8>,
    file: Option<(Box<dyn Staged>, Location)>,
    len: u64,
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spool").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Spool {
    /// A spool that keeps up to `limit` bytes in memory.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, memory: Vec::new(), file: None, len: 0 }
    }

    pub(crate) fn write(&mut self, bytes: &[u8], scratch: &mut Scratch) -> Result<()> {
        self.len += bytes.len() as u64;
        if self.file.is_none() && self.memory.len() + bytes.len() > self.limit {
            let (mut staged, location) = scratch.create()?;
            staged.write(&std::mem::take(&mut self.memory))?;
            self.file = Some((staged, location));
        }
        if let Some((staged, _)) = &mut self.file {
            return staged.write(bytes);
        }
        self.memory.extend_from_slice(bytes);
        Ok(())
    }

    /// Everything written, ready to be read.
    pub(crate) fn finish(self) -> Result<Spooled> {
        let source = match self.file {
            Some((staged, location)) => {
                staged.commit()?;
                ScratchData::File(location)
            }
            None => ScratchData::Memory(self.memory.into()),
        };
        Ok(Spooled { source, len: self.len })
    }
}

/// The bytes of a finished spool.
#[derive(Debug)]
pub(crate) struct Spooled {
    source: ScratchData,
    len: u64,
}

#[derive(Debug)]
enum ScratchData {
    Memory(Bytes),
    File(Location),
}

impl Default for Spooled {
    fn default() -> Self {
        Self { source: ScratchData::Memory(Bytes::new()), len: 0 }
    }
}

/// The bytes of one run: a short prefix, then the rest.
#[derive(Debug, Default)]
pub(crate) struct RunBytes {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Spooled,
}

impl From<Vec<u8>> for RunBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self { head: bytes, body: Spooled::default() }
    }
}

impl RunBytes {
    pub(crate) fn len(&self) -> u64 {
        self.head.len() as u64 + self.body.len()
    }

    /// Returns the bytes part by part.
    pub(crate) fn for_each(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        take(&self.head)?;
        self.body.for_each(take)
    }
}

/// Bytes of a file read at once.
const WINDOW: u64 = 1 << 20;

impl Spooled {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the bytes part by part.
    pub(crate) fn for_each(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match &self.source {
            ScratchData::Memory(bytes) => take(bytes),
            ScratchData::File(location) => {
                let mut at = 0;
                while at < self.len {
                    let end = self.len.min(at + WINDOW);
                    take(&location.read_range(at..end)?)?;
                    at = end;
                }
                Ok(())
            }
        }
    }
}
