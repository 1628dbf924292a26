//! Reused decode buffers: the page faults of fresh memory cost as much as a part of the decoding.

use std::sync::{Mutex, MutexGuard, TryLockError};

/// Free buffers that are kept, and their largest size.
const KEPT: usize = 16;
const LARGEST: usize = 4 << 20;

static FREE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// The free buffers; `None` if they are in use. Nothing waits for them: fresh memory is as good, and in a forked process the
/// thread that uses them may not exist.
fn free() -> Option<MutexGuard<'static, Vec<Vec<u8>>>> {
    match FREE.try_lock() {
        Ok(free) => Some(free),
        Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// A buffer of any size and content, free for others once it is dropped.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) Vec<u8>);

impl Default for Scratch {
    fn default() -> Self {
        Self(free().and_then(|mut free| free.pop()).unwrap_or_default())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.0.is_empty() || self.0.capacity() > LARGEST {
            return;
        }
        let Some(mut free) = free() else { return };
        if free.len() < KEPT {
            free.push(std::mem::take(&mut self.0));
        }
    }
}
