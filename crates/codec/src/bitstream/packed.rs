//! Runs of integers of one width, packed without gaps.

use super::{BitReader, BitWriter};
use crate::{Error, Result};

/// Bytes that `n` integers of `width` bits take.
pub fn packed_len(n: usize, width: u32) -> usize {
    (n as u128 * width as u128).div_ceil(8).try_into().unwrap_or(usize::MAX)
}

/// Appends `values`, `width` bits each, and zero bits up to the next byte.
pub fn pack(values: &[u64], width: u32, dst: &mut Vec<u8>) {
    dst.reserve(packed_len(values.len(), width));
    let mut writer = BitWriter::new(dst);
    for &value in values {
        writer.write(value, width);
    }
    writer.finish();
}

/// Appends `n` integers of `width` bits (at most 64) from the front of `src`.
pub fn unpack(src: &[u8], width: u32, n: usize, dst: &mut Vec<u64>) -> Result<()> {
    if width > 64 {
        return Err(Error::corrupt("bit packed run", format!("width {width} is above 64 bits")));
    }
    let needed = packed_len(n, width);
    if src.len() < needed {
        return Err(Error::truncated("bit packed run", needed, src.len()));
    }
    let mut reader = BitReader::new(src);
    dst.extend((0..n).map(|_| reader.read(width)));
    Ok(())
}

/// Bytes a [`Window`] may load past the end of its run.
const SLACK: usize = 8;
/// Buffer size that fits a run of 128 values of any width plus slack; used for the last run of a column.
const SCRATCH: usize = 128 * 8 + SLACK;

/// Appends `map` of each of the `n` integers of `width` bits (1 to 64) at the front of `src`.
///
/// The caller has checked that the bytes are present. `src` may extend past the run, which saves a copy.
#[inline]
pub(crate) fn extend_unpacked<O>(
    src: &[u8],
    width: u32,
    n: usize,
    dst: &mut Vec<O>,
    map: impl FnMut(u64) -> O,
) {
    let used = packed_len(n, width);
    if src.len() >= used + SLACK {
        extend_from_window(Window { src, width }, n, dst, map);
        return;
    }
    let run = src.get(..used).unwrap_or(src);
    if used + SLACK <= SCRATCH {
        let mut scratch = [0u8; SCRATCH];
        for (to, from) in scratch.iter_mut().zip(run) {
            *to = *from;
        }
        extend_from_window(Window { src: &scratch, width }, n, dst, map);
    } else {
        let mut padded = run.to_vec();
        padded.extend_from_slice(&[0; SLACK]);
        extend_from_window(Window { src: &padded, width }, n, dst, map);
    }
}

#[inline]
fn extend_from_window<O>(window: Window<'_>, n: usize, dst: &mut Vec<O>, mut map: impl FnMut(u64) -> O) {
    if window.width <= 57 {
        dst.extend((0..n).map(|i| map(window.narrow(i))));
    } else {
        dst.extend((0..n).map(|i| map(window.wide(i))));
    }
}

/// Random access to packed integers through 64-bit loads.
///
/// A load may reach [`SLACK`] bytes past the run; the contents of those bytes do not matter.
#[derive(Debug, Clone, Copy)]
struct Window<'a> {
    src: &'a [u8],
    width: u32,
}

impl Window<'_> {
    /// Integer `i` when the width is at most 57.
    #[inline]
    fn narrow(self, i: usize) -> u64 {
        let bit = i * self.width as usize;
        (self.load(bit / 8) << (bit % 8)) >> (64 - self.width)
    }

    /// Integer `i` at any width.
    #[inline]
    fn wide(self, i: usize) -> u64 {
        let bit = i * self.width as usize;
        let next = self.src.get(bit / 8 + 8).copied().unwrap_or(0);
        let both = (self.load(bit / 8) as u128) << 64 | (next as u128) << 56;
        ((both << (bit % 8)) >> (128 - self.width)) as u64
    }

    #[inline]
    fn load(self, at: usize) -> u64 {
        match self.src.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            Some(chunk) => u64::from_be_bytes(*chunk),
            None => 0,
        }
    }
}
