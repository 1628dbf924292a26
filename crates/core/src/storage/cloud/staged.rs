//! A new object: written to a local temporary file, uploaded at commit.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions, WriteMultipart};

use super::lease::Lease;
use super::runtime::wait;
use super::{CloudStorage, Staged};
use crate::error::{Error, Result};

/// From this size on an object is uploaded in parts.
const MULTIPART_FROM: u64 = 16 << 20;
/// The size of a part; stores accept at most 10,000 parts, so it grows with the object.
const PART: u64 = 8 << 20;
const MOST_PARTS: u64 = 9_000;
/// Parts under way at once.
const PARTS_AT_ONCE: usize = 4;

/// Writers append and overwrite, which objects do not support, so the bytes are buffered in an unnamed file, which the
/// system always removes.
pub(super) struct StagedObject {
    storage: CloudStorage,
    path: String,
    key: Path,
    spool: File,
    len: u64,
}

impl StagedObject {
    pub(super) fn try_new(storage: CloudStorage, path: &str, key: Path) -> Result<Self> {
        if key.as_ref().is_empty() {
            return Err(Error::invalid(format!("'{path}' is not a file name")));
        }
        let spool =
            tempfile::tempfile().map_err(|error| Error::io("cannot create a temporary file", error))?;
        Ok(Self { storage, path: path.to_owned(), key, spool, len: 0 })
    }

    fn spooled(&self, error: std::io::Error) -> Error {
        let name = self.storage.failures.name(&self.path);
        Error::io(format!("cannot write the temporary file for '{name}'"), error)
    }
}

impl Staged for StagedObject {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.spool.write_all(bytes).map_err(|error| self.spooled(error))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.len) {
            return Err(Error::internal("an overwrite exceeds the end of a staged file"));
        }
        let written = self
            .spool
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.spool.write_all(bytes))
            .and_then(|()| self.spool.seek(SeekFrom::End(0)));
        written.map(drop).map_err(|error| self.spooled(error))
    }

    fn position(&self) -> u64 {
        self.len
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        self.spool.rewind().map_err(|error| self.spooled(error))?;
        let (store, key, len, path) = (Arc::clone(&self.storage.store), self.key, self.len, self.path);
        let lease = self.storage.leases.on(&path);
        let spool = self.spool;
        let done = wait(async move {
            if len < MULTIPART_FROM {
                put(&*store, &key, spool, lease.as_deref()).await
            } else {
                put_in_parts(&*store, &key, spool, len, lease.as_deref()).await
            }
        })?;
        done.map_err(|failed| match failed {
            Failed::Store(error) => self.storage.failures.of("write", &path, &error),
            Failed::Spool(error) => Error::io("cannot read a temporary file", error),
            Failed::Changed => {
                let name = self.storage.failures.name(&path);
                let message =
                    format!("'{name}' was changed by another process meanwhile; nothing was written");
                Error::io(message, std::io::ErrorKind::WouldBlock.into()).hint("try again")
            }
        })?;
        Ok(len)
    }
}

/// Uploads an object at once; under a lock only if it has not changed.
async fn put(
    store: &dyn ObjectStore,
    key: &Path,
    mut spool: File,
    lease: Option<&Lease>,
) -> std::result::Result<(), Failed> {
    let mut bytes = Vec::new();
    spool.read_to_end(&mut bytes).map_err(Failed::Spool)?;
    let mode = lease.map_or(PutMode::Overwrite, Lease::condition);
    let options = PutOptions { mode, ..PutOptions::default() };
    match (store.put_opts(key, bytes.into(), options).await, lease) {
        (Ok(result), Some(lease)) => {
            lease.wrote(result);
            Ok(())
        }
        (Ok(_), None) => Ok(()),
        (Err(StoreError::Precondition { .. } | StoreError::AlreadyExists { .. }), Some(_)) => {
            Err(Failed::Changed)
        }
        (Err(error), _) => Err(Failed::Store(error)),
    }
}

/// Uploads an object in parts. Stores cannot make these conditional, so the lock is checked just before the last step.
async fn put_in_parts(
    store: &dyn ObjectStore,
    key: &Path,
    mut spool: File,
    len: u64,
    lease: Option<&Lease>,
) -> std::result::Result<(), Failed> {
    let part = PART.max(len.div_ceil(MOST_PARTS)) as usize;
    let upload = store.put_multipart(key).await.map_err(Failed::Store)?;
    let mut upload = WriteMultipart::new_with_chunk_size(upload, part);
    let ready = match (upload_parts(&mut spool, &mut upload, part).await, lease) {
        (Ok(()), Some(lease)) => match lease.is_held().await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failed::Changed),
            Err(error) => Err(Failed::Store(error)),
        },
        (uploaded, _) => uploaded,
    };
    if let Err(error) = ready {
        // The first error is reported; remains of an aborted upload expire at the store.
        let _ = upload.abort().await;
        return Err(error);
    }
    // An error while finishing aborts the upload by itself.
    let result = upload.finish().await.map_err(Failed::Store)?;
    if let Some(lease) = lease {
        lease.wrote(result);
    }
    Ok(())
}

enum Failed {
    Store(StoreError),
    Spool(std::io::Error),
    /// The object was changed while it was locked.
    Changed,
}

async fn upload_parts(
    spool: &mut File,
    upload: &mut WriteMultipart,
    part: usize,
) -> std::result::Result<(), Failed> {
    loop {
        upload.wait_for_capacity(PARTS_AT_ONCE).await.map_err(Failed::Store)?;
        let mut bytes = Vec::with_capacity(part);
        Read::by_ref(spool).take(part as u64).read_to_end(&mut bytes).map_err(Failed::Spool)?;
        if bytes.is_empty() {
            return Ok(());
        }
        upload.put(bytes.into());
    }
}
