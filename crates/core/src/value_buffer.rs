//! Memory for the values of a column.

use arrow_buffer::{Buffer, MutableBuffer};
use bytes::Bytes;
use memmap2::MmapMut;

/// The size of a huge page, where the system has them.
const HUGE: usize = 2 << 20;

/// Bytes of values, which threads fill and an Arrow array takes without a copy: all zero, and aligned for every type.
///
/// Many bytes come in huge pages where the system has them: the faults of as many small pages take as long as decoding
/// does. Fewer are not cleared if they are fresh.
#[derive(Debug)]
pub struct ValueBuffer(Memory);

#[derive(Debug)]
enum Memory {
    Heap(MutableBuffer),
    Mapped { map: MmapMut, len: usize },
}

impl ValueBuffer {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        if let Some(size) = size_in_huge_pages(len)
            && let Ok(map) = MmapMut::map_anon(size)
        {
            // Without huge pages the memory is as good.
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            return Self(Memory::Mapped { map, len });
        }
        // Words for their alignment.
        let mut heap = MutableBuffer::from(vec![0_i128; len.div_ceil(size_of::<i128>())]);
        heap.truncate(len);
        Self(Memory::Heap(heap))
    }

    /// The bytes, to read.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Memory::Heap(heap) => heap.as_slice(),
            Memory::Mapped { map, len } => map.get(..*len).unwrap_or_default(),
        }
    }

    /// The bytes.
    pub fn as_slice_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Heap(heap) => heap.as_slice_mut(),
            Memory::Mapped { map, len } => map.get_mut(..*len).unwrap_or_default(),
        }
    }
}

impl From<ValueBuffer> for Buffer {
    fn from(values: ValueBuffer) -> Self {
        match values.0 {
            Memory::Heap(heap) => heap.into(),
            Memory::Mapped { map, len } => Bytes::from_owner(map).slice(..len).into(),
        }
    }
}

/// How much to map for `len` bytes: whole huge pages if that is little more; `None` if one would be mostly empty.
fn size_in_huge_pages(len: usize) -> Option<usize> {
    let whole = len.checked_next_multiple_of(HUGE)?;
    if len > 0 && whole - len <= len / 8 {
        return Some(whole);
    }
    (cfg!(target_os = "linux") && len > HUGE).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_zero_and_keep_what_is_put_into_them() {
        for len in [0, 1, 15, 16, 100_000, HUGE - 1000, HUGE, HUGE + 1, 3 * HUGE - 8, 3 * HUGE + 17] {
            let mut values = ValueBuffer::zeroed(len);
            assert!(values.as_slice_mut().iter().all(|byte| *byte == 0));
            assert_eq!(values.as_slice_mut().len(), len);
            values.as_slice_mut().fill(7);
            let buffer = Buffer::from(values);
            assert!(buffer.len() == len && buffer.iter().all(|byte| *byte == 7));
            assert_eq!(buffer.as_ptr().align_offset(align_of::<i128>()), 0);
        }
    }

    #[test]
    fn little_is_mapped_in_vain() {
        assert_eq!(size_in_huge_pages(1000), None);
        assert_eq!(size_in_huge_pages(HUGE / 2), None);
        assert_eq!(size_in_huge_pages(HUGE - 1000), Some(HUGE));
        assert_eq!(size_in_huge_pages(10 * HUGE + 1), Some(11 * HUGE));
    }
}
