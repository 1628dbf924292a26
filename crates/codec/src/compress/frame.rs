//! The frame level of Zstandard (RFC 8878): dictionary ids and the maximum decoded size of the blocks.

use std::borrow::Cow;

use crate::Within;

const MAGIC: u32 = 0xFD2F_B528;
const MAX_BLOCK: u64 = 128 << 10;

/// The parts of a frame header that are used here; offsets count from the magic number.
struct Header {
    /// Offset and length of the dictionary id.
    id: (usize, usize),
    content_size: Option<u64>,
    checksum: bool,
    len: usize,
}

fn header(src: &[u8]) -> Option<Header> {
    if u32::from_le_bytes(*src.first_chunk::<4>()?) != MAGIC {
        return None;
    }
    let descriptor = *src.get(4)?;
    let single_segment = descriptor & 0x20 != 0;
    let id_at = if single_segment { 5 } else { 6 };
    let id_len = usize::from([0u8, 1, 2, 4][usize::from(descriptor & 3)]);
    let size_at = id_at + id_len;
    let size_len = match (descriptor >> 6, single_segment) {
        (0, false) => 0,
        (0, true) => 1,
        (code, _) => 1usize << code,
    };
    let size_bytes = src.get(size_at..size_at + size_len)?;
    let size = size_bytes.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
    let content_size = match size_len {
        0 => None,
        2 => Some(size + 256),
        _ => Some(size),
    };
    Some(Header { id: (id_at, id_len), content_size, checksum: descriptor & 4 != 0, len: size_at + size_len })
}

/// Whether the first frame of `src` ends with a checksum of its content.
pub(super) fn has_checksum(src: &[u8]) -> bool {
    header(src).is_some_and(|header| header.checksum)
}

/// Removes the dictionary id from the first frame of `src`; all other bytes are unchanged.
pub(super) fn without_dictionary_id(src: &[u8]) -> Cow<'_, [u8]> {
    match header(src) {
        Some(Header { id: (at, len), .. }) if len > 0 => {
            let mut out = Vec::with_capacity(src.len());
            out.extend_from_slice(src.within(..at));
            out.extend_from_slice(src.within(at + len..));
            if let Some(descriptor) = out.get_mut(4) {
                *descriptor &= !3;
            }
            Cow::Owned(out)
        }
        _ => Cow::Borrowed(src),
    }
}

/// Appends the frame `src`, which has no dictionary id, with a dictionary id of one byte.
pub(super) fn append_with_dictionary_id(src: &[u8], id: u8, dst: &mut Vec<u8>) {
    let Some(Header { id: (at, 0), .. }) = header(src) else {
        dst.extend_from_slice(src);
        return;
    };
    let descriptor = dst.len() + 4;
    dst.extend_from_slice(src.within(..at));
    dst.push(id);
    dst.extend_from_slice(src.within(at..));
    if let Some(byte) = dst.get_mut(descriptor) {
        *byte |= 1;
    }
}

/// Returns the most bytes that the frames of `src` can decode to, from their headers alone, or `None` if a
/// frame is incomplete.
pub(super) fn largest_content(mut src: &[u8]) -> Option<u64> {
    let mut total = 0u64;
    while !src.is_empty() {
        let magic = u32::from_le_bytes(*src.first_chunk::<4>()?);
        if magic & 0xFFFF_FFF0 == 0x184D_2A50 {
            let len = u32::from_le_bytes(*src.get(4..)?.first_chunk::<4>()?);
            src = src.get(8usize.checked_add(usize::try_from(len).ok()?)?..)?;
            continue;
        }
        let header = header(src)?;
        src = src.get(header.len..)?;
        let mut blocks = 0u64;
        loop {
            let &[a, b, c] = src.first_chunk::<3>()?;
            let word = u32::from_le_bytes([a, b, c, 0]);
            let size = u64::from(word >> 3);
            let (stored, decoded) = match word >> 1 & 3 {
                0 => (size, size),
                1 => (1, size),
                2 => (size, MAX_BLOCK),
                _ => return None,
            };
            blocks = blocks.checked_add(decoded)?;
            src = src.get(3usize.checked_add(usize::try_from(stored).ok()?)?..)?;
            if word & 1 == 1 {
                break;
            }
        }
        if header.checksum {
            src = src.get(4..)?;
        }
        total = total.checked_add(header.content_size.map_or(blocks, |size| size.min(blocks)))?;
    }
    Some(total)
}
