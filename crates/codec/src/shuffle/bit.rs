//! Bit shuffle: in blocks of 8 KiB, all lowest bits of the first bytes of the values, then all next bits, and so on.
//!
//! In a block of `m` values (a multiple of 8; up to 7 remaining values are copied) bit plane `k` of byte `j`
//! has `m / 8` bytes, and bit `q` of its byte `p` is bit `k` of byte `j` of value `8 p + q`.

use super::byte::{byteshuffle, byteunshuffle};
use super::transpose::bits_in_place;
use crate::Result;
use crate::int::same_length;

/// Bytes of one block.
pub const BLOCK: usize = 8192;

/// Splits values of `width` bytes into bit planes, block by block.
///
/// Bytes after the last whole value, or the last multiple of 8 values, are copied unchanged.
pub fn bitshuffle(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    blocks(width, src, dst, |src, scratch, dst| {
        byteshuffle(width, src, scratch)?;
        // Eight bytes of a plane have the bits of eight values; transposed, each byte has one bit of all of
        // them.
        bits_in_place(scratch);
        let plane = src.len() / width;
        let mut planes = scratch.chunks_exact(plane).zip(dst.chunks_exact_mut(plane));
        planes.try_for_each(|(bytes, bits)| byteshuffle(8, bytes, bits))
    })
}

/// Reverts [`bitshuffle`].
pub fn bitunshuffle(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    blocks(width, src, dst, |src, scratch, dst| {
        let plane = src.len() / width;
        let mut planes = src.chunks_exact(plane).zip(scratch.chunks_exact_mut(plane));
        planes.try_for_each(|(bits, bytes)| byteunshuffle(8, bits, bytes))?;
        bits_in_place(scratch);
        byteunshuffle(width, scratch, dst)
    })
}

fn blocks(
    width: usize,
    src: &[u8],
    dst: &mut [u8],
    mut each: impl FnMut(&[u8], &mut [u8], &mut [u8]) -> Result<()>,
) -> Result<()> {
    same_length("bit shuffle", src, dst)?;
    if width == 0 || width > BLOCK || !src.len().is_multiple_of(width) || !src.len().is_multiple_of(8) {
        dst.copy_from_slice(src);
        return Ok(());
    }
    let mut scratch = [0; BLOCK];
    for (src, dst) in src.chunks(BLOCK).zip(dst.chunks_mut(BLOCK)) {
        let values = src.len() / width;
        let whole = (values - values % 8) * width;
        let (body, left) = src.split_at(whole);
        let (planes, rest) = dst.split_at_mut(whole);
        rest.copy_from_slice(left);
        if whole > 0 {
            each(body, &mut scratch[..whole], planes)?;
        }
    }
    Ok(())
}
