//! Buffers for large reads. The page faults of fresh memory cost more than the copy into it, so buffers are reused, and the
//! largest are in huge pages.

use bytes::Bytes;

use crate::free_list::FreeList;
use crate::{ValueBuffer, Within};

/// Shorter reads take plain memory.
const SMALLEST: usize = 64 << 10;
/// Bytes of free buffers kept for later reads.
const KEPT: usize = 32 << 20;

static FREE: FreeList = FreeList::new();

/// A buffer of `len` bytes. The first use fills it with zeros, later ones keep its content.
pub(super) struct Buffer {
    memory: Memory,
    len: usize,
}

enum Memory {
    /// For later reads as well.
    Listed(Vec<u8>),
    /// For this read.
    Single(ValueBuffer),
}

impl Buffer {
    pub(super) fn of(len: usize) -> Self {
        if len < SMALLEST {
            return Self { memory: Memory::Listed(vec![0; len]), len };
        }
        let size = class(len);
        if size > KEPT {
            return Self { memory: Memory::Single(ValueBuffer::zeroed(len)), len };
        }
        let found = FREE.try_lock().and_then(|mut free| {
            let fitting = free.iter().rposition(|buffer| buffer.len() == size);
            fitting.map(|at| free.swap_remove(at))
        });
        Self { memory: Memory::Listed(found.unwrap_or_else(|| vec![0; size])), len }
    }

    pub(super) fn as_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Listed(bytes) => bytes.within_mut(..self.len),
            Memory::Single(values) => values.as_slice_mut(),
        }
    }

    /// The bytes, without a copy; the buffer is free again once the last of them is dropped.
    pub(super) fn into_bytes(mut self) -> Bytes {
        match &mut self.memory {
            Memory::Listed(bytes) if self.len < SMALLEST => std::mem::take(bytes).into(),
            _ => Bytes::from_owner(self),
        }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        match &self.memory {
            Memory::Listed(bytes) => bytes.within(..self.len),
            Memory::Single(values) => values.as_slice(),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Memory::Listed(bytes) = &mut self.memory else { return };
        if bytes.len() < SMALLEST {
            return;
        }
        let buffer = std::mem::take(bytes);
        let Some(mut free) = FREE.try_lock() else { return };
        let kept: usize = free.iter().map(Vec::len).sum();
        if kept + buffer.len() <= KEPT {
            free.push(buffer);
        }
    }
}

/// Sizes grow in steps of an eighth, so that buffers can be reused without much waste.
fn class(len: usize) -> usize {
    len.next_multiple_of((len.next_power_of_two() / 16).max(4096))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_waste_little_and_repeat() {
        for len in [SMALLEST, 70_000, 1 << 20, (1 << 20) + 1, 5_000_000] {
            let size = class(len);
            assert!(size >= len && size - len <= len / 8 + 4096, "{len} takes {size}");
            assert_eq!(class(size), size);
        }
    }

    #[test]
    fn nothing_waits_for_the_free_buffers() {
        let held = FREE.try_lock();
        drop(Buffer::of(SMALLEST));
        drop(held);
    }

    #[test]
    fn a_buffer_has_the_bytes_that_were_put_into_it() {
        for len in [0, 10, SMALLEST, 100_000, KEPT + 5000] {
            let mut buffer = Buffer::of(len);
            buffer.as_mut().fill(7);
            let bytes = buffer.into_bytes();
            assert!(bytes.len() == len && bytes.iter().all(|byte| *byte == 7));
        }
    }
}
