//! Files on several storages as one: each decompressed file is on a separate storage.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::storage::{Entry, EntryKind, IoHints, Staged};
use tesselle_core::{Error, Location, Result, Storage};

/// The storage that reads all of `files`.
pub(super) fn joined(files: &[Location], first: &Location) -> Arc<dyn Storage> {
    if files.iter().all(|file| Arc::ptr_eq(file.storage(), first.storage())) {
        return Arc::clone(first.storage());
    }
    let by_path = files.iter().map(|file| (file.path().to_owned(), Arc::clone(file.storage()))).collect();
    Arc::new(JoinedStorage { by_path })
}

#[derive(Debug)]
struct JoinedStorage {
    by_path: HashMap<String, Arc<dyn Storage>>,
}

impl JoinedStorage {
    fn of(&self, path: &str) -> Result<&dyn Storage> {
        let storage = self.by_path.get(path).map(|storage| &**storage);
        storage.ok_or_else(|| Error::io(format!("cannot read '{path}'"), std::io::ErrorKind::NotFound.into()))
    }
}

fn read_only<T>(path: &str) -> Result<T> {
    Err(Error::internal(format!("'{path}' is an input and is not written")))
}

impl Storage for JoinedStorage {
    fn size(&self, path: &str) -> Result<u64> {
        self.of(path)?.size(path)
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        self.of(path)?.kind(path)
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.of(path)?.read(path, ranges)
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        self.of(path)?.list(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Staged>> {
        read_only(path)
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        read_only(path)
    }

    fn remove(&self, path: &str) -> Result<()> {
        read_only(path)
    }

    fn hints(&self) -> IoHints {
        IoHints { gap: 16 << 10, max_request: 1 << 20, concurrency: 1, zero_copy: false }
    }
}
