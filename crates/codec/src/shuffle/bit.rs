//! Bit shuffle: in blocks of 8 KiB, all lowest bits of the first bytes of the values, then all next bits, and so on.
//!
//! In a block of `m` values (a multiple of 8; up to 7 left over are copied) bit plane `k` of byte `j` has `m / 8`
//! bytes, and bit `q` of its byte `p` is bit `k` of byte `j` of value `8 p + q`.

use super::byte::{byteshuffle, byteunshuffle};
use super::transpose::{bits, bytes, load, store};
use crate::Result;
use crate::int::same_length;

/// Bytes of one block.
pub const BLOCK: usize = 8192;

/// Splits values of `width` bytes into bit planes, block by block.
///
/// Bytes that are no whole values, or no multiple of 8, are copied as they are.
pub fn bitshuffle(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    blocks(width, src, dst, |src, scratch, dst| {
        byteshuffle(width, src, scratch)?;
        let plane = src.len() / width;
        for j in 0..width {
            split(&scratch[j * plane..(j + 1) * plane], &mut dst[j * plane..(j + 1) * plane]);
        }
        Ok(())
    })
}

/// Undoes [`bitshuffle`].
pub fn bitunshuffle(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    blocks(width, src, dst, |src, scratch, dst| {
        let plane = src.len() / width;
        for j in 0..width {
            join(&src[j * plane..(j + 1) * plane], &mut scratch[j * plane..(j + 1) * plane]);
        }
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

/// One byte plane of `8 p` values into 8 bit planes of `p` bytes.
fn split(plane: &[u8], dst: &mut [u8]) {
    let stride = plane.len() / 8;
    for p in (0..stride - stride % 8).step_by(8) {
        let rows = bytes(std::array::from_fn(|i| bits(load(plane, (p + i) * 8))));
        for (k, row) in rows.into_iter().enumerate() {
            store(dst, k * stride + p, row);
        }
    }
    for p in stride - stride % 8..stride {
        let row = bits(load(plane, p * 8)).to_le_bytes();
        for (k, byte) in row.into_iter().enumerate() {
            dst[k * stride + p] = byte;
        }
    }
}

/// Undoes [`split`].
fn join(src: &[u8], plane: &mut [u8]) {
    let stride = src.len() / 8;
    for p in (0..stride - stride % 8).step_by(8) {
        let rows = bytes(std::array::from_fn(|k| load(src, k * stride + p)));
        for (i, row) in rows.into_iter().enumerate() {
            store(plane, (p + i) * 8, bits(row));
        }
    }
    for p in stride - stride % 8..stride {
        let row = std::array::from_fn(|k| src[k * stride + p]);
        store(plane, p * 8, bits(u64::from_le_bytes(row)));
    }
}
