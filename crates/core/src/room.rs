//! Memory for large columns.

use std::sync::{Mutex, PoisonError};

use arrow_buffer::{Buffer, MutableBuffer};
use bytes::Bytes;
use memmap2::MmapMut;

/// The size of a huge page. One of them costs one page fault, where ordinary pages cost 512.
const HUGE: usize = 2 << 20;
/// Bytes of free memory kept for later columns: even one page fault per huge page clears it.
const KEPT: usize = 32 << 20;

static FREE: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());

/// A buffer with arbitrary content that is filled once and becomes a column. Large ones are in huge pages, where the
/// system has them, and are reused.
#[derive(Debug)]
pub struct Room(Memory);

#[derive(Debug)]
enum Memory {
    Plain(MutableBuffer),
    Huge { pages: Pages, len: usize },
}

impl Room {
    /// A buffer of `len` bytes.
    pub fn new(len: usize) -> Self {
        Pages::of(len).map_or_else(
            || Self(Memory::Plain(MutableBuffer::from_len_zeroed(len))),
            |pages| Self(Memory::Huge { pages, len }),
        )
    }

    /// Its bytes.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Plain(buffer) => buffer.as_slice_mut(),
            Memory::Huge { pages, len } => {
                pages.0.as_mut().and_then(|memory| memory.get_mut(..*len)).unwrap_or_default()
            }
        }
    }
}

impl From<Room> for Buffer {
    /// The same bytes, not copied.
    fn from(room: Room) -> Self {
        match room.0 {
            Memory::Plain(buffer) => buffer.into(),
            Memory::Huge { pages, len } => Bytes::from_owner(pages).slice(..len).into(),
        }
    }
}

/// Huge pages, free again when they are dropped.
#[derive(Debug)]
struct Pages(Option<MmapMut>);

impl Pages {
    /// Pages for `len` bytes; `None` if too much of the last one would stay empty, or if the system has none.
    fn of(len: usize) -> Option<Self> {
        let size = len.checked_next_multiple_of(HUGE)?;
        if len == 0 || size - len > len / 8 {
            return None;
        }
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let known = free.iter().rposition(|memory| memory.len() == size);
        if let Some(at) = known {
            return Some(Self(Some(free.swap_remove(at))));
        }
        drop(free);
        map(size).map(|memory| Self(Some(memory)))
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let Some(memory) = self.0.take() else { return };
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = free.iter().map(|memory| memory.len()).sum();
        if kept + memory.len() <= KEPT {
            free.push(memory);
        }
    }
}

#[cfg(target_os = "linux")]
fn map(size: usize) -> Option<MmapMut> {
    let memory = MmapMut::map_anon(size).ok()?;
    memory.advise(memmap2::Advice::HugePage).ok()?;
    Some(memory)
}

#[cfg(not(target_os = "linux"))]
fn map(_size: usize) -> Option<MmapMut> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_has_its_length_and_keeps_what_is_put_into_it() {
        for len in [0, 1, 1000, HUGE - 1, HUGE, HUGE + 1, 4 * HUGE - 5, 4 * HUGE + HUGE / 2, 20 * HUGE + 1] {
            let filled = |value: u8| {
                let mut room = Room::new(len);
                assert_eq!(room.as_mut_slice().len(), len);
                room.as_mut_slice().fill(value);
                Buffer::from(room)
            };
            // Memory that is in use is not given to another; that of a dropped buffer is.
            for value in 0..3 {
                let (one, two) = (filled(value), filled(value + 7));
                assert!(one.len() == len && one.iter().all(|byte| *byte == value), "{len}");
                assert!(two.len() == len && two.iter().all(|byte| *byte == value + 7), "{len}");
                assert_eq!(one.as_ptr().align_offset(64), 0);
            }
        }
        let kept: usize = FREE.lock().unwrap().iter().map(|memory| memory.len()).sum();
        assert!(kept <= KEPT);
    }
}
