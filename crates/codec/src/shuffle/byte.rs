//! Byte shuffle: all first bytes of the values, then all second bytes, and so on; an incomplete last value is
//! copied.
//!
//! For widths that are powers of two, each pass splits bytes in two or joins two streams: simple loops that
//! the compiler vectorizes.

use super::transpose::{unzip, zip};
use crate::Result;
use crate::int::same_length;

/// Values per block; the intermediate data of a block fits the L1 cache.
const VALUES: usize = 128;

/// Splits values of `width` bytes into byte planes.
pub fn byteshuffle(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    same_length("byte shuffle", src, dst)?;
    match width {
        0 | 1 => dst.copy_from_slice(src),
        2 => split_2(src, dst),
        4 => split_4(src, dst),
        8 => split_8(src, dst),
        _ => split_from(width, 0, src, dst),
    }
    Ok(())
}

/// Reverts [`byteshuffle`].
pub fn byteunshuffle(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    same_length("byte shuffle", src, dst)?;
    match width {
        0 | 1 => dst.copy_from_slice(src),
        2 => join_2(src, dst),
        4 => join_4(src, dst),
        8 => join_8(src, dst),
        _ => join_from(width, 0, src, dst),
    }
    Ok(())
}

/// Copies the values from `first` on, one by one, and an incomplete last value.
fn split_from(width: usize, first: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    for i in first..n {
        for j in 0..width {
            dst[j * n + i] = src[i * width + j];
        }
    }
    dst[n * width..].copy_from_slice(&src[n * width..]);
}

fn join_from(width: usize, first: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / width;
    for i in first..n {
        for j in 0..width {
            dst[i * width + j] = src[j * n + i];
        }
    }
    dst[n * width..].copy_from_slice(&src[n * width..]);
}

fn split_2(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 2;
    let (even, rest) = dst.split_at_mut(n);
    unzip(&src[..2 * n], even, &mut rest[..n]);
    split_from(2, n, src, dst);
}

fn split_4(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 4;
    let (mut even, mut odd) = ([0; 2 * VALUES], [0; 2 * VALUES]);
    for (block, values) in src.chunks_exact(4 * VALUES).enumerate() {
        unzip(values, &mut even, &mut odd);
        for (halves, first) in [(&even, 0), (&odd, 1)] {
            let (low, high) = dst.split_at_mut((first + 2) * n);
            let at = block * VALUES;
            unzip(halves, &mut low[first * n + at..][..VALUES], &mut high[at..][..VALUES]);
        }
    }
    split_from(4, n - n % VALUES, src, dst);
}

fn split_8(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 8;
    let (mut even, mut odd) = ([0; 4 * VALUES], [0; 4 * VALUES]);
    let (mut low, mut high) = ([0; 2 * VALUES], [0; 2 * VALUES]);
    for (block, values) in src.chunks_exact(8 * VALUES).enumerate() {
        unzip(values, &mut even, &mut odd);
        for (halves, first) in [(&even, 0), (&odd, 1)] {
            unzip(halves, &mut low, &mut high);
            for (quarters, plane) in [(&low, first), (&high, first + 2)] {
                let (front, back) = dst.split_at_mut((plane + 4) * n);
                let at = block * VALUES;
                unzip(quarters, &mut front[plane * n + at..][..VALUES], &mut back[at..][..VALUES]);
            }
        }
    }
    split_from(8, n - n % VALUES, src, dst);
}

fn join_2(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 2;
    zip(&src[..n], &src[n..2 * n], &mut dst[..2 * n]);
    join_from(2, n, src, dst);
}

fn join_4(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 4;
    let (mut even, mut odd) = ([0; 2 * VALUES], [0; 2 * VALUES]);
    for (block, values) in dst.chunks_exact_mut(4 * VALUES).enumerate() {
        let plane = |j: usize| &src[j * n + block * VALUES..][..VALUES];
        zip(plane(0), plane(2), &mut even);
        zip(plane(1), plane(3), &mut odd);
        zip(&even, &odd, values);
    }
    join_from(4, n - n % VALUES, src, dst);
}

fn join_8(src: &[u8], dst: &mut [u8]) {
    let n = src.len() / 8;
    let (mut even, mut odd) = ([0; 4 * VALUES], [0; 4 * VALUES]);
    let (mut low, mut high) = ([0; 2 * VALUES], [0; 2 * VALUES]);
    for (block, values) in dst.chunks_exact_mut(8 * VALUES).enumerate() {
        let plane = |j: usize| &src[j * n + block * VALUES..][..VALUES];
        for (halves, first) in [(&mut even, 0), (&mut odd, 1)] {
            zip(plane(first), plane(first + 4), &mut low);
            zip(plane(first + 2), plane(first + 6), &mut high);
            zip(&low, &high, halves);
        }
        zip(&even, &odd, values);
    }
    join_from(8, n - n % VALUES, src, dst);
}
