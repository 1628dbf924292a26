//! Reused decode buffers: the page faults of fresh memory cost as much as a part of the decoding.

use std::sync::{Mutex, PoisonError};

/// Free buffers that are kept, and their largest size.
const KEPT: usize = 16;
const LARGEST: usize = 4 << 20;

static FREE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// A buffer of any size and content, free for others once it is dropped.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) Vec<u8>);

impl Default for Scratch {
    fn default() -> Self {
        Self(FREE.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.0.is_empty() || self.0.capacity() > LARGEST {
            return;
        }
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEPT {
            free.push(std::mem::take(&mut self.0));
        }
    }
}
