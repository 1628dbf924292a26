//! Object stores: S3, Google Cloud Storage, Azure and plain HTTP.
//!
//! The storage trait is synchronous, the clients are not. They run on one runtime of this module; a caller hands its
//! request over and waits on a channel, so it may itself be a thread of another runtime. The requests of one call run
//! concurrently.

mod connect;
mod failure;
mod lease;
mod runtime;
mod staged;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use failure::Failures;
use lease::Leases;
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectMeta, ObjectStore, ObjectStoreExt};
use runtime::wait;
use tokio::task::JoinSet;

use super::location::digest;
use super::{Entry, EntryKind, IoHints, Location, Lock, Staged, Storage, check_range};
use crate::error::{Error, Result};

/// Concurrent requests of one call.
const CONCURRENCY: usize = 16;

/// A bucket, container or web server. Paths are keys, separated by `/`.
#[derive(Clone)]
pub struct CloudStorage {
    store: Arc<dyn ObjectStore>,
    failures: Arc<Failures>,
    /// Web servers often cannot list; a path that cannot be listed is not a folder.
    lists: bool,
    leases: Arc<Leases>,
    /// How long a lock lasts that is not renewed.
    lease: Duration,
}

impl std::fmt::Debug for CloudStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The client's debug output may contain credentials.
        f.debug_tuple("CloudStorage").field(&self.failures.base()).finish()
    }
}

impl CloudStorage {
    /// The location at `url`: `s3://bucket/key`, `gs://…`, `az://container/…` (also `abfs[s]://`, `adl://`),
    /// `http[s]://host/…`, or `memory:///…` for a new, empty store.
    ///
    /// Credentials come from `options` (names as in object_store: `aws_access_key_id`, `region`, `endpoint`,
    /// `google_service_account`, `azure_storage_account_key`, `timeout`, …, also `max_retries` and `retry_timeout` in
    /// seconds), then from the usual environment variables (`AWS_…`, `GOOGLE_…`, `AZURE_…`). An unknown option is an
    /// error.
    pub fn from_url(url: &str, options: &BTreeMap<String, String>) -> Result<Location> {
        let (storage, path) = connect::connect(url, options)?;
        Ok(Location::new(Arc::new(storage), path))
    }

    /// Whether `url` has a scheme that [`CloudStorage::from_url`] accepts.
    pub fn takes(url: &str) -> bool {
        let known = ["s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https", "memory"];
        url.split_once(':').is_some_and(|(scheme, _)| known.contains(&scheme.to_ascii_lowercase().as_str()))
    }

    fn key(&self, path: &str) -> Result<Path> {
        Path::parse(path.trim_matches('/')).map_err(|error| {
            Error::invalid(format!("'{}' is not a key of an object store: {error}", self.failures.name(path)))
        })
    }

    fn head(&self, path: &str) -> Result<std::result::Result<ObjectMeta, StoreError>> {
        let (store, key) = (Arc::clone(&self.store), self.key(path)?);
        wait(async move { store.head(&key).await })
    }

    /// Objects and folders directly inside `path`; empty if the store cannot list.
    fn children(&self, path: &str) -> Result<object_store::ListResult> {
        let (store, key) = (Arc::clone(&self.store), self.key(path)?);
        match wait(async move { store.list_with_delimiter(Some(&key)).await })? {
            Ok(found) => Ok(found),
            Err(StoreError::NotFound { .. }) => Ok(nothing()),
            Err(_) if !self.lists => Ok(nothing()),
            Err(error) => Err(self.failures.of("list", path, &error)),
        }
    }
}

fn nothing() -> object_store::ListResult {
    object_store::ListResult { common_prefixes: Vec::new(), objects: Vec::new() }
}

/// Runs requests concurrently; results are by number, empty without a request. An error comes with its number.
async fn concurrently<T, F>(
    count: usize,
    mut requests: impl Iterator<Item = (usize, F)>,
) -> std::result::Result<Vec<T>, (usize, StoreError)>
where
    T: Clone + Default + Send + 'static,
    F: Future<Output = std::result::Result<T, StoreError>> + Send + 'static,
{
    let mut answers = vec![T::default(); count];
    let mut running = JoinSet::new();
    loop {
        while running.len() < CONCURRENCY {
            let Some((index, request)) = requests.next() else { break };
            running.spawn(async move { (index, request.await) });
        }
        match running.join_next().await {
            None => return Ok(answers),
            Some(Ok((index, Ok(answer)))) => answers[index] = answer,
            Some(Ok((index, Err(error)))) => return Err((index, error)),
            Some(Err(error)) => return Err((0, StoreError::JoinError { source: error })),
        }
    }
}

/// Fetches the ranges of one object.
async fn fetch(
    store: Arc<dyn ObjectStore>,
    key: Path,
    ranges: Vec<Range<u64>>,
) -> std::result::Result<Vec<Bytes>, (usize, StoreError)> {
    let count = ranges.len();
    let wanted = ranges.into_iter().enumerate().filter(|(_, range)| range.start < range.end);
    let requests = wanted.map(|(index, range)| {
        let (store, key) = (Arc::clone(&store), key.clone());
        (index, async move { store.get_range(&key, range).await })
    });
    concurrently(count, requests).await
}

/// The sizes of objects; `None` for missing ones.
async fn heads(
    store: Arc<dyn ObjectStore>,
    keys: Vec<Path>,
) -> std::result::Result<Vec<Option<u64>>, (usize, StoreError)> {
    let count = keys.len();
    let requests = keys.into_iter().enumerate().map(|(index, key)| {
        let store = Arc::clone(&store);
        let head = async move {
            match store.head(&key).await {
                Ok(meta) => Ok(Some(meta.size)),
                Err(StoreError::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        (index, head)
    });
    concurrently(count, requests).await
}

impl Storage for CloudStorage {
    fn size(&self, path: &str) -> Result<u64> {
        match self.head(path)? {
            Ok(meta) => Ok(meta.size),
            Err(error) => Err(self.failures.of("read", path, &error)),
        }
    }

    fn sizes(&self, paths: &[Arc<str>]) -> Result<Vec<Option<u64>>> {
        let keys = paths.iter().map(|path| self.key(path)).collect::<Result<_>>()?;
        wait(heads(Arc::clone(&self.store), keys))?.map_err(|(index, error)| {
            self.failures.of("inspect", paths.get(index).map_or("", |path| path), &error)
        })
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        if path.trim_matches('/').is_empty() {
            return Ok(Some(EntryKind::Folder));
        }
        match self.head(path)? {
            Ok(_) => return Ok(Some(EntryKind::File)),
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(self.failures.of("inspect", path, &error)),
        }
        let inside = self.children(path)?;
        let any = !inside.objects.is_empty() || !inside.common_prefixes.is_empty();
        Ok(any.then_some(EntryKind::Folder))
    }

    fn read(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        // Stores reject empty ranges, so their bounds are checked separately.
        if ranges.iter().any(Range::is_empty) {
            let size = self.size(path)?;
            ranges.iter().try_for_each(|range| check_range(path, range, size))?;
        }
        let (store, key) = (Arc::clone(&self.store), self.key(path)?);
        let answers = match wait(fetch(store, key, ranges.to_vec()))? {
            Ok(answers) => answers,
            Err((index, error)) => {
                // A range past the end is damage, not a failure of the store, and each store reports it differently.
                if let (Some(range), Ok(Ok(meta))) = (ranges.get(index), self.head(path)) {
                    check_range(path, range, meta.size)?;
                }
                return Err(self.failures.of("read", path, &error));
            }
        };
        for (range, bytes) in ranges.iter().zip(&answers) {
            if bytes.len() as u64 != range.end - range.start {
                check_range(path, range, self.size(path)?)?;
                let name = self.failures.name(path);
                return Err(Error::io(
                    format!(
                        "cannot read '{name}': got {} bytes instead of {}",
                        bytes.len(),
                        range.end - range.start
                    ),
                    std::io::ErrorKind::UnexpectedEof.into(),
                ));
            }
        }
        Ok(answers)
    }

    fn stamp(&self, path: &str) -> Result<u64> {
        match self.head(path)? {
            Ok(ObjectMeta { size, e_tag, version, last_modified, .. }) => {
                Ok(digest(&(size, e_tag, version, last_modified)))
            }
            Err(error) => Err(self.failures.of("inspect", path, &error)),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>> {
        let folder = self.key(path)?;
        let found = self.children(path)?;
        let files = found.objects.iter().filter(|object| object.location != folder).filter_map(|object| {
            let name = object.location.filename()?.to_owned();
            Some(Entry { name, kind: EntryKind::File })
        });
        let folders = found.common_prefixes.iter().filter_map(|prefix| {
            Some(Entry { name: prefix.filename()?.to_owned(), kind: EntryKind::Folder })
        });
        let mut entries: Vec<Entry> = files.chain(folders).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Staged>> {
        Ok(Box::new(staged::StagedObject::try_new(self.clone(), path, self.key(path)?)?))
    }

    fn create_dir(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    fn remove(&self, path: &str) -> Result<()> {
        let mut folders = vec![self.key(path)?];
        let mut objects = folders.clone();
        while let Some(folder) = folders.pop() {
            let found = self.children(folder.as_ref())?;
            folders.extend(found.common_prefixes);
            objects.extend(found.objects.into_iter().map(|object| object.location));
        }
        let store = Arc::clone(&self.store);
        let deleted = wait(async move {
            let mut waiting = objects.into_iter();
            let mut running = JoinSet::new();
            loop {
                while running.len() < CONCURRENCY {
                    let Some(key) = waiting.next() else { break };
                    let store = Arc::clone(&store);
                    running.spawn(async move { store.delete(&key).await });
                }
                match running.join_next().await {
                    None => return Ok(()),
                    Some(Ok(Ok(()) | Err(StoreError::NotFound { .. }))) => {}
                    Some(Ok(Err(error))) => return Err(error),
                    Some(Err(error)) => return Err(StoreError::JoinError { source: error }),
                }
            }
        })?;
        deleted.map_err(|error| self.failures.of("remove", path, &error))
    }

    fn lock(&self, path: &str, wait: Duration) -> Result<Lock> {
        lease::take(self, path, wait)
    }

    fn hints(&self) -> IoHints {
        IoHints { gap: 1 << 20, max_request: 16 << 20, concurrency: CONCURRENCY, zero_copy: false }
    }
}
