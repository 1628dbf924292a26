//! Filters that process values in short windows and keep a base per window.

pub mod bit_width;
pub mod positive_delta;
#[cfg(test)]
mod tests;

use crate::{Error, Result};

/// Bytes of each window of a stream of `len` bytes: at most `most`, whole values, at least one.
fn window_len(what: &'static str, len: usize, most: usize, width: usize) -> Result<usize> {
    let window = len.min(most) / width * width;
    if window == 0 {
        return Err(Error::unencodable(
            what,
            format!("a window of at most {most} bytes does not fit a value of {width} bytes in {len} bytes"),
        ));
    }
    Ok(window)
}

/// Takes `n` bytes from the start of `src`.
fn take<'a>(what: &'static str, src: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (head, rest) = src.split_at_checked(n).ok_or_else(|| Error::truncated(what, n, src.len()))?;
    *src = rest;
    Ok(head)
}

fn take_u32(what: &'static str, src: &mut &[u8]) -> Result<u32> {
    Ok(take(what, src, 4)?.first_chunk().map_or(0, |b| u32::from_le_bytes(*b)))
}

/// The space of the next window, and the rest of `dst`.
fn split_space<'a>(what: &'static str, dst: &'a mut [u8], n: usize) -> Result<(&'a mut [u8], &'a mut [u8])> {
    dst.split_at_mut_checked(n).ok_or_else(|| Error::corrupt(what, "the windows exceed the values"))
}

/// Fails unless all bytes are used and all values are there.
fn expect_end(what: &'static str, src: &[u8], dst: &[u8]) -> Result<()> {
    if dst.is_empty() && src.is_empty() {
        return Ok(());
    }
    Err(Error::corrupt(what, format!("{} bytes missing, {} left over", dst.len(), src.len())))
}
