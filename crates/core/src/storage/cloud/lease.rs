//! Locks on object stores.
//!
//! A lock is an object `.NAME.lock` that is created only if it is absent, and renewed while it is held. The lock of
//! a killed process is not removed: a process that waits and sees it unchanged for longer than a lease takes it over, by
//! a write that succeeds only if it is still unchanged. No clocks are compared.
//!
//! A holder that was stopped for longer than a lease may have lost its lock without noticing. So the locked object
//! is replaced only if it has not changed since the lock was taken.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use object_store::path::Path;
use object_store::{
    Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult,
    UpdateVersion,
};
use tokio::task::JoinHandle;

use super::CloudStorage;
use super::runtime::{spawn, wait};
use crate::error::{Error, Result};
use crate::storage::lock::{Lock, held_by};

/// A lock that is not renewed for this long is taken over.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// The first pause between two attempts, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_secs(1)];

/// The locks held through one storage, by path.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<HashMap<String, Arc<Lease>>>);

impl Leases {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Lease>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock that is held on `path`.
    pub(super) fn on(&self, path: &str) -> Option<Arc<Lease>> {
        self.all().get(path).cloned()
    }
}

/// A held lock of one object.
#[derive(Debug)]
pub(super) struct Lease {
    store: Arc<dyn ObjectStore>,
    /// The key of the lock.
    key: Path,
    /// The content of the lock object, unique to this holder.
    token: String,
    /// The locked object as this holder last saw it; `None` if it was missing.
    target: Mutex<Option<UpdateVersion>>,
}

impl Lease {
    /// How to write the locked object: only if it is as this holder knows it.
    pub(super) fn condition(&self) -> PutMode {
        let target = self.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
        target.map_or(PutMode::Create, PutMode::Update)
    }

    /// Takes note of what this holder has written.
    pub(super) fn wrote(&self, result: PutResult) {
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = Some(result.into());
    }

    /// Whether the lock is still that of this holder.
    pub(super) async fn is_held(&self) -> Result<bool, StoreError> {
        match read(&*self.store, &self.key).await {
            Ok((content, _)) => Ok(content == self.token),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Releases a lock when it is dropped.
struct Held {
    leases: Arc<Leases>,
    path: String,
    renewal: JoinHandle<()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renewal.abort();
        let Some(lease) = self.leases.all().remove(&self.path) else { return };
        // A lock that cannot be removed now ends with its lease.
        let _ = wait(async move {
            if lease.is_held().await.unwrap_or(false) {
                let _ = lease.store.delete(&lease.key).await;
            }
        });
    }
}

/// The key of the lock of `path`.
fn lock_path(path: &str) -> String {
    let path = path.trim_matches('/');
    match path.rsplit_once('/') {
        Some((folder, name)) => format!("{folder}/.{name}.lock"),
        None => format!(".{path}.lock"),
    }
}

/// A line that distinguishes this lock from all others.
fn token() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("process {} ({:x}-{number:x})", std::process::id(), now.as_nanos())
}

async fn put(
    store: &dyn ObjectStore,
    key: &Path,
    content: &str,
    mode: PutMode,
) -> Result<UpdateVersion, StoreError> {
    let payload = PutPayload::from(content.to_owned());
    let options = PutOptions { mode, ..PutOptions::default() };
    store.put_opts(key, payload, options).await.map(UpdateVersion::from)
}

async fn read(store: &dyn ObjectStore, key: &Path) -> Result<(String, UpdateVersion), StoreError> {
    let found = store.get(key).await?;
    let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
    let content = found.bytes().await?;
    Ok((String::from_utf8_lossy(&content).into_owned(), version))
}

enum Refusal {
    Held(String),
    Store(StoreError),
}

/// Waits until the lock object is ours.
async fn acquire(
    store: &dyn ObjectStore,
    key: &Path,
    token: &str,
    lease: Duration,
    limit: Duration,
) -> Result<UpdateVersion, Refusal> {
    let start = Instant::now();
    let [mut pause, longest] = PAUSES;
    let mut seen: Option<(UpdateVersion, Instant)> = None;
    loop {
        match put(store, key, token, PutMode::Create).await {
            Ok(version) => return Ok(version),
            Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(Refusal::Store(error)),
        }
        let holder = match read(store, key).await {
            // An answer was lost on its way, and the request was sent again.
            Ok((holder, version)) if holder == token => return Ok(version),
            Ok((holder, version)) => {
                match &seen {
                    Some((last, since)) if *last == version => {
                        if since.elapsed() >= lease {
                            match put(store, key, token, PutMode::Update(version)).await {
                                Ok(version) => return Ok(version),
                                Err(StoreError::Precondition { .. } | StoreError::NotFound { .. }) => {
                                    seen = None;
                                }
                                Err(error) => return Err(Refusal::Store(error)),
                            }
                        }
                    }
                    _ => seen = Some((version, Instant::now())),
                }
                holder
            }
            Err(StoreError::NotFound { .. }) => continue,
            Err(error) => return Err(Refusal::Store(error)),
        };
        if start.elapsed() >= limit {
            return Err(Refusal::Held(holder));
        }
        tokio::time::sleep(pause).await;
        pause = longest.min(pause * 2);
    }
}

/// Renews the lock until it belongs to another holder.
async fn renew(
    store: Arc<dyn ObjectStore>,
    key: Path,
    token: String,
    mut version: UpdateVersion,
    pause: Duration,
) {
    loop {
        tokio::time::sleep(pause).await;
        match put(&*store, &key, &token, PutMode::Update(version.clone())).await {
            Ok(next) => version = next,
            Err(StoreError::Precondition { .. } | StoreError::NotFound { .. }) => return,
            // The store may answer the next time, before the lease ends.
            Err(_) => {}
        }
    }
}

/// Waits up to `limit` for the lock of `path`.
pub(super) fn take(storage: &CloudStorage, path: &str, limit: Duration) -> Result<Lock> {
    let (key, target) = (storage.key(&lock_path(path))?, storage.key(path)?);
    let (store, token, lease) = (Arc::clone(&storage.store), token(), storage.lease);
    let (own_key, own_token) = (key.clone(), token.clone());
    let taken = wait(async move {
        let version = acquire(&*store, &own_key, &own_token, lease, limit).await?;
        match store.head(&target).await {
            Ok(meta) => Ok((version, Some(UpdateVersion { e_tag: meta.e_tag, version: meta.version }))),
            Err(StoreError::NotFound { .. }) => Ok((version, None)),
            Err(error) => {
                let _ = store.delete(&own_key).await;
                Err(Refusal::Store(error))
            }
        }
    })?;
    let (version, target) = taken.map_err(|refusal| match refusal {
        Refusal::Held(holder) => held_by(&storage.failures.name(path), &holder, limit),
        Refusal::Store(StoreError::NotImplemented { .. } | StoreError::NotSupported { .. }) => {
            let name = storage.failures.name(path);
            Error::unsupported(format!(
                "'{name}' cannot be changed here: this store has no conditional writes"
            ))
            .hint("change a local copy and upload it")
        }
        Refusal::Store(error) => storage.failures.of("lock", path, &error),
    })?;
    let store = Arc::clone(&storage.store);
    let renewal = spawn(renew(Arc::clone(&store), key.clone(), token.clone(), version, storage.lease / 4))?;
    let held = Lease { store, key, token, target: Mutex::new(target) };
    storage.leases.all().insert(path.to_owned(), Arc::new(held));
    Ok(Lock::new(Held { leases: Arc::clone(&storage.leases), path: path.to_owned(), renewal }))
}
