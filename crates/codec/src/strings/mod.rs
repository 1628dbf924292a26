//! Variable-length strings as runs or as indexes into a dictionary.
//!
//! Strings are one buffer and the start offset of each; decoding returns both. All integers are big-endian
//! and as wide as the largest of them needs: 1, 2, 4 or 8 bytes.

pub mod dictionary;
pub mod runs;
#[cfg(test)]
mod tests;

use crate::{Error, Result};

/// Bytes needed for values up to `most`: 1, 2, 4 or 8.
fn width_of(most: u64) -> u8 {
    match most {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}

fn check_width(what: &'static str, width: u8) -> Result<usize> {
    match width {
        1 | 2 | 4 | 8 => Ok(usize::from(width)),
        _ => Err(Error::corrupt(what, format!("integers of {width} bytes"))),
    }
}

fn put(value: u64, width: u8, dst: &mut Vec<u8>) {
    dst.extend_from_slice(&value.to_be_bytes()[8 - usize::from(width.min(8))..]);
}

/// Takes a big-endian integer of `width` bytes from the start of `src`.
fn take_int(what: &'static str, src: &mut &[u8], width: usize) -> Result<usize> {
    let bytes = take(what, src, width)?;
    let value = bytes.iter().fold(0u64, |value, byte| (value << 8) | u64::from(*byte));
    usize::try_from(value).map_err(|_| Error::corrupt(what, "an integer exceeds the address space"))
}

fn take<'a>(what: &'static str, src: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (head, rest) = src.split_at_checked(n).ok_or_else(|| Error::truncated(what, n, src.len()))?;
    *src = rest;
    Ok(head)
}

/// The strings of `data`, each from its offset to the next one.
fn cells<'a>(
    what: &'static str,
    data: &'a [u8],
    offsets: &'a [u64],
) -> impl Iterator<Item = Result<&'a [u8]>> + Clone {
    let ends = offsets.iter().skip(1).copied().chain(std::iter::once(data.len() as u64));
    offsets.iter().zip(ends).map(move |(start, end)| {
        data.get(*start as usize..end as usize)
            .ok_or_else(|| Error::unencodable(what, "offsets do not fit the data"))
    })
}

/// Strings of at most this many bytes are appended by a copy of constant size.
const SHORT: usize = 32;

/// Output of decoded strings: a buffer and the start of each string, both of known size.
struct Output<'a> {
    what: &'static str,
    data: &'a mut [u8],
    offsets: &'a mut [u64],
    filled: usize,
    strings: usize,
}

impl Output<'_> {
    fn push(&mut self, string: &[u8]) -> Result<()> {
        let Some(space) = self.data.get_mut(self.filled..self.filled + string.len()) else {
            return Err(Error::Length {
                what: self.what,
                expected: self.data.len() as u64,
                found: (self.filled + string.len()) as u64,
            });
        };
        let Some(offset) = self.offsets.get_mut(self.strings) else {
            return Err(Error::Length {
                what: self.what,
                expected: self.offsets.len() as u64,
                found: self.strings as u64 + 1,
            });
        };
        space.copy_from_slice(string);
        *offset = self.filled as u64;
        self.filled += string.len();
        self.strings += 1;
        Ok(())
    }

    /// Appends the first `len` bytes of `start`; `false` if it has fewer, or if there is no room for all of `start`. What is
    /// copied after the string is overwritten by the next one.
    #[inline]
    fn push_short(&mut self, start: &[u8; SHORT], len: usize) -> bool {
        let space = self.data.get_mut(self.filled..).and_then(<[u8]>::first_chunk_mut);
        match (space, self.offsets.get_mut(self.strings)) {
            (Some(space), Some(offset)) if len <= SHORT => {
                *space = *start;
                *offset = self.filled as u64;
                self.filled += len;
                self.strings += 1;
                true
            }
            _ => false,
        }
    }

    fn finish(self) -> Result<()> {
        if self.filled == self.data.len() && self.strings == self.offsets.len() {
            return Ok(());
        }
        let (expected, found) = if self.filled == self.data.len() {
            (self.offsets.len(), self.strings)
        } else {
            (self.data.len(), self.filled)
        };
        Err(Error::Length { what: self.what, expected: expected as u64, found: found as u64 })
    }
}
