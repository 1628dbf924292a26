//! A list of free buffers that nothing waits for.

use std::sync::{Mutex, MutexGuard, TryLockError};

/// Buffers that are kept for reuse: the page faults of fresh memory cost as much as a part of the work on it.
pub(crate) struct FreeList(Mutex<Vec<Vec<u8>>>);

impl FreeList {
    /// Starts empty.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The free buffers; `None` if another thread uses them. Fresh memory is as good, and in a forked process the thread that
    /// uses them may not exist.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Vec<Vec<u8>>>> {
        match self.0.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
