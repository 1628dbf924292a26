//! Reused decode buffers: the page faults of fresh memory cost as much as a part of the decoding.

use crate::free_list::FreeList;

/// Free buffers that are kept, and their largest size.
const KEPT: usize = 16;
const LARGEST: usize = 4 << 20;

static FREE: FreeList = FreeList::new();

/// A buffer of any size and content, free for others once it is dropped.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) Vec<u8>);

impl Default for Scratch {
    fn default() -> Self {
        Self(FREE.try_lock().and_then(|mut free| free.pop()).unwrap_or_default())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.0.is_empty() || self.0.capacity() > LARGEST {
            return;
        }
        let Some(mut free) = FREE.try_lock() else { return };
        if free.len() < KEPT {
            free.push(std::mem::take(&mut self.0));
        }
    }
}
