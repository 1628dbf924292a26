//! Inputs that can be read only once, from start to end: pipes, devices, standard input.
//!
//! They are read completely before anything else happens, into memory or, above a bound, into an unnamed file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{Entry, EntryKind, IoHints, Location, Staged, Storage, check_range};
use crate::error::{Error, Result};

/// Larger inputs go to the disk.
const IN_MEMORY: u64 = 8 << 20;

/// Reads `input` to its end. The result is a file called `name` on a separate storage, which is removed with its last
/// user.
pub fn spool(input: &mut dyn Read, name: &str) -> Result<Location> {
    let failed = |error| Error::io(format!("cannot read '{name}'"), error);
    let mut head = Vec::new();
    let read = input.take(IN_MEMORY).read_to_end(&mut head).map_err(failed)?;
    let (content, size) = if (read as u64) < IN_MEMORY {
        (Content::Memory(head.into()), read as u64)
    } else {
        let mut kept = || -> io::Result<(File, u64)> {
            let mut file = tempfile::tempfile()?;
            file.write_all(&head)?;
            let rest = io::copy(input, &mut file)?;
            Ok((file, read as u64 + rest))
        };
        let (file, size) = kept().map_err(failed)?;
        (Content::Disk(Mutex::new(file)), size)
    };
    Ok(Location::new(Arc::new(Spool { name: name.to_owned(), content, size }), name))
}

#[derive(Debug)]
enum Content {
    Memory(Bytes),
    Disk(Mutex<File>),
}

/// A read-only storage of one file.
#[derive(Debug)]
struct Spool {
    name: String,
    content: Content,
    size: u64,
}

impl Spool {
    fn check(&self, path: &str) -> Result<()> {
        if path == self.name {
            return Ok(());
        }
        Err(Error::missing(path))
    }

    fn refuse<T>(&self, what: &str) -> Result<T> {
        Err(Error::invalid(format!("'{}' is an input and cannot be {what}", self.name)))
    }
}

impl Storage for Spool {
    fn is_pipe(&self) -> bool {
        true
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.check(path).map(|()| self.size)
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        Ok((path == self.name).then_some(EntryKind::File))
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.check(path)?;
        let one = |range: &Range<u64>| {
            check_range(path, range, self.size)?;
            match &self.content {
                Content::Memory(bytes) => Ok(bytes.slice(range.start as usize..range.end as usize)),
                Content::Disk(file) => {
                    let mut buffer = vec![0; (range.end - range.start) as usize];
                    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                    let read =
                        file.seek(SeekFrom::Start(range.start)).and_then(|_| file.read_exact(&mut buffer));
                    read.map_err(|error| Error::io(format!("cannot read '{path}'"), error))?;
                    Ok(buffer.into())
                }
            }
        };
        ranges.iter().map(one).collect()
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        Err(Error::io(format!("cannot list '{path}'"), io::ErrorKind::NotADirectory.into()))
    }

    fn create(&self, _path: &str) -> Result<Box<dyn Staged>> {
        self.refuse("written")
    }

    fn create_dir(&self, _path: &str) -> Result<()> {
        self.refuse("written")
    }

    fn remove(&self, _path: &str) -> Result<()> {
        self.refuse("removed")
    }

    fn hints(&self) -> IoHints {
        IoHints { gap: 16 << 10, max_request: 1 << 20, concurrency: 1, zero_copy: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_of_any_size_is_read_to_its_end() {
        for size in [0, 5, IN_MEMORY - 1, IN_MEMORY, IN_MEMORY + 70_000] {
            let mut input = io::repeat(3).take(size);
            let location = spool(&mut input, "-").unwrap();
            assert_eq!(location.size().unwrap(), size);
            let tail = size.saturating_sub(4)..size;
            assert!(location.read_range(tail.clone()).unwrap().iter().all(|byte| *byte == 3));
            assert!(location.read_range(tail.start..size + 1).is_err());
            assert!(location.is_file().unwrap() && location.create(true).is_err());
        }
    }
}
